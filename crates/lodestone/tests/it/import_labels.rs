//! Which files of an import are repeats of one target, and which are targets.

use std::fs;

use crate::common::Bench;

/// What dd prints without its command line.
fn dd(megabytes: u32) -> String {
    format!("64+0 records in\n64+0 records out\n67108864 bytes transferred in 1 secs ({megabytes}000000 bytes/sec)\n")
        .replace("67108864", &format!("{}", u64::from(megabytes) * 1_000_000))
        .replace("64+0", &format!("{}+0", megabytes))
}

/// What hdparm prints for buffered reads.
fn hdparm(megabytes: u32) -> String {
    format!(
        "\n/dev/sdx:\n Timing buffered disk reads: {megabytes} MB in  1.00 seconds = {megabytes}.00 MB/sec\n"
    )
}

fn write(bench: &Bench, files: &[(&str, String)]) -> String {
    for (path, text) in files {
        let path = bench.path("results").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench.path("results").display().to_string()
}

/// Three directories r1, r2 and r3 were three targets.
#[test]
fn directories_of_repeats_dates_and_hours_are_one_target() {
    for names in [["r1", "r2", "r3"], ["2024-05-01", "20240502", "2024-05-03"], ["09h", "0930", "20-00"]] {
        let bench = Bench::new();
        let files =
            [(100, 0), (101, 1), (102, 2)].map(|(mb, i)| (format!("{}/SSD.txt", names[i]), hdparm(mb)));
        let files = files.each_ref().map(|(path, text)| (path.as_str(), text.clone()));
        let results = write(&bench, &files);
        let said = bench.ok(&["import", "--dry-run", &results]);
        assert!(said.contains("1 target (SSD), 1 step, up to 3 repeats"), "{said}");
        assert!(said.contains("repeat (") && said.contains(names[0]), "{said}");
        assert!(!bench.ok(&["import", &results]).contains("taken for"));
    }
}

#[test]
fn a_level_named_repeat_is_one_and_a_named_level_is_a_label() {
    let bench = Bench::new();
    let results = write(
        &bench,
        &[("hdd/quiet/a.txt", hdparm(100)), ("hdd/loud/a.txt", hdparm(90)), ("r1/x/a.txt", hdparm(80))],
    );
    let said = bench.ok(&["import", "--dry-run", &results, "--path-labels", "device/repeat"]);
    assert!(said.contains("2 targets (hdd, r1), 1 step, up to 2 repeats"), "{said}");
    assert!(said.contains("\n  repeat  loud, quiet, x\n"), "{said}");
    let said = bench.ok(&["import", "--dry-run", &results, "--path-labels", "-/machine"]);
    assert!(said.contains("3 targets") && said.contains("no label (-)"), "{said}");
}

/// FAT32 and fat32 were two filesystems, and fat32.txt next to ext4.txt was called `unnamed`.
#[test]
fn spellings_are_one_value_and_a_name_is_better_than_none() {
    let bench = Bench::new();
    let files = [
        ("1/FAT32_1.txt", 90),
        ("1/fat32_2.txt", 91),
        ("1/FAT32_3.txt", 92),
        ("1/ext4.txt", 95),
        ("1/own.txt", 97),
    ];
    let results = write(&bench, &files.map(|(path, mb)| (path, hdparm(mb))));
    let said = bench.ok(&["import", "--dry-run", &format!("{results}/1")]);
    assert!(said.contains("3 targets (FAT32, ext4, own), 1 step, up to 3 repeats"), "{said}");
    let bench = Bench::new();
    let results = write(&bench, &[("fat32.txt", hdparm(90))]);
    assert!(bench.ok(&["import", "--dry-run", &results]).contains("1 target (fat32)"));
}

/// A read and a write of dd without its command line were compared as if they were two targets.
#[test]
fn copies_of_different_directions_are_not_compared() {
    let bench = Bench::new();
    let results =
        write(&bench, &[("ssd-write.txt", dd(100)), ("ssd-read.txt", dd(300)), ("hdd-read.txt", dd(200))]);
    let said = bench.ok(&["import", &results]);
    assert!(said.contains("2 targets (hdd, ssd), 2 steps, up to 1 repeat"), "{said}");
    let shown = bench.ok(&["show"]);
    assert!(shown.contains("dd: read") && shown.contains("dd: write") && !shown.contains("copy"), "{shown}");
    // Where nothing states the direction, files of other names may be of another.
    let bench = Bench::new();
    let results = write(&bench, &[("a.txt", dd(100)), ("b.txt", dd(300))]);
    let said = bench.ok(&["import", &results]);
    assert!(said.contains("1 target (imported), 2 steps"), "{said}");
    assert!(bench.ok(&["show"]).contains("direction of b unknown"));
    let said = bench.ok(&["import", "--again", &results, "--label", "direction=read"]);
    assert!(said.contains("2 targets (a, b), 1 step"), "{said}");
}
