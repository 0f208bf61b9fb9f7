//! Error messages for mistakes: what is wrong, and what to do.

use crate::common::Bench;

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    let bench = Bench::new();
    let options = "--rw randread --size 16M --runtime none --ops 64 --ramp 0s --rounds 2";
    bench.json(&options.split(' ').collect::<Vec<_>>());
    std::fs::create_dir(bench.path("empty")).unwrap();
    for (code, args, words) in [
        (2, &["run", "disk", "--budget", "0"][..], &["a budget of 0 leaves no time to measure", "90s"][..]),
        (2, &["run", "disk", "--interval", "1ms"], &["1ms is outside 10ms to 1h"]),
        (2, &["run", "disk", "--rw", "randread", "--distribution", "zipf"], &["as in zipf:0.99"]),
        (2, &["run", "disk", "--suite", "quik"], &["there is no suite `quik`", "as in ./quik.toml"]),
        (2, &["run", "/dev/null"], &["neither a directory, nor a file", "name one of these"]),
        (2, &["suites", "show", "./own.toml"], &["there is no suite `./own.toml`; the suites are quick"]),
        (2, &["clean", "nowhere"], &["cannot open the directory `nowhere`", "name a readable directory"]),
        (2, &["show", "nowhere.jsonl"], &["there is no log file `nowhere.jsonl`"]),
        (2, &["show", "--rows", "bs"], &["--layout"]),
        (2, &["show", "--pairs"], &["there are not two with figures"]),
        (2, &["show", "--pairs", "--baseline", "disk"], &["cannot be used with"]),
        (2, &["export", "--cell", "read"], &["--layout"]),
        (2, &["show", "--telemetry", "--summary", "median"], &["cannot be used with"]),
        (
            2,
            &["show", "--layout", "matrix", "--cell", "read:speed"],
            &["`read:speed` is not a valid cell", "lat_p99"],
        ),
        (
            2,
            &["crosscheck", "disk", "--with", "fio", "--only", "dd-write-fsync"],
            &["a check of dd", "--with"],
        ),
        (3, &["import", "empty"], &["no files in `empty`", "name files"]),
        (3, &["report", "-o", "nowhere/page.html"], &["cannot write nowhere/page.html"]),
    ] {
        let printed = bench.fails(code, args);
        for word in words {
            assert!(printed.contains(word), "{args:?} has no `{word}`: {printed}");
        }
    }
    assert!(!bench.path("nowhere").exists());
}

#[test]
fn verbose_prints_the_causes_of_an_error() {
    let bench = Bench::new();
    let missing = bench.path("missing");
    let missing = missing.to_str().unwrap();
    for arguments in [["run", missing], ["import", missing], ["clean", missing]] {
        let plain = bench.fails(2, &arguments);
        let verbose = bench.fails(2, &[&["--verbose"][..], &arguments].concat());
        let (message, causes) = verbose.split_once("\n  caused by: ").expect("a cause");
        assert_eq!(message, plain.trim_end());
        assert_eq!(causes.trim_end(), "No such file or directory (os error 2)");
    }
    // A message without a cause stays as it is.
    let plain = bench.fails(2, &["run", "--suite", "none"]);
    assert_eq!(bench.fails(2, &["--verbose", "run", "--suite", "none"]), plain);
}
