//! Bytes of the workload and bytes of the devices.

use model::*;

use super::*;

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("cache-served-reads", true, workload(), |r| each_finished(r, |f| f.devices[0].read_bytes /= 2)),
        ("cache-served-reads", false, workload(), |r| {
            r.repeats[0].finished.as_mut().unwrap().devices[0].read_bytes = 0
        }),
        ("cache-served-reads", false, workload(), |r| each_finished(r, |f| f.devices.clear())),
        ("cache-served-reads", false, writes(), |r| each_finished(r, |f| f.devices[0].read_bytes = 0)),
        ("buffered-fallback", true, workload(), |r| each_started(r, |s| s.direct = false)),
        ("buffered-fallback", false, Workload { direct: false, ..workload() }, |r| {
            each_started(r, |s| s.direct = false)
        }),
        ("not-evicted", true, workload(), |r| {
            each_finished(r, |f| {
                f.cache = Some(CacheUse { cached_before_bytes: Some(1 << 30), evicted: true })
            });
        }),
        ("not-evicted", false, workload(), |r| {
            each_finished(r, |f| {
                f.cache = Some(CacheUse { cached_before_bytes: Some(1 << 30), evicted: false })
            });
        }),
        ("not-evicted", false, workload(), |r| {
            each_finished(r, |f| f.cache = Some(CacheUse { cached_before_bytes: Some(4096), evicted: true }));
        }),
        ("write-amplification", true, writes(), |r| each_finished(r, |f| f.devices[0].written_bytes *= 2)),
        ("write-amplification", false, workload(), |r| {
            each_finished(r, |f| f.devices[0].written_bytes = 1 << 40)
        }),
        ("writes-not-on-device", true, writes(), |r| each_finished(r, |f| f.devices[0].written_bytes /= 2)),
        ("writes-not-on-device", false, writes(), NOTHING),
        ("unwritten-extents", true, workload(), |r| {
            r.started.targets[0].kind = TargetKind::File;
            each_finished(r, |f| f.devices[0].read_bytes = 0);
        }),
        ("cache-served-reads", false, workload(), |r| {
            r.started.targets[0].kind = TargetKind::File;
            each_finished(r, |f| f.devices[0].read_bytes = 0);
        }),
        ("unwritten-extents", false, workload(), |r| each_finished(r, |f| f.devices[0].read_bytes = 0)),
        ("unwritten-extents", false, workload(), |r| {
            r.started.targets[0].kind = TargetKind::File;
            each_finished(r, |f| f.devices[0].read_bytes /= 2);
        }),
        ("compressible-data", true, zeros(), NOTHING),
        ("compressible-data", false, writes(), |r| {
            // A compressing layer cannot shrink random data.
            r.started.targets[0].stack[0].facts.insert(fact::OPTIONS.into(), "rw,compress=zstd:3".into());
        }),
        ("compressible-data", false, Workload { data: zeros().data, ..workload() }, NOTHING),
    ]
}

fn zeros() -> Workload {
    Workload { data: Data { class: DataClass::Zero, compress_percent: 0, dedupe_percent: 0 }, ..writes() }
}

#[test]
fn a_compressing_layer_makes_compressible_data_a_warning() {
    let severity = |layer: &str, options: &str| {
        let mut run = run(zeros());
        run.started.targets[0].stack[0].name = layer.into();
        run.started.targets[0].stack[0].facts.insert(fact::OPTIONS.into(), options.into());
        found_in(&run).into_iter().find(|f| f.rule == "compressible-data").unwrap().severity
    };
    assert_eq!(severity("btrfs", "rw,noatime,compress=zstd:3"), Severity::Warning);
    assert_eq!(severity("btrfs", "rw,compress=no"), Severity::Info);
    assert_eq!(severity("ext4", "rw,noatime"), Severity::Info);
    assert_eq!(severity("zfs", "rw"), Severity::Warning);
}
