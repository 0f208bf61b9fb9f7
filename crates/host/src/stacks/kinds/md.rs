//! Arrays of the kernel's md driver.

use std::path::Path;

use super::{
    Deed, Device, Kind, Layer, LayerKind, Needs, Remains, Role, Setting, Words, Zeros, flag, valued,
};

const CHUNK: Setting = valued("chunk", "--chunk", "512K");
const LAYOUT: Setting = valued("layout", "--layout", "left-symmetric");
/// Of an array that is mirrored and striped: near, far or offset copies.
const MIRRORS: Setting = valued("layout", "--layout", "f2");
const BITMAP: Setting = valued("bitmap", "--bitmap", "internal");
/// Makes the members agree first, and waits for it.
const RESYNC: Setting = flag("resync", "");

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
        needs: Needs::of(&[("mdadm", "mdadm")], modules),
        serving: Needs::NOTHING,
        zeros: Zeros::AreWritten,
        fewest,
        many: true,
        least_bytes: 16 << 20,
        settings,
        role: Role::Layer(LayerKind { make, undo, device, passes }),
    }
}

pub(super) const KINDS: [Kind; 5] = [
    kind("raid0", "array of md, striped", &["md_mod", "raid0"], 2, &[CHUNK]),
    kind("raid1", "array of md, mirrored", &["md_mod", "raid1"], 2, &[BITMAP, RESYNC]),
    kind("raid5", "array of md, one parity", &["md_mod", "raid456"], 3, &[CHUNK, LAYOUT, BITMAP, RESYNC]),
    kind("raid6", "array of md, two parities", &["md_mod", "raid456"], 4, &[CHUNK, LAYOUT, BITMAP, RESYNC]),
    kind(
        "raid10",
        "array of md, mirrored and striped",
        &["md_mod", "raid10"],
        4,
        &[CHUNK, MIRRORS, BITMAP, RESYNC],
    ),
];

fn make(layer: &Layer) -> Vec<Deed> {
    let level = layer.kind.trim_start_matches("raid");
    let mut create = Words::of(&["mdadm", "--create", &format!("/dev/md/{}", layer.name)])
        .and("--name")
        .and(&layer.name)
        .and_all(&["--homehost=any", "--metadata=1.2", "--run", "--level", level])
        .and_all(&["--raid-devices", &layer.on.len().to_string()]);
    if level != "0" {
        if !layer.has("bitmap") {
            create = create.and("--bitmap=none");
        }
        if !layer.has("resync") {
            // What the members disagree about is never read: everything that is read was written before.
            create = create.and("--assume-clean");
        }
    }
    create = create.with(layer.arguments(&["chunk", "layout", "bitmap"]));
    vec![layer.on.iter().fold(create, Words::and_device).into()]
}

/// Members that are made to agree are read or written to their ends.
fn passes(layer: &Layer) -> u64 {
    if layer.has("resync") { layer.bytes.saturating_mul(layer.on.len() as u64) } else { 0 }
}

fn undo(layer: &Layer) -> Vec<(Remains, Deed)> {
    let stop = Words::of(&["mdadm", "--stop"]).and_device(&device(layer));
    // Without udev nobody removes the link to it.
    let link = Path::new("/dev/md").join(&layer.name);
    vec![(Remains::Device(device(layer)), stop.into()), (Remains::Path(link.clone()), Deed::Unlink(link))]
}

fn device(layer: &Layer) -> Device {
    Device::Array { name: layer.name.clone(), on: layer.on.clone() }
}
