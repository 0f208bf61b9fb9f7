//! Logical volumes. A volume group of its own, which only commands that name its devices see.

use super::{
    Deed, Device, Kind, Layer, LayerKind, Needs, Remains, Role, Setting, Words, Zeros, passes_little, valued,
};

/// The settings of LVM that leave nothing behind in its directories, start no process that watches, and allow volumes on volumes.
const CONFIG: &str = "backup{backup=0 archive=0} activation{monitoring=0} devices{hints=none scan_lvs=1}";
const STRIPE: Setting = valued("stripe", "--stripesize", "64K");
const CHUNK: Setting = valued("chunk", "--chunksize", "64K");

const fn kind(
    name: &'static str,
    what: &'static str,
    modules: &'static [&'static str],
    fewest: usize,
    settings: &'static [Setting],
) -> Kind {
    Kind {
        name,
        what,
        needs: Needs::of(&[("lvm", "lvm2"), ("dmsetup", "dmsetup")], modules),
        serving: Needs::NOTHING,
        zeros: Zeros::ArePassedOn,
        fewest,
        many: true,
        least_bytes: 32 << 20,
        settings,
        role: Role::Layer(LayerKind { make, undo, device, passes: passes_little }),
    }
}

const THIN: Kind = Kind {
    needs: Needs::of(
        &[("lvm", "lvm2"), ("dmsetup", "dmsetup"), ("thin_check", "thin-provisioning-tools")],
        &["dm_mod", "dm_thin_pool"],
    ),
    ..kind("lvm-thin", "logical volume in a thin pool", &[], 1, &[CHUNK])
};

pub(super) const KINDS: [Kind; 6] = [
    kind("lvm", "logical volume", &["dm_mod"], 1, &[]),
    kind("lvm-stripe", "logical volume, striped", &["dm_mod"], 2, &[STRIPE]),
    kind("lvm-raid1", "logical volume, mirrored", &["dm_mod", "dm_raid"], 2, &[]),
    kind("lvm-raid5", "logical volume, one parity", &["dm_mod", "dm_raid"], 3, &[STRIPE]),
    kind("lvm-raid10", "logical volume, mirrored and striped", &["dm_mod", "dm_raid"], 4, &[STRIPE]),
    THIN,
];

/// A command of LVM that sees only the layer's devices.
fn lvm(layer: &Layer, words: &[&str]) -> Words {
    let all = Words::of(&["lvm"]).and_all(words).and_all(&["--config", CONFIG]);
    layer.on.iter().fold(all, |words, device| words.and("--devices").and_device(device))
}

fn make(layer: &Layer) -> Vec<Deed> {
    let n = layer.on.len();
    let on = |words: Words| layer.on.iter().fold(words, Words::and_device);
    let quiet = ["--yes", "--quiet"];
    let create = || lvm(layer, &["lvcreate"]).and_all(&quiet).and_all(&["--wipesignatures", "n"]);
    let stripes = |count: usize| Words::of(&["--stripes", &count.to_string()]);
    let all = ["--extents", "100%FREE", "--zero", "n", "--name", "data"];
    let raid = |level: &str| create().and_all(&["--type", level, "--nosync"]);
    let create = match layer.kind.as_str() {
        "lvm-stripe" => create().with(stripes(n)),
        "lvm-raid1" => raid("raid1").and_all(&["--mirrors", &(n - 1).to_string()]),
        "lvm-raid5" => raid("raid5").with(stripes(n - 1)),
        "lvm-raid10" => raid("raid10").and_all(&["--mirrors", "1"]).with(stripes(n / 2)),
        "lvm-thin" => return [groups(layer, on), thin(layer)].concat(),
        _ => create(),
    };
    let create = create.with(layer.arguments(&["stripe"])).and_all(&all).and(&layer.name);
    [groups(layer, on), vec![create.into()]].concat()
}

fn groups(layer: &Layer, on: impl Fn(Words) -> Words) -> Vec<Deed> {
    let quiet = ["--yes", "--quiet"];
    let group = lvm(layer, &["vgcreate"]).and_all(&quiet).and(&layer.name);
    vec![on(lvm(layer, &["pvcreate"]).and_all(&quiet)).into(), on(group).into()]
}

/// A pool in nine tenths of the group, and a volume that fits into it.
fn thin(layer: &Layer) -> Vec<Deed> {
    const TENTHS: u64 = 8;
    let bytes = layer.bytes / 10 * TENTHS * layer.on.len() as u64;
    let create = || lvm(layer, &["lvcreate"]).and_all(&["--yes", "--quiet"]);
    let pool = create().and_all(&["--type", "thin-pool", "--zero", "n"]).with(layer.arguments(&["chunk"]));
    vec![
        pool.and_all(&["--extents", "90%FREE", "--name", "pool"]).and(&layer.name).into(),
        create()
            .and_all(&["--type", "thin", "--virtualsize", &format!("{}M", bytes >> 20), "--name", "data"])
            .and_all(&["--thinpool", "pool"])
            .and(&layer.name)
            .into(),
    ]
}

fn undo(layer: &Layer) -> Vec<(Remains, Deed)> {
    let stop = lvm(layer, &["vgchange", "--quiet", "--activate", "n"]).and(&layer.name);
    // A volume has devices of its own below it.
    let remains = [Remains::Device(device(layer)), Remains::Parts(format!("{}-", layer.name))];
    remains.map(|remains| (remains, stop.clone().into())).to_vec()
}

fn device(layer: &Layer) -> Device {
    Device::Mapped { name: format!("{}-data", layer.name) }
}
