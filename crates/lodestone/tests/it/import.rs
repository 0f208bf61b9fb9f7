//! `lodestone import` as users see it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Bench;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports").join(name)
}

/// Three repeats of a PiBenchmarks output on each of two devices.
fn tree(bench: &Bench) -> String {
    for device in ["SDCard", "USB3.0"] {
        fs::create_dir_all(bench.path("pi").join(device)).unwrap();
        for n in 1..=3 {
            let mut text = fs::read_to_string(fixture(&format!("pibenchmarks/run_{n}.txt"))).unwrap();
            text.push_str(&format!("\nmeasured on {device}\n"));
            fs::write(bench.path("pi").join(device).join(format!("output_{n}.txt")), text).unwrap();
        }
    }
    bench.path("pi").display().to_string()
}

#[test]
fn an_imported_tree_is_listed_shown_compared_and_exported() {
    let bench = Bench::new();
    let tree = tree(&bench);
    let printed = bench.ok(&["import", &tree, "--layout", "matrix", "--summary", "trimmed"]);
    assert!(
        printed.contains("PiBenchmarks: score") && printed.contains("without the best and the worst"),
        "{printed}"
    );
    assert!(printed.contains("2 targets (SDCard, USB3.0), 12 steps, up to 3 repeats of each"), "{printed}");
    assert!(bench.ok(&["list"]).contains("imported"));
    let shown = bench.ok(&["show", "--summary", "trimmed", "--details"]);
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

/// hdparm's figures are coarse, so genuine repeats are often identical. They were dropped as already known, which
/// shifted the mean and inflated the spread.
#[test]
fn equal_outputs_at_other_paths_are_repeats() {
    let bench = Bench::new();
    let text = fs::read_to_string(fixture("hdparm/tT.txt")).unwrap();
    fs::create_dir(bench.path("disk1")).unwrap();
    // 300, 300 and 330 MB/s: a mean of 310 with a standard deviation of 17.3.
    for (n, mb) in [(1, 600), (2, 600), (3, 660)] {
        let line = format!(" Timing buffered disk reads: {mb} MB in  2.00 seconds = {}.00 MB/sec", mb / 2);
        let text = text.lines().map(|l| if l.contains("buffered") { line.as_str() } else { l });
        let text = text.collect::<Vec<_>>().join("\n");
        fs::write(bench.path("disk1").join(format!("run_{n}.txt")), text).unwrap();
    }
    let said = bench.ok(&["import", bench.path("disk1").to_str().unwrap()]);
    assert!(said.contains("run_2.txt: hdparm") && said.contains("run_1.txt; both count)"), "{said}");
    assert!(said.contains("6 results of 3 files") && said.contains("up to 3 repeats"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&bench.ok(&["export"])).unwrap();
    let is_it =
        |m: &&serde_json::Value| m["step"] == "hdparm-sequential-reads-t" && m["metric"] == "bandwidth";
    let measured = json["measurements"].as_array().unwrap().iter().find(is_it).unwrap();
    let mib = |value: &serde_json::Value| (value.as_f64().unwrap() / 1_048_576.0 * 10.0).round() / 10.0;
    let values: Vec<f64> = measured["values"].as_array().unwrap().iter().map(mib).collect();
    assert_eq!(values, [300.0, 300.0, 330.0]);
    // 310 ± 4.3027 × 17.32 / √3.
    assert_eq!(["estimate", "low", "high"].map(|name| mib(&measured[name])), [310.0, 267.0, 353.0]);
}

/// One file with several names is one result: a symbolic link, a hard link, a repeated or differently written path.
#[test]
fn the_same_file_by_other_names_is_imported_once() {
    let bench = Bench::new();
    fs::create_dir(bench.path("d")).unwrap();
    fs::copy(fixture("hdparm/tT.txt"), bench.path("d/a.txt")).unwrap();
    fs::hard_link(bench.path("d/a.txt"), bench.path("d/b.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", bench.path("d/c.txt")).unwrap();
    let said = bench.ok(&["import", "d", "d/../d/a.txt", "d/a.txt"]);
    assert!(said.contains("of 1 file, 3 already known"), "{said}");
    assert_eq!(said.matches("it is the same file as ").count(), 3, "{said}");
}

/// Across imports, path and content together identify a file.
#[test]
fn path_and_content_identify_a_file() {
    let bench = Bench::new();
    for name in ["ssd", "hdd"] {
        fs::create_dir(bench.path(name)).unwrap();
        fs::copy(fixture("hdparm/tT.txt"), bench.path(name).join("out.txt")).unwrap();
    }
    bench.ok(&["import", "ssd/out.txt"]);
    let again = bench.ok(&["import", bench.path("ssd/out.txt").to_str().unwrap()]);
    assert!(
        again.contains("1 already known") && again.contains("pass --again to import it again"),
        "{again}"
    );
    // The same name and content in another directory is another file, also by a relative path.
    let mut command = bench.command(&["import", "out.txt"]);
    let output = command.current_dir(bench.path("hdd")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("saved as run"), "{output:?}");
    fs::write(bench.path("ssd/out.txt"), fs::read(fixture("hdparm/t-direct-offset.txt")).unwrap()).unwrap();
    assert!(bench.ok(&["import", "ssd/out.txt"]).contains("saved as run"), "the content differs");
    fs::copy(fixture("hdparm/tT.txt"), bench.path("ssd/out.txt")).unwrap();
    assert!(bench.ok(&["import", "ssd/out.txt", "--again"]).contains("saved as run"));
}

/// An `iops` of 1e308, a maximum latency of 1e26 ns and a bandwidth of 1e15 B/s were imported.
#[test]
fn implausible_figures_are_left_out_with_their_line() {
    let bench = Bench::new();
    let text = fs::read_to_string(fixture("fio/3.33-randrw.jsonplus.json")).unwrap();
    // The text is edited directly, to keep fio's order of the fields.
    let changed = |text: &str, section: &str, field: &str, value: &str| {
        let start = text.find(section).unwrap();
        let at = start + text[start..].find(field).unwrap() + field.len();
        let end = at + text[at..].find(',').unwrap();
        format!("{}{value}{}", &text[..at], &text[end..])
    };
    let text = changed(&text, "\"read\" : {", "\"iops\" : ", "1e308");
    let read = text.find("\"read\" : {").unwrap();
    let lat = text[read..].find("\"lat_ns\" : {").map(|at| text[read + at..].to_owned()).unwrap();
    let text = text.replace(&lat, &changed(&lat, "\"lat_ns\"", "\"max\" : ", "1e26"));
    let text = changed(&text, "\"write\" : {", "\"bw_bytes\" : ", "1000000000000000");
    fs::write(bench.path("x.json"), text).unwrap();
    let output = bench.run(&["import", bench.path("x.json").to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "x.json:",
        "left out, impossible: iops (read)",
        "lat max (read)",
        "bandwidth (write)",
        "saved as run",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let csv = bench.ok(&["export", "-f", "csv"]);
    let values = csv.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse::<f64>().unwrap());
    assert!(values.clone().count() > 3 && values.clone().all(|v| v < 1e12), "{csv}");
}

#[test]
fn the_same_content_is_imported_once() {
    let bench = Bench::new();
    let tree = tree(&bench);
    bench.ok(&["import", &tree]);
    let again = bench.ok(&["import", &tree]);
    assert!(again.contains("0 results of 0 files, 6 already known"), "{again}");
    assert_eq!(bench.ok(&["list"]).matches("imported").count(), 1);
    assert!(bench.ok(&["import", &tree, "--again"]).contains("saved as run"));
}

#[test]
fn unreadable_outputs_are_reported_with_their_line() {
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
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "cut.txt:29: left out, cut off",
        "failed.txt:1: left out, a failed run",
        "list.txt:1: left out, not recognised",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let shown = bench.ok(&["show", "--details"]);
    assert!(shown.contains("97 % of the time was spent in 2176 syncs of 134 ms each"), "{shown}");
}

#[test]
fn falsified_figures_are_findings_and_bad_options_are_refused() {
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
        &["show", "--layout", "steps", "--rows", "device"],
    ] {
        assert_eq!(bench.run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn paths_give_a_matrix_of_device_bs_and_filesystem() {
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
