//! dm-integrity: checksums of every sector.

use super::{Deed, Kind, Layer, LayerKind, Needs, Role, Words, Zeros, flag, valued};

pub(super) const KINDS: [Kind; 1] = [Kind {
    name: "integrity",
    what: "checksums, dm-integrity",
    needs: Needs::of(
        &[("integritysetup", "cryptsetup-bin"), ("dmsetup", "dmsetup")],
        &["dm_mod", "dm_integrity"],
    ),
    serving: Needs::NOTHING,
    zeros: Zeros::AreWritten,
    fewest: 1,
    many: false,
    least_bytes: 32 << 20,
    settings: &[
        valued("checksum", "--integrity", "crc32c"),
        valued("sector", "--sector-size", "4096"),
        flag("bitmap", "--integrity-bitmap-mode"),
        flag("no-journal", "--integrity-no-journal"),
    ],
    role: Role::Layer(LayerKind {
        make,
        undo: Layer::unmap,
        device: Layer::mapped,
        passes: |layer| layer.bytes,
    }),
}];

/// It writes the whole device, so that every sector has its checksum.
fn make(layer: &Layer) -> Vec<Deed> {
    let format = Words::of(&["integritysetup", "format", "--batch-mode"]);
    let open = Words::of(&["integritysetup", "open"]);
    vec![
        format.with(layer.arguments(&["checksum", "sector"])).and_device(&layer.on[0]).into(),
        open.with(layer.arguments(&["checksum", "bitmap", "no-journal"]))
            .and_device(&layer.on[0])
            .and(&layer.name)
            .into(),
    ]
}
