//! `lodestone targets` on this machine.

use std::time::Duration;

use crate::common::*;
use model::fact;
use serde_json::Value;

fn targets(bench: &Bench, args: &[&str]) -> Value {
    serde_json::from_str(&bench.ok(&[&["targets", "--json"], args].concat())).unwrap()
}

/// The complete output, and the target at this path, once its filesystem has responded within its short timeout.
#[track_caller]
fn answered(bench: &Bench, args: &[&str], path: &str) -> (Value, Value) {
    for _ in 0..30 {
        let json = targets(bench, args);
        let found = json["targets"].as_array().unwrap().iter().find(|t| t["path"] == path).cloned();
        let found = found.unwrap_or_else(|| panic!("no target at {path} in {json:#}"));
        if !found["free"].is_null() {
            return (json, found);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    panic!("the filesystem at {path} never responds");
}

/// Names in a stack with their levels.
fn stack(target: &Value) -> Vec<(u64, String)> {
    let layers = target["stack"].as_array().unwrap();
    layers.iter().map(|l| (l["level"].as_u64().unwrap(), l["name"].as_str().unwrap().to_owned())).collect()
}

/// With a run on the same disk its latency is evidence, and the schema has room for all of it.
#[test]
fn what_is_behind_a_path_is_explained_with_its_evidence() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let schema: Value = serde_json::from_str(&bench.ok(&["schema", "targets"])).unwrap();
    let explained = || {
        let json = targets(&bench, &["--explain", disk]);
        conforms(&json, &schema, &schema, "targets");
        json["explanations"][0].clone()
    };
    let before = explained();
    assert!(
        before["path"] == disk && before["missing"][0].as_str().unwrap().contains("no stored run"),
        "{before}"
    );
    let options =
        "--rw randread --bs 4k --ops 40 --runtime none --ramp 0s --rounds 1 --size 1M --direct auto";
    bench.ok(&[&["run", disk], &options.split(' ').collect::<Vec<_>>()[..]].concat());
    let after = explained();
    // Where no disk shows, as in memory or in some containers, a run cannot be told to be on the same one.
    let shows =
        !["is in memory", "is on no disk"].iter().any(|what| after["answer"].to_string().contains(what));
    assert_eq!(after.to_string().contains("no stored run"), !shows, "{after}");
    let text = bench.ok(&["targets", "--explain", disk]);
    assert!(text.starts_with(&format!("{disk} is ")), "{text}");
    bench.fails(2, &["targets", "--explain"]);
}

#[test]
fn the_root_filesystem_is_shown_and_json_follows_the_schema() {
    let bench = Bench::new();
    let schema: Value = serde_json::from_str(&bench.ok(&["schema", "targets"])).unwrap();
    for args in [&[][..], &["--all"]] {
        let (json, root) = answered(&bench, args, "/");
        conforms(&json, &schema, &schema, "targets");
        assert_eq!(json["schema"], "lodestone.targets.v1");
        assert!(root["size"].as_u64().unwrap() >= root["free"].as_u64().unwrap());
        assert!(root["stack"][0]["facts"]["options"].is_string());
    }
    let text = bench.ok(&["targets"]);
    assert!(text.contains("└─ ") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn only_named_targets_are_shown_and_missing_ones_reported() {
    let bench = Bench::new();
    let json = targets(&bench, &[bench.disk().to_str().unwrap()]);
    assert_eq!(json["targets"].as_array().unwrap().len(), 1);
    assert_eq!(json["targets"][0]["path"], bench.disk().to_str().unwrap());
    let said = bench.fails(2, &["targets", "/no/such/path"]);
    assert!(said.contains("cannot find `/no/such/path`"), "{said}");
}

#[test]
fn a_loop_filesystem_shows_the_filesystem_of_its_image() {
    let bench = Bench::new();
    let image = bench.path("image");
    let Some(device) = LoopDevice::new(&image, 64 << 20) else { return };
    let name = device.path.trim_start_matches("/dev/");
    let unmounted = targets(&bench, &[]);
    let is_it = |t: &&Value| t["path"] == device.path.as_str();
    let found =
        unmounted["targets"].as_array().unwrap().iter().find(is_it).expect("the empty device").clone();
    assert_eq!(
        (found["kind"].as_str(), found["remark"].as_str()),
        (Some("block_device"), Some("not mounted"))
    );
    if tool("mkfs.ext4", &["-q", &device.path]).is_none() {
        return;
    }
    let Some(mount) = Mounted::on(&bench.path("mnt"), &["-o", "noatime", &device.path]) else { return };
    let (json, found) = answered(&bench, &[], mount.point.to_str().unwrap());
    let all = json["targets"].as_array().unwrap();
    assert!(!all.iter().any(|t| is_it(&t)), "the device is in use now");
    let layers = stack(&found);
    assert_eq!(layers[..2], [(0, "ext4".to_owned()), (1, name.to_owned())]);
    assert_eq!(layers[2].0, 2, "the filesystem of the image: {layers:?}");
    let facts = &found["stack"][1]["facts"];
    assert_eq!(facts["backing file"], image.to_str().unwrap());
    assert_eq!(facts["size"], (64u64 << 20).to_string());
    assert!(found["stack"][0]["facts"]["options"].as_str().unwrap().split(',').any(|o| o == "noatime"));
    assert!(found["free"].as_u64().unwrap() < 64 << 20);
}

#[test]
fn btrfs_shows_its_members_and_profiles() {
    let bench = Bench::new();
    let (Some(one), Some(two)) =
        (LoopDevice::new(&bench.path("one"), 128 << 20), LoopDevice::new(&bench.path("two"), 128 << 20))
    else {
        return;
    };
    if tool("mkfs.btrfs", &["-q", "-f", "-d", "raid0", "-m", "raid1", &one.path, &two.path]).is_none() {
        return;
    }
    let Some(mount) = Mounted::on(&bench.path("pool"), &[&one.path]) else { return };
    let json = targets(&bench, &[mount.point.to_str().unwrap()]);
    let layers = stack(&json["targets"][0]);
    for device in [&one.path, &two.path] {
        let member = (1, device.trim_start_matches("/dev/").to_owned());
        assert!(layers.contains(&member), "{member:?} in {layers:?}");
    }
    let facts = &json["targets"][0]["stack"][0]["facts"];
    assert_eq!(
        (facts["data profile"].as_str(), facts["metadata profile"].as_str()),
        (Some("raid0"), Some("raid1"))
    );
    assert_eq!(facts["members"], "2");
}

#[test]
fn a_run_stores_the_stack_and_compare_shows_changes() {
    let bench = Bench::new();
    let options = ["--rw", "randread", "--size", "4M", "--runtime", "none", "--ops", "64", "--rounds", "2"];
    let run = bench.json(&options);
    let disk = bench.disk();
    let shown = targets(&bench, &[disk.to_str().unwrap()]);
    // Facts that change by themselves, and those from smartctl, which may come too late for one of the two.
    let fleeting = [
        fact::TEMPERATURE,
        fact::HOURS,
        fact::SLEEPING,
        fact::HEALTH,
        fact::WEAR,
        fact::MEDIA_ERRORS,
        fact::REALLOCATED,
        fact::PENDING,
        fact::LINK_ERRORS,
        fact::ROTATION_RATE,
        fact::FIRMWARE,
        fact::DISK_LINK_SPEED,
        fact::DISK_HIGHEST_LINK_SPEED,
        "model behind the bridge",
    ];
    let without_fleeting = |stack: &Value| {
        let mut stack = stack.clone();
        for layer in stack.as_array_mut().unwrap() {
            let facts = layer["facts"].as_object_mut().unwrap();
            fleeting.iter().for_each(|name| drop(facts.remove(*name)));
        }
        stack
    };
    assert_eq!(
        without_fleeting(&run["targets"][0]["stack"]),
        without_fleeting(&shown["targets"][0]["stack"])
    );
    assert_eq!(run["run"]["host"]["facts"]["page size"], shown["host"]["facts"]["page size"]);

    bench.json(&options);
    let kernel = run["run"]["host"]["kernel"].as_str().unwrap();
    let first = run["run"]["id"].as_str().unwrap();
    let logs = visible(&bench.store().join("runs"));
    let other = logs.iter().find(|name| !name.contains(first)).expect("the other run");
    let path = bench.store().join("runs").join(other);
    let changed = text_of(&path).replacen(kernel, "0.0.1-other", 1);
    std::fs::write(&path, changed).unwrap();
    let args = ["compare", first, path.to_str().unwrap(), "--accept-damage"];
    let json: Value = serde_json::from_str(&bench.ok(&[&args[..], &["--json"]].concat())).unwrap();
    let of_kernel = json["circumstances"].as_array().unwrap().iter().find(|c| c["what"] == "kernel").unwrap();
    assert_eq!(
        (of_kernel["before"].as_str(), of_kernel["after"].as_str()),
        (Some(kernel), Some("0.0.1-other"))
    );
    let text = bench.ok(&args);
    assert!(text.contains("Circumstances: ") && text.contains("0.0.1-other"), "{text}");
}
