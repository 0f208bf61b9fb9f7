//! What is said of runs that other programs measured: the answer to what their author asked, at a glance.

use std::collections::BTreeMap;

use analyse::{Analysis, Estimator, analyse};
use jiff::tz::TimeZone;
use model::{Event, Evidence, Finding, Run, RunFinished, RunOutcome, Severity, Subject};
use record::import::{Assembled, Gathered, assemble, import};
use report::chart::{Chart, charts};
use report::{
    AnalysedRun, Document, MatrixError, RunView, ScoreLayout, Section, TextStyle, Units, markdown, run_page,
    score_csv, score_table, table_text,
};

const MIB: f64 = 1_048_576.0;

/// The output of fio 3 for one job that moved 2 GiB at `rate` bytes per second.
fn fio(direction: &str, block: u32, rate: f64) -> String {
    let (ms, iops) = (2048.0 * MIB / rate * 1e3, rate / f64::from(block));
    let size = format!("{block}B-{block}B");
    format!(
        "\njob: (g=0): rw={direction}, bs=(R) {size}, (W) {size}, (T) {size}, ioengine=libaio, iodepth=64\n\
         fio-3.16\nStarting 1 process\n\n\
         job: (groupid=0, jobs=1): err= 0: pid=7: Sat Jun 26 14:54:45 2021\n  \
         {direction}: IOPS={iops:.0}, BW={:.1}MiB/s ({:.1}MB/s)(2048MiB/{ms:.0}msec)\n\n\
         Run status group 0 (all jobs):\n",
        rate / MIB,
        rate / 1e6
    )
}

fn gathered(file: &str, labels: &[(&str, &str)], text: &str) -> Gathered {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let reports = import(text.as_bytes()).reports;
    assert!(!reports.is_empty(), "{file} is not recognised:\n{text}");
    Gathered { file: file.to_owned(), labels, reports }
}

/// A run of files, as `lodestone import` keeps it.
fn run(files: Vec<Gathered>) -> Run {
    let Assembled { targets, steps, events, rounds } = assemble(files);
    let mut started = crate::fixture().started;
    started.host = model::Host::default();
    started.baseline = targets[0].name.clone();
    (started.targets, started.plan.steps) = (targets, steps);
    started.plan.rounds = model::Rounds::Fixed(rounds);
    started.command = ["lodestone", "import", "files"].map(str::to_owned).to_vec();
    started.sources = vec![model::Source { file: "files".into(), path: None, digest: "0".into(), bytes: 1 }];
    let mut run = Run::new(started);
    let end = Event::RunFinished(RunFinished { at_ns: 0, outcome: RunOutcome::Completed });
    events.into_iter().chain([end]).for_each(|event| run.record(event));
    run
}

fn told(text: &str) -> String {
    answer(&page(&run(vec![gathered("a.txt", &[], text)]))).join(" ")
}

#[test]
fn a_single_output_is_told_by_what_it_says() {
    let terse = |reads: u32, writes: u32| {
        let direction = |kib: u32| {
            let latencies = "0;0;0;0;".to_owned() + "1;9;5;1;" + &"0%=0;".repeat(20) + "1;9;5;1;";
            format!("{kib};{};{};1000;{latencies}0;0;0%;0;0;", kib, kib / 4)
        };
        format!("3;fio-3.30;job;0;0;{}{}5%;6%;1;0;3\n", direction(reads), direction(writes))
    };
    assert_eq!(
        told(&terse(8000, 4000)),
        "imported: fio, job job (reads and writes, 4 KiB): read 8.19 MB/s, write 4.10 MB/s."
    );
    // The order of the offsets is not in the line, so \"in sequence\" would be a guess.
    assert_eq!(told(&terse(8000, 0)), "imported: fio, job job (reads, 4 KiB): 8.19 MB/s.");
    let ioping = "--- . (ext4 /dev/sdb) ioping statistics ---\n\
                  9 requests completed in 8.1 ms, 36 KiB read, 1.11 k iops, 4.34 MiB/s\n\
                  generated 9 requests in 8.00 s, 36 KiB, 1 iops, 4.5 KiB/s\n\
                  min/avg/max/mdev = 700 us / 900 us / 1.10 ms / 90 us\n";
    assert_eq!(
        told(ioping),
        "imported: ioping, random reads one at a time (4 KiB): mean latency 900 µs.",
        "its rate says how long it pauses, not how fast the storage is"
    );
}

/// Megabytes per second of filesystem and device: 4 KiB written and read, 4 MiB written and read.
type Rates = [(&'static str, &'static str, [f64; 4]); 6];

const RATES: Rates = [
    ("hdd", "ext4", [52.0, 106.0, 115.0, 127.0]),
    ("hdd", "xfs", [30.0, 104.0, 100.0, 90.0]),
    ("hdd", "btrfs", [20.0, 60.0, 117.0, 80.0]),
    ("ssd", "ext4", [21.0, 108.0, 28.0, 115.0]),
    ("ssd", "xfs", [13.0, 80.0, 22.0, 120.0]),
    ("ssd", "btrfs", [10.0, 50.0, 18.0, 60.0]),
];

fn filesystems(rates: &Rates, repeats: usize) -> Run {
    let mut files = Vec::new();
    for (device, filesystem, rates) in rates {
        let work = [("write", 4096), ("read", 4096), ("write", 4 << 20), ("read", 4 << 20)];
        for repeat in 0..repeats {
            let more = 1.0 + 0.01 * repeat as f64;
            let text: Vec<String> =
                work.iter().zip(rates).map(|((rw, bs), rate)| fio(rw, *bs, rate * 1e6 * more)).collect();
            // Each device is in a machine of its own: the machine says nothing that the device does not.
            let labels = [
                ("device", *device),
                ("filesystem", *filesystem),
                ("machine", if *device == "hdd" { "pc" } else { "pi" }),
            ];
            files.push(gathered(&format!("{device}/{filesystem}-{repeat}"), &labels, &text.join("\n")));
        }
    }
    run(files)
}

/// PiBenchmarks' outputs of two devices, the second with other figures.
fn pi() -> Run {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/imports/pibenchmarks");
    let mut files = Vec::new();
    for device in ["SDCard", "USB3.0"] {
        for n in 1..=3 {
            let mut text = std::fs::read_to_string(format!("{directory}/run_{n}.txt")).unwrap();
            if device == "USB3.0" {
                // The score is computed again from the rows, so they must be others too.
                text = text
                    .replace("2742 IOPS (10969 KB/s)", "9000 IOPS (36000 KB/s)")
                    .replace("Score: 1", "Score: 3");
            }
            files.push(gathered(&format!("{device}/{n}"), &[("device", device)], &text));
        }
    }
    run(files)
}

fn seen(run: &Run) -> (Analysis, RunView) {
    let baseline = run.started.baseline.clone();
    let analysis = analyse(run, &baseline, Estimator::Mean, Units::Decimal);
    (analysis, RunView { units: Units::Decimal, baseline, time_zone: TimeZone::UTC, details: true })
}

fn page(run: &Run) -> String {
    let (analysis, view) = seen(run);
    run_page(&AnalysedRun::new(run, &analysis, &view))
}

fn pictures(run: &Run) -> BTreeMap<String, Chart> {
    let (analysis, view) = seen(run);
    charts(&AnalysedRun::new(run, &analysis, &view))
        .into_iter()
        .map(|chart| (chart.name.clone(), chart))
        .collect()
}

/// The sentences at the head of a page.
fn answer(page: &str) -> Vec<String> {
    let (_, rest) = page.split_once("<div class=\"answer\">").unwrap();
    let (answer, _) = rest.split_once("</div>").unwrap();
    answer.split("</p>").filter_map(|part| Some(part.strip_prefix("<p>")?.to_owned())).collect()
}

/// The cells of the rows of the first table.
fn first_table(page: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once("<tbody>").unwrap();
    let (body, _) = rest.split_once("</tbody>").unwrap();
    let cells = |row: &str| {
        let cells =
            row.split("</t").filter_map(|cell| cell.rsplit_once('>').map(|(_, text)| text.to_owned()));
        cells.filter(|text| !text.is_empty()).collect()
    };
    body.split("</tr>").filter(|row| row.contains("<td")).map(cells).collect()
}

#[test]
fn the_answer_ranks_filesystems_by_device_and_block_size() {
    let page = page(&filesystems(&RATES, 1));
    assert_eq!(
        answer(&page),
        [
            "xfs instead of ext4 costs 13 to 42 % of write speed and up to 29 % of read speed on hdd; on ssd it costs 21 to 38 % of write speed \
             and changes read speed by −26 % to +4 %.",
            "btrfs instead of ext4 costs up to 62 % of write speed and 37 to 43 % of read speed on hdd; on ssd it costs 36 to 52 % of write speed \
             and 48 to 54 % of read speed.",
            "Of 3 filesystems, ext4 is the fastest, or within 3 % of the fastest, in 7 of 8 combinations of device, block size and operation.",
            "For reads of 4 MiB on ssd it is xfs: 120 MB/s against 115 MB/s.",
            "Overall, it is 1.29 times as fast as xfs and 1.77 times as fast as btrfs (geometric means).",
            "24 of the 24 figures were measured only once, so small differences may be chance.",
            "Device and machine always vary together here, so their effects cannot be separated.",
        ]
    );
    let table = first_table(&page);
    let row = |i: usize| table[i].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(row(0), ["hdd", "4 KiB write", "52.0 MB/s", "30.0 MB/s", "20.0 MB/s", "ext4"]);
    assert_eq!(row(2), ["hdd", "4 MiB write", "115 MB/s", "100 MB/s", "117 MB/s", "ext4, btrfs"]);
    assert_eq!(row(7), ["ssd", "4 MiB read", "115 MB/s", "120 MB/s", "60.0 MB/s", "xfs"]);
    assert_eq!(table.len(), 8);
}

#[test]
fn three_repeats_of_each_are_not_called_single() {
    let answer = answer(&page(&filesystems(&RATES, 3)));
    assert!(answer.iter().all(|sentence| !sentence.contains("once only")), "{answer:?}");
}

#[test]
fn where_no_filesystem_wins_everywhere_the_others_are_counted() {
    let mut rates = RATES;
    // Each wins where it did worst before.
    for (i, (_, _, rates)) in rates.iter_mut().enumerate() {
        rates[i % 3] = 400.0;
    }
    let answer = answer(&page(&filesystems(&rates, 1)));
    assert!(answer[2].contains("in 3 of 8 combinations"), "{answer:?}");
    assert_eq!(
        answer[3], "In the others, xfs is the fastest in 3 and btrfs is the fastest in 2.",
        "{answer:?}"
    );
}

/// Rates of a filesystem by device, each measured `repeats` times.
fn two_devices(filesystems: [(&str, [f64; 2]); 2], repeats: usize) -> Run {
    let mut files = Vec::new();
    for device in ["hdd", "ssd"] {
        for (filesystem, [write, read]) in filesystems {
            for repeat in 0..repeats {
                let more = 1e6 * (1.0 + 0.002 * repeat as f64);
                let text = [fio("write", 4096, write * more), fio("read", 4096, read * more)].join("\n");
                let labels = [("device", device), ("filesystem", filesystem)];
                files.push(gathered(&format!("{device}/{filesystem}-{repeat}"), &labels, &text));
            }
        }
    }
    run(files)
}

#[test]
fn the_cost_of_encryption_comes_first_and_has_a_table() {
    let run = two_devices([("xfs-luks", [60.0, 99.5]), ("xfs-plain", [100.0, 100.0])], 5);
    let (analysis, view) = seen(&run);
    let document = report::run_document(&run, &analysis, &view);
    assert_eq!(document.answer[0], "LUKS costs 40 % of write speed and no read speed on hdd and ssd.");
    let is_it = |section: &Section| match section {
        Section::Table(table) if table.title == "What LUKS changes" => Some(table.clone()),
        _ => None,
    };
    let table = document.sections.iter().find_map(is_it).unwrap();
    let row = |i: usize| table.rows[i].iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>();
    assert!(row(0)[0] == "4 KiB write" && row(0)[1].starts_with("−40 % (−4"), "{:?}", row(0));
    assert_eq!(row(1)[..2], ["4 KiB read", "="]);
    assert_eq!(table.columns.iter().map(|c| c.heading.as_ref()).collect::<Vec<_>>(), ["", "hdd", "ssd"]);
    let picture = &pictures(&run)["costs"];
    assert_eq!(picture.title, "What LUKS changes");
    assert!(picture.wide.contains("hdd, 4 KiB write: 100 → 60.2 MB/s, −40 % (−4"), "{}", picture.wide);
    assert_eq!(picture.wide.matches("class=\"ring neutral\"").count(), 4, "a ring for each figure");
    let export = report::json::run_export(&AnalysedRun::new(&run, &analysis, &view));
    let json = serde_json::to_value(export).unwrap();
    assert_eq!(json["answer"][0], document.answer[0].as_str());
    let cost = &json["costs"][0];
    assert_eq!((&cost["of"], &cost["on"]["device"]), (&"LUKS".into(), &"hdd".into()), "{cost}");
    assert_eq!(cost["comparisons"].as_array().unwrap().len(), 2);
}

#[test]
fn the_slower_machine_costs_and_the_faster_one_is_the_plain_one() {
    let mut files = Vec::new();
    for (machine, share) in [("pi", 0.8), ("laptop", 1.0)] {
        for (device, [write, read]) in [("hdd", [60.0, 90.0]), ("ssd", [200.0, 400.0])] {
            for repeat in 0..5 {
                let more = 1e6 * share * (1.0 + 0.002 * f64::from(repeat));
                let text = [fio("write", 4096, write * more), fio("read", 4096, read * more)].join("\n");
                let labels = [("device", device), ("machine", machine)];
                files.push(gathered(&format!("{device}/{machine}-{repeat}"), &labels, &text));
            }
        }
    }
    let run = run(files);
    let (analysis, view) = seen(&run);
    let document = report::run_document(&run, &analysis, &view);
    assert_eq!(
        document.answer[0],
        "pi instead of laptop costs 20 % of write speed and 20 % of read speed on hdd and ssd."
    );
    assert_eq!(pictures(&run)["costs"].title, "What pi changes, compared with laptop");
}

#[test]
fn the_labels_are_a_picture_with_a_panel_for_each_operation() {
    let pictures = pictures(&filesystems(&RATES, 1));
    let labels = &pictures["labels"];
    assert_eq!(labels.title, "Filesystems by device, block size and operation");
    assert!(!pictures.contains_key("matrix"), "the same is not shown twice");
    assert!(
        labels.wide.contains("ssd · 4 MiB")
            && labels.wide.contains("xfs, ssd · 4 MiB read: 120 MB/s, 1.00 × the best")
    );
    // Four rows and the summary of three filesystems for reads and for writes.
    assert_eq!(labels.wide.matches("<rect class=\"cell").count(), 2 * 5 * 3);
    insta::assert_snapshot!(labels.wide);
}

#[test]
fn a_score_is_the_answer_and_no_latency() {
    let run = pi();
    let page = page(&run);
    assert_eq!(answer(&page)[0], "PiBenchmarks score: USB3.0 1404, SDCard 1154.");
    let table = first_table(&page);
    assert_eq!(table.last().unwrap()[..2], ["PiBenchmarks: score", "1154"]);
    assert!(page.contains(">1404 <span class=\"mark"), "the second score, with its mark");
    let bars: Vec<Chart> = pictures(&run).into_values().filter(|c| c.kind == "bars").collect();
    let score = bars.iter().find(|c| c.wide.contains("PiBenchmarks: score")).expect("a panel of the score");
    assert!(score.wide.contains(">1404</text>") && !score.wide.contains("1.40 µs"));
}

/// The lines of a Markdown table, each cut into its cells.
fn cells(markdown: &str) -> Vec<Vec<String>> {
    let rows = markdown.lines().filter(|l| l.starts_with('|'));
    rows.map(|l| l.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect()).collect()
}

fn scores_of(rows: &[&str], cell: &str) -> ScoreLayout {
    ScoreLayout { rows: rows.iter().map(|r| (*r).to_owned()).collect(), cell: cell.to_owned() }
}

/// fio prints MiB/s, so 40.3 MB/s are 38.4 MiB/s; operations per second have no prefix.
#[test]
fn rates_are_shown_in_the_unit_in_which_they_were_printed() {
    let run = run(vec![gathered("disk.txt", &[], &fio("read", 65536, 40.3e6))]);
    let units = report::units_as_published(&run);
    let (analysis, _) = seen(&run);
    let table = |cell: &str| {
        let table = score_table(&[(&run, &analysis)], &scores_of(&["target"], cell), units).unwrap();
        cells(&markdown(&Document::new("fio", vec![Section::Table(table)])))
    };
    let [rates, counts] = ["read", "read:iops"].map(table);
    assert!(rates[0][1].ends_with(", MiB/s") && rates[2][1] == "38.4", "{rates:?}");
    assert_eq!(counts[2][1], "615");
    // A run without printed rates has no unit of its own.
    let mut none = run;
    none.repeats.iter_mut().for_each(|repeat| repeat.imported = None);
    assert_eq!(report::units_as_published(&none), Units::Decimal);
}

/// Access times had no row though they were counted, and the longest latency of what was too quick was compared.
#[test]
fn the_answer_counts_the_figures_that_its_table_shows() {
    for (file, rows, named) in [
        ("ioping/text.txt", 1, "mean latency"),
        ("bonnie/2.00a-text.txt", 2, "write by character"),
        ("sysbench/1.0-rndrw.txt", 4, "mixed, mean latency"),
    ] {
        let path = format!("{}/../../fixtures/imports/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let of =
            |target: &str, repeat: &str| gathered(file, &[("target", target), ("repeat", repeat)], &text);
        let run = run(vec![of("a", "1"), of("a", "2"), of("b", "1"), of("b", "2")]);
        let page = page(&run);
        let table = first_table(&page);
        assert_eq!(
            table.iter().filter(|row| !row[0].contains("geometric mean")).count(),
            rows,
            "{file}: {table:?}"
        );
        assert!(table.iter().any(|row| row[0].contains(named)), "{file}: {table:?}");
        let said = answer(&page).join(" ");
        let all = ["", "", "both figures", "", "4 figures"][rows];
        assert!(said.contains(all), "{file}: {said}");
    }
}

/// The disk at the laptop and the stick at the Pi: the one that is slower may be so for the machine.
#[test]
fn labels_that_always_change_together_are_named() {
    let of = |device: &str, machine: &str, filesystem: &str, rate: f64| {
        let labels = [("device", device), ("machine", machine), ("filesystem", filesystem)];
        gathered(&format!("{device}-{machine}-{filesystem}"), &labels, &fio("read", 65536, rate))
    };
    let said = |files: Vec<Gathered>| answer(&page(&run(files))).join(" ");
    let sentence = "Device and machine always vary together here, so their effects cannot be separated.";
    let apart = vec![
        of("disk", "laptop", "ext4", 90e6),
        of("stick", "pi", "ext4", 40e6),
        of("disk", "laptop", "xfs", 80e6),
    ];
    assert!(said(apart.clone()).contains(sentence), "{}", said(apart));
    let crossed = vec![
        of("disk", "laptop", "ext4", 90e6),
        of("stick", "pi", "ext4", 40e6),
        of("stick", "laptop", "ext4", 60e6),
    ];
    assert!(!said(crossed.clone()).contains("vary together"), "{}", said(crossed));
}

/// Two whole repeats and one that Ctrl-C ended at a third of the rate: that one does not count, unless it is all there is.
#[test]
fn a_repeat_that_a_signal_stopped_is_not_averaged_in() {
    let file = |name: &str, rate: f64, stopped: bool| {
        let text = fio("read", 65536, rate);
        let text = if stopped {
            text.replace("\njob: (groupid", "\nfio: terminating on signal 2\n\njob: (groupid")
        } else {
            text
        };
        gathered(name, &[("repeat", &name[..1])], &text)
    };
    let figure = |files: Vec<Gathered>| {
        let run = run(files);
        let (analysis, _) = seen(&run);
        let m = analysis.measurements.iter().find(|m| m.metric == model::Metric::Bandwidth).unwrap();
        let told = analysis.findings.iter().find(|f| f.rule == "stopped-early").map(|f| f.severity);
        ((m.estimate.value / 1e6).round(), told)
    };
    let (first, second, third) = (file("1", 90e6, false), file("2", 92e6, false), file("3", 30e6, true));
    assert_eq!(figure(vec![first, second, third.clone()]), (91.0, Some(Severity::Info)));
    assert_eq!(figure(vec![third]), (30.0, Some(Severity::Warning)));
}

#[test]
fn a_score_table_has_a_row_per_target_and_the_score_last() {
    let run = pi();
    let (analysis, _) = seen(&run);
    let layout = scores_of(&["device"], "headline");
    let table = score_table(&[(&run, &analysis)], &layout, Units::Decimal).unwrap();
    let shown = table_text(&table, TextStyle { width: 400, color: false });
    let document = Document::new("Pi", vec![Section::Table(table)]);
    let rows = cells(&markdown(&document));
    let heads: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    assert_eq!(
        heads[..3],
        [
            "device",
            "hdparm: direct reads of the same 2 MiB (-T --direct), MB/s",
            "hdparm: sequential reads, MB/s"
        ]
    );
    assert_eq!(heads[heads.len() - 2..], ["fio: random write, MB/s", "PiBenchmarks: score"]);
    assert_eq!((rows[2].first().unwrap().as_str(), rows[2].last().unwrap().as_str()), ("SDCard", "1154"));
    assert_eq!((rows[3].first().unwrap().as_str(), rows[3].last().unwrap().as_str()), ("USB3.0", "1404"));
    assert!(shown.lines().nth(1).unwrap().trim_end().ends_with("PiBenchmarks: score"), "{shown}");
    let csv = score_csv(&[(&run, &analysis)], &layout).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("device,") && lines[0].ends_with(",PiBenchmarks: score mixed score 1"),
        "{csv}"
    );
    let last = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    assert!((last(lines[1]) - 1154.0).abs() < 1.0 && (last(lines[2]) - 1404.0).abs() < 1.0, "{csv}");
}

#[test]
fn a_score_table_takes_row_labels_and_cells() {
    let run = filesystems(&RATES, 1);
    let (analysis, _) = seen(&run);
    let table =
        |rows: &[&str], cell: &str| score_table(&[(&run, &analysis)], &scores_of(rows, cell), Units::Decimal);
    let found = table(&["device", "filesystem"], "read").unwrap();
    assert_eq!((found.rows.len(), found.columns.len(), found.stub), (6, 4, 2));
    let texts: Vec<&str> = found.rows[5].iter().map(|c| c.text.as_str()).collect();
    assert_eq!(texts, ["ssd", "xfs", "80.0", "120"]);
    assert!(matches!(table(&["colour"], "read"), Err(MatrixError::Label { .. })));
    // Three filesystems of a device would fall into one row.
    assert!(matches!(table(&["device"], "read"), Err(MatrixError::Ambiguous { .. })));
    assert!(matches!(table(&["target"], "sync"), Err(MatrixError::Empty(_))));
}

#[test]
fn a_score_that_a_finding_computes_stands_last_too() {
    let run = filesystems(&RATES, 1);
    let (mut analysis, _) = seen(&run);
    let subject = Subject { target: Some("ssd xfs pi".into()), step: None };
    let evidence = vec![Evidence { what: "score".into(), value: 2345.0, unit: "1".into(), scope: None }];
    analysis.findings = vec![Finding {
        rule: "pi-score".into(),
        severity: Severity::Info,
        subject,
        message: "a score".into(),
        advice: None,
        effect: 0.0,
        evidence,
    }];
    let table =
        score_table(&[(&run, &analysis)], &scores_of(&["target"], "headline"), Units::Decimal).unwrap();
    assert_eq!(table.columns.last().unwrap().heading, "PiBenchmarks: score");
    let last: Vec<(&str, &str)> =
        table.rows.iter().map(|r| (r[0].text.as_str(), r.last().unwrap().text.as_str())).collect();
    assert!(last.contains(&("ssd xfs pi", "2345")) && last.contains(&("hdd xfs pc", "")), "{last:?}");
}

#[test]
fn circumstances_of_imports_come_from_the_files() {
    let page = page(&filesystems(&RATES, 1));
    assert!(page.contains("<dt>imported from</dt>") && page.contains("How it was imported"));
    assert!(page.contains("<pre id=\"run-fixture1-command\">lodestone import files</pre>"), "no seed");
    for absent in ["<dt>machine</dt>", "random order", "use more --rounds"] {
        assert!(!page.contains(absent), "{absent}");
    }
}
