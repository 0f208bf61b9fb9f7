//! fio job files from text to plan.

use crate::common::machine;
use model::*;
use plan::*;

fn environment() -> Environment {
    use EngineKind::{IoUring, Libaio, Mmap, Noop, Psync};
    machine(64 << 30, &[IoUring, Libaio, Psync, Mmap, Noop])
}

fn around() -> fio::Surroundings {
    fio::Surroundings {
        environment: vec![("FIO_BS".into(), "4k".into()), ("SECONDS_EACH".into(), "1s".into())],
        page_bytes: 4096,
        memory_bytes: 64 << 30,
        processors: 4,
    }
}

fn parse(text: &str) -> fio::FioJobs {
    fio::FioJobs::parse("test", text, &around())
}

/// All problems of a job file, as a user would read them, and the plan if there is one.
fn read(text: &str, target_bytes: Option<u64>) -> (Vec<String>, Option<Plan>) {
    let (suite, mut problems) = parse(text).suite(target_bytes);
    let plan = match resolve(&suite, &RunOverrides::default(), &environment()) {
        Ok(resolved) => Some(resolved.plan),
        Err(more) => {
            problems.extend(more);
            None
        }
    };
    let is_fatal = problems.iter().any(|p| p.level == Level::Error);
    let messages = problems.iter().map(|problem| {
        let (line, _) = problem.line_and_column(text).unwrap_or((0, 0));
        let help = problem.help.as_deref().map(|help| format!(" | {help}")).unwrap_or_default();
        format!("{line} {:?}: {}{help}", problem.level, problem.message)
    });
    (messages.collect(), plan.filter(|_| !is_fatal))
}

fn plan_of(text: &str) -> Plan {
    let (messages, plan) = read(text, None);
    plan.unwrap_or_else(|| panic!("{messages:?}"))
}

fn step(options: &str) -> Step {
    plan_of(&format!("[job]\n{options}\n")).steps.remove(0)
}

#[test]
fn defaults_of_a_job_are_those_of_fio() {
    let job = step("size=64m");
    let w = &job.workload;
    assert_eq!(
        (w.mix.clone(), w.pattern.clone()),
        (Mix::Transfer { read_percent: 100 }, Pattern::Sequential)
    );
    assert_eq!((w.block.read, w.iodepth, w.jobs, w.direct), (4096, 1, 1, false));
    assert_eq!((w.sync.at_end, w.sync.every, w.cache), (false, 0, CacheState::Cold));
    assert_eq!(job.engine, EngineChoice::Only(EngineKind::Psync));
    assert_eq!((job.stop.time_ns, job.stop.passes), (None, Some(1)));
    assert_eq!(w.files, FileSet { count: 1, size_bytes: Some(64 << 20), number: 0 });
}

#[test]
fn each_clone_has_its_own_files_unless_filename_is_set() {
    let own = step("size=64m\nnumjobs=4\nrw=randread\nnrfiles=2").workload;
    assert_eq!(own.files, FileSet { count: 8, size_bytes: Some(256 << 20), number: 0 });
    assert_eq!((own.regions, own.jobs), (Regions::Disjoint, 4));
    let shared = step("size=64m\nnumjobs=4\nrw=randread\nfilename=x").workload;
    assert_eq!(shared.files, FileSet { count: 1, size_bytes: Some(64 << 20), number: 0 });
    assert_eq!(shared.regions, Regions::Shared);
}

#[test]
fn stonewalls_separate_steps_of_concurrent_jobs() {
    let plan = plan_of(
        "[global]\nsize=8m\nioengine=libaio\n[a]\niodepth=4\n[b]\niodepth=8\nrw=randread\n[c]\nstonewall\n\
         [d]\nwait_for=c\nrw=write\n",
    );
    let ids = |step: &Step| step.parts().map(|part| part.id.clone()).collect::<Vec<_>>();
    let steps: Vec<Vec<String>> = plan.steps.iter().map(ids).collect();
    assert_eq!(steps, [vec!["a", "b"], vec!["c"], vec!["d"]]);
    assert!(plan.in_order && plan.rounds == Rounds::Fixed(1));
    let numbers: Vec<u32> =
        plan.steps.iter().flat_map(Step::parts).map(|s| s.workload.files.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "each has its own files");
}

#[test]
fn identical_jobs_become_one_with_more_clones() {
    let plan =
        plan_of("[global]\nioengine=filestat\nnrfiles=200\nfilesize=4k\n[t0]\n[t1]\n[t2]\nnumjobs=2\n");
    let [only] = &plan.steps[..] else { panic!("{plan:?}") };
    assert_eq!((only.workload.jobs, only.concurrent.len(), only.stop.operations), (4, 0, Some(800)));
    let Mix::Metadata(work) = &only.workload.mix else { panic!() };
    assert_eq!((work.files, &work.operations[..]), (200, &[MetadataOperation::Stat][..]));
}

#[test]
fn writes_use_reserved_space_unless_the_file_exists() {
    for (options, expected) in [
        ("rw=write", Preparation::Reserved),
        ("rw=randwrite\nfallocate=none", Preparation::Fresh),
        ("rw=write\noverwrite=1", Preparation::Written),
        ("rw=randrw", Preparation::Written),
        ("rw=write\nverify=crc32c", Preparation::Written),
    ] {
        assert_eq!(step(&format!("size=8m\n{options}")).prepare, expected, "{options}");
    }
    let plan = plan_of("[global]\nsize=8m\nfilename=x\n[a]\nrw=write\n[b]\nstonewall\nrw=write\n");
    let prepared: Vec<Preparation> = plan.steps.iter().map(|step| step.prepare).collect();
    assert_eq!(prepared, [Preparation::Reserved, Preparation::Written]);
}

#[test]
fn times_sizes_and_ends() {
    let job = step("size=8m\nruntime=2m\ntime_based\nramp_time=5");
    assert_eq!((job.stop.time_ns, job.stop.passes, job.ramp_ns), (Some(120e9 as u64), None, 5_000_000_000));
    let job = step("size=8m\ntimeout=60\nloops=3");
    assert_eq!((job.stop.time_ns, job.stop.passes), (Some(60e9 as u64), Some(3)));
    let job = step("size=8m\nio_size=1g\nnumjobs=2");
    assert_eq!((job.stop.bytes, job.stop.passes), (Some(2 << 30), None));
    let job = step("filesize=1g\nsize=50%\nfilename=x");
    assert_eq!(job.workload.files.size_bytes, Some(1 << 30));
    let half = Regions::Spaced { offset_bytes: 0, increment_bytes: 0, len_bytes: 512 << 20 };
    assert_eq!(job.workload.regions, half);
    let job =
        step("size=8m\nnumber_ios=100\nnumjobs=3\nthinktime=2000\nthinktime_blocks=4\nstartdelay=1500ms");
    assert_eq!(job.stop.operations, Some(300));
    assert_eq!(job.workload.modifiers.think, Some(Think { ns: 2_000_000, every: 4 }));
    assert_eq!(job.workload.modifiers.start_delay_ns, 1_500_000_000);
}

#[test]
fn blocks_mixes_and_orders() {
    let job = step("kb_base=1000\nsize=8m\nbs=4k,8k\nrw=rw\nrwmixwrite=30").workload;
    assert_eq!((job.block.read, job.block.write, job.files.size_bytes), (4000, 8000, Some(8_000_000)));
    assert_eq!(job.mix, Mix::Transfer { read_percent: 70 });
    let job = step("size=8m\nrw=randrw\nbssplit=4k/60:64k/40,8k").workload;
    let split = job.modifiers.split.unwrap();
    assert_eq!((split.read.len(), split.write.len(), split.grain, job.block.read), (2, 1, 4096, 65536));
    let job = step("size=8m\nbsrange=4k-16k\nrw=randread").workload;
    assert_eq!(job.modifiers.split.unwrap().read.len(), 4);
    let job = step("size=8m\nrw=read:-8k").workload;
    assert_eq!(job.pattern, Pattern::Strided { run_bytes: 4096, skip_bytes: -8192 });
    let job = step("size=1g\nrw=read\nzonemode=strided\nzonesize=64m\nzoneskip=64m").workload;
    assert_eq!(job.pattern, Pattern::Strided { run_bytes: 64 << 20, skip_bytes: 64 << 20 });
    let job = step("size=8m\nrw=randread\nrandom_distribution=zoned:50/5:30/15:20/").workload;
    let Pattern::Random { distribution: Distribution::Zoned(zones), .. } = job.pattern else { panic!() };
    assert_eq!(zones[2], Zone { access_percent: 20.0, size_percent: 80.0 });
}

#[test]
fn a_rate_for_each_direction_is_a_rate_and_a_mix() {
    let job = step("size=8m\nrw=randrw\nrate_iops=300,100\nnumjobs=2").workload;
    assert_eq!((job.pace, job.mix), (Pace::Fixed { per_second: 800.0 }, Mix::Transfer { read_percent: 75 }));
    let job = step("size=8m\nrw=read\nrate=1m\nrate_process=poisson").workload;
    assert_eq!(job.pace, Pace::Poisson { per_second: 256.0 });
}

#[test]
fn jobs_share_a_whole_device_without_reserved_space() {
    let (_, plan) = read("[job]\nrw=write\nnumjobs=2\noffset=10%\nsize=50%\n", Some(1 << 30));
    let step = plan.unwrap().steps.remove(0);
    assert_eq!(step.prepare, Preparation::Written);
    let Regions::Spaced { offset_bytes, len_bytes, .. } = step.workload.regions else { panic!() };
    assert_eq!((offset_bytes, len_bytes), (107_372_544, 1 << 29));
}

#[test]
fn every_dropped_option_is_reported() {
    let text = "[job]\nsize=8m\nrw=randrdead\nnumjobs=0x2\niodpeth=4\ncpus_allowed=1\nwrite_bw_log=x\n\
                rate_process=sometimes\nrate=1m\nsize=10%\nioengine=cpuio\n";
    let (messages, plan) = read(text, None);
    assert!(plan.is_none());
    insta::assert_snapshot!(messages.join("\n"));
    let jobs = parse(text);
    assert_eq!(jobs.ignored().len(), 1);
    assert_eq!(jobs.ignored()[0].0, "write_bw_log");
}

#[test]
fn honoured_options_are_parsed_and_names_are_unique() {
    const READERS: [&str; 3] = [
        include_str!("../../src/fio/job.rs"),
        include_str!("../../src/fio/settings.rs"),
        include_str!("../../src/fio/values.rs"),
    ];
    let mut names: Vec<&str> = Vec::new();
    for option in fio::FIO_OPTIONS {
        for name in [option.name, option.alias] {
            assert!(name.is_empty() || !names.contains(&name), "{name}");
            names.push(name);
        }
        let (fio::Treatment::Honoured(text) | fio::Treatment::Ignored(text) | fio::Treatment::Refused(text)) =
            option.treatment;
        assert!(text.len() >= 4, "{}", option.name);
        let quoted = format!("\"{}\"", option.name);
        let is_read = READERS.iter().any(|source| source.contains(&quoted));
        let should = matches!(option.treatment, fio::Treatment::Honoured(_));
        assert!(is_read || !should, "{} is marked as honoured but never parsed", option.name);
    }
}

#[test]
fn jobs_name_their_targets() {
    let targets = |text: &str| parse(text).targets();
    assert_eq!(targets("[a]\nfilename=/dev/sdb\n"), ["/dev/sdb"]);
    assert_eq!(targets("[a]\nfilename=/tmp/x/file\n[b]\ndirectory=/data\n"), ["/tmp/x", "/data"]);
    assert_eq!(targets("[a]\nsize=1m\n[b]\nsize=2m\n"), ["."]);
}

/// The fixture with the result of each of fio's own example files: file, what it needs that not every machine has
/// (or -), and `runs` or the first reason why not.
const EXAMPLES: &str = include_str!("../../../../fixtures/fio/examples.tsv");

fn example_rows() -> Vec<[&'static str; 3]> {
    let rows = EXAMPLES.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let mut cells = line.split('\t');
        std::array::from_fn(|_| cells.next().unwrap_or_else(|| panic!("three columns: {line}")))
    })
    .collect()
}

/// The result of an example with this text.
fn verdict(text: &str) -> String {
    let (messages, plan) = read(text, None);
    if plan.is_some() {
        return "runs".into();
    }
    let first = messages.iter().find(|line| line.contains("Error"));
    first.and_then(|line| line.split_once("Error: ")).map_or("refused".into(), |(_, why)| why.to_owned())
}

#[test]
fn most_fio_examples_without_special_needs_run() {
    let ordinary: Vec<[&str; 3]> = example_rows().into_iter().filter(|[_, needs, _]| *needs == "-").collect();
    let run = ordinary.iter().filter(|[.., verdict]| *verdict == "runs").count();
    assert!(run * 5 >= ordinary.len() * 4, "{run} of {}", ordinary.len());
}

/// Needs fio's own examples, which are not part of this project: LODESTONE_FIO_EXAMPLES names their directory.
/// With LODESTONE_FIO_UPDATE set as well, it rewrites the fixture.
#[test]
fn fio_examples_match_the_fixture() {
    let Some(directory) = std::env::var_os("LODESTONE_FIO_EXAMPLES").map(std::path::PathBuf::from) else {
        return testing::skipped("LODESTONE_FIO_EXAMPLES does not name a directory with fio's examples");
    };
    let mut found = Vec::new();
    for [file, needs, _] in example_rows() {
        let text = std::fs::read_to_string(directory.join(file)).unwrap();
        found.push([file.to_owned(), needs.to_owned(), verdict(&text)].join("\t"));
    }
    let listed =
        std::fs::read_dir(&directory).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for file in listed.filter(|file| file.ends_with(".fio")) {
        assert!(example_rows().iter().any(|[known, ..]| *known == file), "{file} is not in the fixture");
    }
    if std::env::var_os("LODESTONE_FIO_UPDATE").is_some() {
        let comment = EXAMPLES.lines().filter(|line| line.starts_with('#')).map(str::to_owned);
        let text: Vec<String> = comment.chain(found).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/fio/examples.tsv");
        std::fs::write(path, text.join("\n") + "\n").unwrap();
        return;
    }
    let expected: Vec<String> = example_rows().iter().map(|row| row.join("\t")).collect();
    assert_eq!(found, expected);
}

/// Small job files of this project, each with its plan.
#[test]
fn fixture_job_files_become_the_expected_plans() {
    let files = [
        ("four-corners", include_str!("../../../../fixtures/fio/four-corners.fio")),
        ("mixed-group", include_str!("../../../../fixtures/fio/mixed-group.fio")),
        ("verify", include_str!("../../../../fixtures/fio/verify.fio")),
    ];
    for (name, text) in files {
        let plan = plan_of(text);
        let lines = plan.steps.iter().flat_map(|step| {
            step.parts().enumerate().map(|(n, part)| {
                format!("{}{} | {}", if n > 0 { "  concurrent: " } else { "" }, part.id, part.title)
            })
        });
        insta::assert_snapshot!(name, lines.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn a_line_may_include_another_file() {
    assert_eq!(fio::included(" include other.fio \n"), Some("other.fio"));
    assert_eq!(fio::included("included=1"), None);
}

/// The target of a part, with the size from its options.
fn job_target_of(part: &Step) -> fio::JobTarget {
    fio::JobTarget::Directory { bytes: part.workload.files.size_bytes.unwrap_or(1 << 30) }
}

/// A plan written back as a job file.
fn written(plan: &Plan) -> Result<String, Vec<String>> {
    let mut text = String::new();
    for step in &plan.steps {
        let targets: Vec<fio::JobTarget> = step.parts().map(job_target_of).collect();
        let job = fio::write(step, &targets)?.text;
        // Each step begins with a stonewall, and each has its own globals, which are identical.
        let jobs = job.split_once("\n\n").map_or("", |(_, jobs)| jobs);
        text.push_str(&jobs.replacen("]\n", "]\nstonewall\n", 1));
        text.push('\n');
    }
    Ok(text)
}

/// A step without what a job file omits or expresses differently.
fn essence(step: &Step) -> Step {
    let mut step = Step { title: String::new(), interval_ns: 0, ..step.clone() };
    let w = &mut step.workload;
    w.files.size_bytes = w.files.size_bytes.or(Some(1 << 30));
    if let Regions::Spaced { offset_bytes: 0, increment_bytes: 0, len_bytes } = w.regions
        && w.files.size_bytes == Some(len_bytes)
    {
        w.regions = Regions::Shared;
    }
    step.concurrent = step.concurrent.iter().map(essence).collect();
    step
}

#[track_caller]
fn round_trips(text: &str) {
    let plan = plan_of(text);
    let again = written(&plan).unwrap_or_else(|why| panic!("{text}\n{why:?}"));
    let (messages, read_again) = read(&again, None);
    let read_again = read_again.unwrap_or_else(|| panic!("{text}\nbecame\n{again}\n{messages:?}"));
    let (one, other): (Vec<Step>, Vec<Step>) =
        (plan.steps.iter().map(essence).collect(), read_again.steps.iter().map(essence).collect());
    assert_eq!(one, other, "{text}\nbecame\n{again}");
}

#[test]
fn parsed_jobs_round_trip_through_a_job_file() {
    for options in [
        "size=64m",
        "size=64m\nnumjobs=4\nrw=randread\nnrfiles=2",
        "size=64m\nnumjobs=4\nrw=randread\nfilename=x",
        "size=64m\nnrfiles=3\nfile_service_type=sequential",
        "size=8m\nrw=write",
        "size=8m\nrw=randwrite\nfallocate=none",
        "size=8m\nrw=write\noverwrite=1\nend_fsync=1",
        "size=8m\nrw=randrw\nrwmixread=70\nioengine=libaio\niodepth=16\ndirect=1\ninvalidate=0",
        "size=8m\nruntime=2m\ntime_based\nramp_time=5",
        "size=8m\ntimeout=60\nloops=3",
        "size=8m\nio_size=1g\nnumjobs=2",
        "filesize=1g\nsize=50%\nfilename=x",
        "size=8m\nnumber_ios=100\nnumjobs=3\nthinktime=2000\nthinktime_blocks=4\nstartdelay=1500ms",
        "size=8m\nrw=randrw\nbssplit=4k/60:64k/40,8k",
        "size=8m\nbsrange=4k-12k\nrw=randread",
        "size=8m\nrw=read:-8k",
        "size=1g\nrw=read\nzonemode=strided\nzonesize=64m\nzoneskip=64m",
        "size=8m\nrw=randread\nrandom_distribution=zoned:50/5:30/15:20/\nnorandommap",
        "size=8m\nrw=randread\nrandom_distribution=zipf:1.2",
        "size=8m\nrw=randread\nrandom_distribution=pareto:0.2",
        "size=8m\nrw=randread\nrandom_distribution=normal:20",
        "size=8m\nrw=randrw\nrate_iops=300,100\nnumjobs=2",
        "size=8m\nrw=read\nrate=1m\nrate_process=poisson",
        "filename=x\nfilesize=1g\noffset=1m\noffset_increment=64m\nsize=32m\nnumjobs=3\nrw=randread",
        "size=8m\nrw=write\nfsync=4\nsync=dsync",
        "size=8m\nrw=randwrite\nfdatasync=1\nzero_buffers",
        "size=8m\nrw=randwrite\nbuffer_compress_percentage=40\ndedupe_percentage=10",
        "size=8m\nrw=randwrite\nverify=crc32c",
        "size=8m\nioengine=falloc\nrw=write",
        "size=8m\nioengine=ftruncate\nrw=randwrite",
        "ioengine=filecreate\nnrfiles=200\nfilesize=4k\nnumjobs=2\nloops=3",
        "ioengine=dirstat\nnrfiles=50\ntime_based\nruntime=10",
        "size=8m\nruntime=30\ntime_based\nsteadystate=iops_slope:5%\nss_dur=10\nss_ramp=2",
        "size=8m\nrw=randread\nioengine=libaio\niodepth=32\nlatency_target=2000\nlatency_window=1s\nlatency_percentile=99\nruntime=5\ntime_based",
        "size=8m\nrw=read\ncontinue_on_error=all",
        "size=8m\nioengine=mmap\nrw=randread",
        "size=8m\nioengine=null\nrw=randread\niodepth=8\ntime_based\nruntime=1",
    ] {
        round_trips(&format!("[job]\n{options}\n"));
    }
    round_trips(
        "[global]\nsize=8m\nioengine=libaio\n[a]\niodepth=4\nflow=2\n[b]\niodepth=8\nrw=randread\nflow=3\nexitall\n\
         [c]\nstonewall\nfilename=x\nrw=randread\n[d]\nstonewall\nfilename=x\nrw=write\n[e]\nrw=write\nsize=4m\n",
    );
}

#[test]
fn fixture_job_files_round_trip() {
    round_trips(include_str!("../../../../fixtures/fio/four-corners.fio"));
    round_trips(include_str!("../../../../fixtures/fio/mixed-group.fio"));
    round_trips(include_str!("../../../../fixtures/fio/verify.fio"));
}

/// Every example that parses is written back, where the examples are available.
#[test]
fn fio_examples_round_trip() {
    let Some(directory) = std::env::var_os("LODESTONE_FIO_EXAMPLES").map(std::path::PathBuf::from) else {
        return testing::skipped("LODESTONE_FIO_EXAMPLES does not name a directory with fio's examples");
    };
    for [file, ..] in example_rows().into_iter().filter(|[.., verdict]| *verdict == "runs") {
        round_trips(&std::fs::read_to_string(directory.join(file)).unwrap());
    }
}

#[test]
fn steps_that_fio_cannot_express_are_refused() {
    let plan = |settings: &str| {
        let (suite, problems) =
            Suite::parse("test", &format!("[[step]]\nid = \"x\"\nsize = \"8MiB\"\n{settings}\n"));
        assert_eq!(problems, []);
        resolve(&suite, &RunOverrides::default(), &environment()).unwrap().plan
    };
    let mut messages = Vec::new();
    for settings in [
        "rw = \"randread\"",
        "engine = \"psync\"\nrw = \"randrw\"\nmix_order = \"even\"",
        "engine = \"psync\"\nrw = \"randwrite\"\nfiles = 4\nfsync = 100\nfsync_files = \"all\"",
        "engine = \"psync\"\nrw = \"randread\"\nrate_iops = 0.0001",
        "engine = \"psync\"\nrw = \"randread\"\njobs = 3\nops = 100\nruntime = \"none\"",
        "engine = \"psync\"\nrw = \"read\"\nstride = \"8k:-16k\"",
        "engine = \"psync\"\nrw = \"randread\"\nmax_errors = 7",
        "engine = \"psync\"\nrw = \"randread\"\nfiles = 3\njobs = 2",
        "rw = \"metadata\"\nmetadata_ops = \"create,stat\"",
        "rw = \"metadata\"\nmetadata_ops = \"open\"",
        "rw = \"metadata\"\nmetadata_ops = \"create\"\nfile_size = \"4k\"\nmetadata_dirs = 3",
        "rw = \"metadata\"\nmetadata_ops = \"create\"\nmetadata_order = \"shuffled\"",
        "engine = \"psync\"\nrw = \"randupdate\"",
        "engine = \"psync\"\nrw = \"read\"\ndirect = false\ncall = 512\nmin_runtime = \"1s\"\nramp = \"0s\"",
        "engine = \"psync\"\nrw = \"read\"\nspaced = 10\nread_first = \"page\"\nlog_offset = true",
        "engine = \"psync\"\nrw = \"randread\"\ndirect = false\ncache = \"cold-each\"",
        "engine = \"psync\"\nrw = \"randread\"\ndirect = false\ncache = \"loaded\"",
    ] {
        messages.push(settings.replace('\n', "; "));
        match written(&plan(settings)) {
            Ok(text) => panic!("{settings}\n{text}"),
            Err(why) => messages.extend(why.into_iter().map(|why| format!("    {why}"))),
        }
    }
    insta::assert_snapshot!(messages.join("\n"));
}
