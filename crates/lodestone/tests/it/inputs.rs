//! Files to read must be regular files; everything else is refused. The tests have no time limit: the program must
//! end by itself.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{Bench, stderr, stdout};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports").join(name)).unwrap()
}

fn pipe(bench: &Bench, name: &str) -> String {
    let path = bench.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    crate::common::tool("mkfifo", &[path.to_str().unwrap()]).expect("mkfifo is installed");
    path.display().to_string()
}

/// Runs the program with `input` on its standard input.
fn fed(bench: &Bench, args: &[&str], input: &[u8]) -> Output {
    let mut command = bench.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may refuse before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// `lodestone import FIFO` waited forever for a writer.
#[test]
fn a_pipe_is_not_imported() {
    let bench = Bench::new();
    let pipe = pipe(&bench, "pipe");
    let output = bench.run(&["import", &pipe]);
    assert_eq!(output.status.code(), Some(3));
    let said = stdout(&output);
    assert!(said.contains("pipe: left out: it is a pipe, not a regular file; write its data"), "{said}");
}

/// A pipe, a socket or a symbolic link to a device in a directory is reported, and the other files are imported.
#[test]
fn a_directory_with_a_pipe_is_imported_without_it() {
    let bench = Bench::new();
    pipe(&bench, "all/pipe");
    let _listener = UnixListener::bind(bench.path("all/socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bench.path("all/zero")).unwrap();
    fs::write(bench.path("all/good.txt"), fixture("hdparm/tT.txt")).unwrap();
    let output = bench.run(&["import", bench.path("all").to_str().unwrap()]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "pipe: left out: it is a pipe",
        "socket: left out: it is a socket",
        "zero: left out: it is a character device",
        "3 left out",
        "saved as run",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// `-s /dev/zero`, `--fio /dev/zero` and `include FIFO` hung, or took memory without limit.
#[test]
fn suites_and_job_files_must_be_regular_files() {
    let bench = Bench::new();
    let pipe = pipe(&bench, "pipe");
    let disk = bench.disk().display().to_string();
    fs::write(bench.path("job.fio"), "[a]\nrw=read\nsize=1m\ninclude pipe\n").unwrap();
    let job = bench.path("job.fio").display().to_string();
    for (option, file, words) in [
        ("-s", "/dev/zero", "cannot read the suite /dev/zero: it is a character device"),
        ("-s", &pipe, "pipe: it is a pipe"),
        ("--fio", "/dev/zero", "cannot read the fio job file /dev/zero: it is a character device"),
        ("--fio", &pipe, "pipe: it is a pipe"),
        ("--fio", &job, "pipe: it is a pipe"),
        ("-s", "/", "cannot read the suite /: it is a directory"),
        ("-s", "/proc/kmsg", "it is a kernel pseudo-file"),
    ] {
        if file == "/proc/kmsg" && !crate::common::is_root() {
            continue;
        }
        let said = bench.fails(2, &["run", &disk, option, file, "--dry-run"]);
        assert!(said.contains(words), "{option} {file}: {said}");
    }
}

/// Ten files, each of which includes the next four times: a million includes within the limit of levels.
#[test]
fn exponential_includes_of_job_files_are_refused() {
    let bench = Bench::new();
    for n in 0..10 {
        let next = format!("include {}.fio\n", n + 1).repeat(4);
        fs::write(bench.path(&format!("{n}.fio")), next).unwrap();
    }
    fs::write(bench.path("10.fio"), "[a]\nrw=read\nsize=1m\n").unwrap();
    let (disk, job) = (bench.disk(), bench.path("0.fio"));
    let said = bench.fails(2, &["run", disk.to_str().unwrap(), "--fio", job.to_str().unwrap(), "--dry-run"]);
    assert!(said.contains("more than 1000 files are included in total"), "{said}");
}

/// A path that is not a log file is refused with its file type.
#[test]
fn a_pipe_is_refused_as_a_log() {
    let bench = Bench::new();
    let pipe = pipe(&bench, "x.jsonl");
    for command in ["show", "export", "report"] {
        let said = bench.fails(2, &[command, &pipe]);
        assert!(said.contains("it is a pipe, not a regular file"), "{said}");
    }
    assert!(bench.fails(2, &["show", "/dev/zero"]).contains("it is a character device"));
    assert!(bench.fails(2, &["show", "./nowhere.jsonl"]).contains("there is no log file"));
}

/// `-` means standard input for imports, suites and job files.
#[test]
fn a_hyphen_means_standard_input() {
    let bench = Bench::new();
    let output = fed(&bench, &["import", "-", "--label", "device=ssd"], &fixture("hdparm/tT.txt"));
    assert!(output.status.success() && stdout(&output).contains("saved as run"), "{}", stderr(&output));
    let output = fed(&bench, &["import", "-", "--label", "device=ssd"], &fixture("hdparm/tT.txt"));
    assert!(stdout(&output).contains("saved as run"), "standard input is imported again each time");
    let disk = bench.disk().display().to_string();
    let job = b"[reads]\nrw=read\nbs=4k\nsize=1m\n";
    let output = fed(&bench, &["run", &disk, "--fio", "-", "--dry-run"], job);
    assert!(output.status.success() && stdout(&output).contains("reads"), "{}", stderr(&output));
    let suite = bench.ok(&["suites", "show", "quick"]);
    let output = fed(&bench, &["run", &disk, "-s", "-", "--dry-run"], suite.as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Standard input has the same limits as a file: `import - < /dev/zero` used memory without limit.
#[test]
fn endless_standard_input_is_refused() {
    let bench = Bench::new();
    let mut command = bench.command(&["import", "-"]);
    let output = command.stdin(fs::File::open("/dev/zero").unwrap()).output().unwrap();
    let said = stdout(&output);
    assert!(said.contains("-: left out: it exceeds the limit of 33554432 bytes"), "{said}");
    let mut command = bench.command(&["import", "-"]);
    let output = command.stdin(fs::File::open(bench.disk()).unwrap()).output().unwrap();
    assert!(stdout(&output).contains("-: left out: it is a directory"), "{}", stdout(&output));
}
