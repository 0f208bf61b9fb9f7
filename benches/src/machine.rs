//! The machine and the programs of a document.

use std::io;
use std::path::Path;
use std::process::Command;

use host::Roots;
use model::{Host, LayerKind, Target};

use crate::contenders::Programs;
use crate::setting::Turns;

/// Two paragraphs: the machine with the storage of the directory, and the versions of the programs.
///
/// # Errors
/// The directory does not exist.
pub fn described(programs: &Programs, turns: &Turns) -> io::Result<String> {
    let roots = Roots::default();
    let target = host::target::inspect(&roots, &turns.place).map_err(io::Error::other)?;
    let machine = machine(&host::identify(&roots), &target);
    let versions: Vec<String> = versions(programs)
        .into_iter()
        .map(|(name, version)| match version {
            Some(version) => format!("{name} {version}"),
            None => format!("{name} is not installed"),
        })
        .collect();
    Ok(format!("The machine: {machine}.\n\nThe programs: {}.\n", versions.join(", ")))
}

fn machine(host: &Host, target: &Target) -> String {
    let gigabytes = host.memory_bytes as f64 / 1e9;
    let os = host.os.as_ref().map(|os| format!(", {os}")).unwrap_or_default();
    format!(
        "{}, {} processors, {gigabytes:.1} GB of memory, Linux {}{os}; {}",
        host.cpu,
        host.cpus,
        host.kernel,
        storage(target)
    )
}

/// From the filesystem down, such as `ext4 on dm-0 on sda (Make and Model)`.
fn storage(target: &Target) -> String {
    let layer = |layer: &model::Layer| {
        let facts = layer.facts.get("model").filter(|_| layer.kind == LayerKind::Disk);
        facts.map_or_else(|| layer.name.clone(), |model| format!("{} ({model})", layer.name))
    };
    target.stack.iter().map(layer).collect::<Vec<_>>().join(" on ")
}

/// The version that each program reports, without its name.
fn versions(programs: &Programs) -> Vec<(&'static str, Option<String>)> {
    let printed = |program: &str, flag: &str| printed(Path::new(program), flag);
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let last = |text: String| text.split_whitespace().last().map(str::to_owned);
    let fio = printed(&programs.fio(), "--version");
    vec![
        ("lodestone", printed(&programs.lodestone(), "--version").and_then(last)),
        ("fio", fio.map(|text| text.trim().trim_start_matches("fio-").to_owned())),
        ("elbencho", printed(&shown(&programs.elbencho), "--version").as_deref().and_then(of_elbencho)),
        ("sysbench", printed(&shown(&programs.sysbench), "--version").as_deref().and_then(of_sysbench)),
        ("ioping", printed(&shown(&programs.ioping), "-v").and_then(last)),
    ]
}

/// The output of a program for its version flag; `None` if it cannot be run or fails.
fn printed(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// From the line ` * Version: 3.1-10`.
fn of_elbencho(text: &str) -> Option<String> {
    text.lines().find_map(|line| Some(line.split_once("Version:")?.1.trim().to_owned()))
}

/// From `sysbench 1.0.20` or `sysbench 1.0.20 (using …)`.
fn of_sysbench(text: &str) -> Option<String> {
    text.split_whitespace().nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Layer, TargetKind};

    #[test]
    fn versions_are_parsed() {
        let elbencho = "elbencho\n * Version: 3.1-10\n * Net protocol version: 3.1.3\n";
        assert_eq!(of_elbencho(elbencho).as_deref(), Some("3.1-10"));
        assert_eq!(of_sysbench("sysbench 1.0.20 (using system LuaJIT)\n").as_deref(), Some("1.0.20"));
        assert_eq!(of_sysbench(""), None);
        assert_eq!(printed(Path::new("/nonexistent/program"), "--version"), None);
    }

    #[test]
    fn the_machine_is_described_with_its_storage() {
        let layer = |kind, name: &str, model: Option<&str>| Layer {
            kind,
            name: name.to_owned(),
            level: 0,
            device: None,
            facts: model.map(|model| ("model".to_owned(), model.to_owned())).into_iter().collect(),
        };
        let target = Target {
            clients: Vec::new(),
            server: None,
            name: "x".to_owned(),
            path: "/x".into(),
            kind: TargetKind::Directory,
            size_bytes: 0,
            free_bytes: 0,
            block_bytes: 4096,
            direct: true,
            labels: Default::default(),
            host: 0,
            writable: true,
            stack: vec![
                layer(LayerKind::Filesystem, "ext4", None),
                layer(LayerKind::Disk, "sda", Some("Fast")),
            ],
        };
        let host = Host {
            cpu: "CPU".to_owned(),
            cpus: 2,
            memory_bytes: 25_300_000_000,
            kernel: "6.1".to_owned(),
            os: Some("Debian 12".to_owned()),
            name: "secret".to_owned(),
            ..Host::default()
        };
        assert_eq!(
            machine(&host, &target),
            "CPU, 2 processors, 25.3 GB of memory, Linux 6.1, Debian 12; ext4 on sda (Fast)"
        );
    }
}
