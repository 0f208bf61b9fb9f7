//! `lodestone import` as a user meets it.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::Bench;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports").join(name)
}

/// Three repeats of a PiBenchmarks output on each of two devices.
fn tree(bench: &Bench) -> String {
    for device in ["SDCard", "USB3.0"] {
        fs::create_dir_all(bench.path("pi").join(device)).unwrap();
        for n in 1..=3 {
            let mut text = fs::read_to_string(fixture(&format!("pibenchmarks/run_{n}.txt"))).unwrap();
            // What is equal is imported once only.
            text.push_str(&format!("\nmeasured on {device}\n"));
            fs::write(bench.path("pi").join(device).join(format!("output_{n}.txt")), text).unwrap();
        }
    }
    bench.path("pi").display().to_string()
}

#[test]
fn a_tree_becomes_a_run_that_is_listed_shown_compared_and_exported() {
    let bench = Bench::new();
    let tree = tree(&bench);
    let told = bench.ok(&["import", &tree, "--layout", "matrix", "--summary", "trimmed"]);
    assert!(
        told.contains("PiBenchmarks: score") && told.contains("without the best and the worst"),
        "{told}"
    );
    assert!(told.contains("2 target(s) (SDCard, USB3.0), 12 step(s), up to 3 repeat(s) of each"), "{told}");
    assert!(bench.ok(&["list"]).contains("imported"));
    let shown = bench.ok(&["show", "--summary", "trimmed"]);
    assert!(shown.contains("score") && shown.contains("1155 (1151, 1155, 1155)"), "{shown}");
    let matrix = bench.ok(&["show", "--layout", "matrix", "--rows", "step", "--columns", "device"]);
    assert!(matrix.contains("SDCard") && matrix.contains("dd: write, 4 KiB, synced at the end"), "{matrix}");
    let scores = bench.ok(&["show", "--layout", "scores"]);
    assert!(
        scores.contains("target  PiBenchmarks: score") && scores.contains("iozone: random read, MB/s"),
        "{scores}"
    );
    let markdown = bench.ok(&["export", "-f", "md", "--layout", "scores", "--rows", "device"]);
    assert!(markdown.contains("| PiBenchmarks: score |\n") && markdown.contains("| SDCard |"), "{markdown}");
    let table = bench.ok(&["export", "-f", "csv", "--layout", "scores"]);
    assert!(table.lines().next().unwrap().ends_with("PiBenchmarks: score mixed score 1"), "{table}");
    let csv = bench.ok(&["export", "--format", "csv"]);
    assert!(csv.contains("PiBenchmarks") || csv.contains("pibenchmarks-score,mixed,score"), "{csv}");
    let json = bench.ok(&["export"]);
    assert!(json.contains("\"recomputed_from\": \"bytes / seconds\""), "{json}");
    // Another import of the same kind is comparable with it.
    fs::write(bench.path("other.txt"), fs::read_to_string(fixture("pibenchmarks/run_1.txt")).unwrap())
        .unwrap();
    bench.ok(&["import", &bench.path("other.txt").display().to_string()]);
    let compared = bench.ok(&["compare", "last~1", "last"]);
    assert!(compared.contains("iozone: random read"), "{compared}");
}

#[test]
fn the_same_content_is_imported_once() {
    let bench = Bench::new();
    let tree = tree(&bench);
    bench.ok(&["import", &tree]);
    let again = bench.ok(&["import", &tree]);
    assert!(again.contains("0 result(s) of 0 file(s), 6 known already"), "{again}");
    assert_eq!(bench.ok(&["list"]).matches("imported").count(), 1);
    assert!(bench.ok(&["import", &tree, "--again"]).contains("kept as run"));
}

#[test]
fn what_cannot_be_imported_is_told_with_its_line_and_the_rest_is_imported() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mixed")).unwrap();
    for (name, from) in [
        ("stall.txt", "sysbench/0.4.12-hidden-stall.txt"),
        ("cut.txt", "sysbench/0.4.12-cut-off.txt"),
        ("failed.txt", "fio/3.33-failed.txt"),
        ("list.txt", "foreign/shopping-list.txt"),
    ] {
        fs::copy(fixture(from), bench.path("mixed").join(name)).unwrap();
    }
    let output = bench.run(&["import", &bench.path("mixed").display().to_string()]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in [
        "cut.txt:29: left out, cut off",
        "failed.txt:1: left out, a failed run",
        "list.txt:1: left out, not recognised",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let shown = bench.ok(&["show", "--all-findings"]);
    assert!(shown.contains("97 % of the time went into 2176 syncs of 134 ms each"), "{shown}");
}

#[test]
fn a_falsified_figure_is_a_finding_and_wrong_options_are_refused() {
    let bench = Bench::new();
    bench.ok(&["import", &fixture("sysbench/0.4.12-falsified.txt").display().to_string()]);
    assert!(bench.ok(&["show"]).contains("printed-contradicts-raw"));
    for arguments in [
        &["import", "nowhere.txt"][..],
        &["import", ".", "--label", "device"],
        &["show", "--layout", "matrix", "--rows", "colour"],
        &["show", "--layout", "matrix", "--cell", "write/speed"],
        &["export", "--layout", "matrix"],
        &["export", "-f", "svg", "--layout", "scores"],
        &["show", "--layout", "scores", "--columns", "step"],
    ] {
        assert_eq!(bench.run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_matrix_of_device_block_size_and_filesystem_falls_out_of_the_paths() {
    let bench = Bench::new();
    let text = fs::read_to_string(fixture("fio/2.1-by-hand.txt")).unwrap();
    for (device, factor) in [("hdd", "63317KB/s"), ("ssd", "63317KB/s")] {
        for (path, name, block) in [
            ("4M", "ext4Luks-a.report", "4M-4M/4M-4M/4M-4M"),
            ("", "btrfsOnly-b.report", "4K-4K/4K-4K/4K-4K"),
        ] {
            let directory = bench.path("matrix").join(device).join("laptop").join(path);
            fs::create_dir_all(&directory).unwrap();
            let text = text.replace("4K-4K/4K-4K/4K-4K", block).replace("63317KB/s", factor);
            fs::write(directory.join(name), format!("{device} {path}\n{text}")).unwrap();
        }
    }
    bench.ok(&["import", &bench.path("matrix").display().to_string(), "--path-labels", "device/machine"]);
    let arguments =
        ["--layout", "matrix", "--rows", "device,bs", "--columns", "filesystem", "--cell", "read"];
    let matrix = bench.ok(&[&["show"][..], &arguments].concat());
    let rows: Vec<Vec<&str>> = matrix.lines().skip(2).map(|l| l.split_whitespace().collect()).collect();
    let expected = [
        vec!["hdd", "4", "KiB", "64.8"],
        vec!["hdd", "4", "MiB", "64.8"],
        vec!["ssd", "4", "KiB", "64.8"],
        vec!["ssd", "4", "MiB", "64.8"],
    ];
    assert_eq!(rows, expected, "{matrix}");
    let csv = bench.ok(&[&["export", "-f", "csv"][..], &arguments].concat());
    assert!(
        csv.starts_with("device,bs,btrfsOnly read bandwidth B/s,ext4Luks read bandwidth B/s\r\n"),
        "{csv}"
    );
}
