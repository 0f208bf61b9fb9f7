//! `site`: pages of all runs.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::*;

const SUITE: &str = "[[step]]\nid = \"reads\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"4MiB\"\nruntime = \"=20ms\"\n\
                     ramp = \"0s\"\n";

fn measure(bench: &Bench, name: &str) -> String {
    let suite = bench.path("own.toml");
    std::fs::write(&suite, SUITE).unwrap();
    let (target, suite) = (format!("{name}={}", bench.disk().display()), suite.display().to_string());
    let arguments = ["run", &target, "--suite", &suite, "--rounds", "2", "--quiet", "--no-report", "--json"];
    let printed = bench.ok(&[&arguments[..], &["--label", "disk=WD <b>Red</b>"]].concat());
    let run: serde_json::Value = serde_json::from_str(&printed).unwrap();
    run["run"]["id"].as_str().unwrap().to_owned()
}

/// All files below a directory, relative to it.
fn files(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => drop(found.insert(path.strip_prefix(root).unwrap().to_owned())),
            }
        }
    }
    found
}

/// What the `href` and `src` of a page name.
fn links(page: &str) -> Vec<&str> {
    let of = |key: &'static str| page.split(key).skip(1).filter_map(|rest| rest.split('"').next());
    of(" href=\"").chain(of(" src=\"")).filter(|link| !link.starts_with("data:")).collect()
}

#[test]
fn every_link_of_a_site_leads_to_one_of_its_files_and_only_what_is_new_is_made() {
    let bench = Bench::new();
    // What a directory may be called that a page must not take for markup.
    let odd = "a<i>&\"b";
    measure(&bench, odd);
    let second = measure(&bench, odd);
    let site = bench.path("site");
    let shown = site.display().to_string();
    let told = bench.ok(&["site", &shown, "--title", "Disks & <more>"]);
    assert!(told.contains("of 2 runs on 1 machine"), "{told}");
    let all = files(&site);
    for file in all.iter().filter(|file| file.extension().is_some_and(|end| end == "html")) {
        let page = std::fs::read_to_string(site.join(file)).unwrap();
        assert!(!page.contains("<i>") && !page.contains("<b>Red") && !page.contains("<more>"), "{file:?}");
        for link in links(&page) {
            let to = site.join(file.parent().unwrap()).join(link);
            assert!(!link.contains(':') && to.is_file(), "{file:?} leads to {link}");
        }
    }
    let start = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(start.contains(&format!("runs/{second}.html")), "{start}");
    let entries = std::fs::read_to_string(site.join("search.js")).unwrap();
    assert!(entries.contains("disk=WD \\u003cb>Red"), "{entries}");

    let again = bench.ok(&["site", &shown, "--title", "Disks & <more>"]);
    assert!(again.contains("; 0 made\n"), "{again}");
    assert_eq!(files(&site), all);
    bench.ok(&["rm", &second]);
    let fewer = bench.ok(&["site", &shown, "--title", "Disks & <more>"]);
    assert!(fewer.contains("removed") && !site.join(format!("runs/{second}.html")).exists(), "{fewer}");
    assert!(!site.join(all.iter().find(|file| file.starts_with("figures")).unwrap()).exists());
}

#[test]
fn a_site_of_several_stores_has_each_run_once_and_other_content_stays() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], part: &str| {
        let output = bench.run(&[&["site"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(part), "{arguments:?}: {error}");
    };
    let site = bench.path("site").display().to_string();
    refused(&[&site], "there are no runs");
    measure(&bench, "disk");
    let store = bench.store().display().to_string();
    let told = bench.ok(&["site", &site, "--from", &store, "--from", &store]);
    assert!(told.contains("of 1 run on 1 machine"), "{told}");
    refused(&[&site, "--from", &bench.path("none").display().to_string()], "there is no such directory");
    let own = bench.path("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("thesis.txt"), "mine").unwrap();
    refused(&[&own.display().to_string()], "it contains `thesis.txt`");
    assert_eq!(files(&own).len(), 1);
}

#[test]
fn a_site_of_another_machine_follows_its_store_and_remains_while_it_is_away() {
    let bench = Bench::new();
    let (first, second) = (measure(&bench, "disk"), measure(&bench, "disk"));
    let (site, from) = (bench.path("site").display().to_string(), format!("m:{}", bench.store().display()));
    let of = |connect: &str, from: &str| {
        let own = env!("CARGO_BIN_EXE_lodestone");
        let args = ["site", &site, "--from", from, "--connect", connect, "--remote-program", own];
        let output = bench.command(&args).env("XDG_CACHE_HOME", bench.path("cache")).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code().unwrap(), said.concat())
    };
    let (code, told) = of("env", &from);
    assert!(code == 0 && told.contains("of 2 runs on 1 machine"), "{told}");
    let (code, told) = of("env", &from);
    assert!(code == 0 && told.contains("; 0 made"), "{told}");

    // A run that goes, and a log of several parts; what it ends with is as after a power cut.
    bench.ok(&["rm", &first]);
    let long = "20261128T010203Z-abcdefgh.jsonl";
    let name = files(&bench.store().join("runs")).into_iter().next().unwrap();
    let log = std::fs::read(bench.store().join("runs").join(name)).unwrap();
    let mut text = Vec::new();
    record::decompressed(log.as_slice()).unwrap().read_to_end(&mut text).unwrap();
    let rest = (0..9_000_000u32).map(|i| b'a' + (i / 1000 % 26) as u8);
    text.extend(rest);
    std::fs::write(bench.store().join("runs").join(long), &text).unwrap();
    let (code, told) = of("env", &from);
    assert!(code == 0 && told.contains("removed"), "{told}");
    assert!(!bench.path("site").join(format!("runs/{first}.html")).exists());
    let copied = files(&bench.path("cache")).into_iter().find(|file| file.ends_with(long)).unwrap();
    assert!(std::fs::read(bench.path("cache").join(copied)).unwrap() == text);

    // An agent that claims a log of an exabyte: it is told, and the others are there.
    let lie = format!(
        "\"$@\" | sed -u '/\"reply\":\"logs\"/s/\"bytes\":{}/\"bytes\":1152921504606846976/'",
        text.len()
    );
    bench.instead("liar", &lie);
    let (code, told) = of(&bench.path("programs/liar").display().to_string(), &from);
    assert!(code == 0 && told.contains("is not copied: it is longer than 512 MiB"), "{told}");

    let (code, told) = of("false", &from);
    assert!(code == 1 && told.contains("runs copied earlier"), "{told}");
    assert!(bench.path("site").join(format!("runs/{second}.html")).exists());
    let (code, told) = of("env", "m:/nowhere");
    assert!(code == 2 && told.contains("m: there is no store at /nowhere"), "{told}");
}
