//! Encryption: LUKS and plain dm-crypt. The key is random and in memory only.

use super::{Deed, Kind, Layer, LayerKind, Needs, Role, Setting, Words, Zeros, flag, passes_little, valued};

const PROGRAMS: &[(&str, &str)] = &[("cryptsetup", "cryptsetup-bin"), ("dmsetup", "dmsetup")];
const MODULES: &[&str] = &["dm_mod", "dm_crypt"];
const CIPHER: Setting = valued("cipher", "--cipher", "aes-xts-plain64");
const KEY: Setting = valued("key", "--key-size", "512");
const SECTOR: Setting = valued("sector", "--sector-size", "4096");
const READS: Setting = flag("no-read-workqueue", "--perf-no_read_workqueue");
const WRITES: Setting = flag("no-write-workqueue", "--perf-no_write_workqueue");

const fn kind(
    name: &'static str,
    what: &'static str,
    settings: &'static [Setting],
    make: fn(&Layer) -> Vec<Deed>,
) -> Kind {
    Kind {
        name,
        what,
        needs: Needs::of(PROGRAMS, MODULES),
        serving: Needs::NOTHING,
        zeros: Zeros::AreWritten,
        fewest: 1,
        many: false,
        // The header of LUKS2 takes 16 MiB.
        least_bytes: 32 << 20,
        settings,
        role: Role::Layer(LayerKind {
            make,
            undo: Layer::unmap,
            device: Layer::mapped,
            passes: passes_little,
        }),
    }
}

pub(super) const KINDS: [Kind; 4] = [
    kind("luks", "encryption, LUKS2", &[CIPHER, KEY, SECTOR, READS, WRITES], luks2),
    kind("luks2", "encryption, LUKS2", &[CIPHER, KEY, SECTOR, READS, WRITES], luks2),
    kind("luks1", "encryption, LUKS1", &[CIPHER, KEY], luks1),
    kind("plain", "encryption, dm-crypt without a header", &[CIPHER, KEY, SECTOR, READS, WRITES], plain),
];

fn luks2(layer: &Layer) -> Vec<Deed> {
    luks(layer, "luks2")
}

fn luks1(layer: &Layer) -> Vec<Deed> {
    luks(layer, "luks1")
}

fn luks(layer: &Layer, version: &str) -> Vec<Deed> {
    let mut format = Words::of(&["cryptsetup", "luksFormat", "--batch-mode", "--type", version]);
    if version == "luks2" {
        format = format.and("--label").and(&layer.name);
    }
    // The key is random: making it slow to guess would only take time.
    format = format.and_all(&["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"]);
    let format = format.with(layer.arguments(&["cipher", "key", "sector"]));
    let open = Words::of(&["cryptsetup", "open", "--type", version]);
    let open = open.with(layer.arguments(&["no-read-workqueue", "no-write-workqueue"]));
    vec![
        format.and("--key-file").and_key().and_device(&layer.on[0]).into(),
        open.and("--key-file").and_key().and_device(&layer.on[0]).and(&layer.name).into(),
    ]
}

fn plain(layer: &Layer) -> Vec<Deed> {
    let mut open = Words::of(&["cryptsetup", "open", "--batch-mode", "--type", "plain"]);
    for (setting, usual) in [("cipher", ["--cipher", "aes-xts-plain64"]), ("key", ["--key-size", "512"])] {
        if !layer.has(setting) {
            open = open.and_all(&usual);
        }
    }
    let given = layer.arguments(&["cipher", "key", "sector", "no-read-workqueue", "no-write-workqueue"]);
    vec![open.with(given).and("--key-file").and_key().and_device(&layer.on[0]).and(&layer.name).into()]
}
