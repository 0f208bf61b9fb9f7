//! Identification of the machine.

use std::path::Path;

use model::Host;
use twox_hash::XxHash3_64;

use crate::{Roots, machine, read_line};

/// The machine, as far as it can be identified without root.
pub fn identify(roots: &Roots) -> Host {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let (id, name) = id_and_name();
    let cpuinfo = std::fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let meminfo = std::fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    Host {
        id,
        name,
        kernel: text(uname.release()),
        architecture: text(uname.machine()),
        cpu: cpu_model(&cpuinfo).unwrap_or_else(|| text(uname.machine())),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory_bytes: memory_bytes(&meminfo).unwrap_or(0),
        board: board(roots),
        os: os_name(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()),
        facts: machine::facts(roots, Path::new("/")),
    }
}

/// The machine's unique identifier and its host name. Without a system identifier, as in many containers, the
/// name serves as both.
pub(crate) fn id_and_name() -> (String, String) {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let machine_id = read_line("/etc/machine-id").unwrap_or_else(|| name.clone());
    (format!("{:012x}", XxHash3_64::oneshot(machine_id.as_bytes()) >> 16), name)
}

fn field(text: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == *name && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    })
}

/// x86 has `model name`; Arm has numbers for its cores, and boards `Hardware` or `Model`.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    cores(cpuinfo).or_else(|| field(cpuinfo, &["model name", "Hardware", "Processor", "cpu model", "Model"]))
}

/// The cores of boards and servers by implementer and part (Arm's Main ID Register; the kernel's `asm/cputype.h`).
const CORES: &[(&str, &str, &str)] = &[
    ("0x41", "0xb76", "ARM1176"),
    ("0x41", "0xc07", "Cortex-A7"),
    ("0x41", "0xc08", "Cortex-A8"),
    ("0x41", "0xc09", "Cortex-A9"),
    ("0x41", "0xc0f", "Cortex-A15"),
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd04", "Cortex-A35"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd09", "Cortex-A73"),
    ("0x41", "0xd0a", "Cortex-A75"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd0d", "Cortex-A77"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0xc0", "0xac3", "Ampere-1"),
];

/// The names of Arm's cores, each once: a processor may have small and large ones.
fn cores(cpuinfo: &str) -> Option<String> {
    let mut found: Vec<&str> = Vec::new();
    let mut implementer = "";
    for line in cpuinfo.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.trim() {
            "CPU implementer" => implementer = value.trim(),
            "CPU part" => {
                let is_it = |core: &&(&str, &str, &str)| core.0 == implementer && core.1 == value.trim();
                found
                    .extend(CORES.iter().find(is_it).map(|core| core.2).filter(|name| !found.contains(name)));
            }
            _ => {}
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let value = field(meminfo, &["MemTotal"])?;
    Some(value.trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

fn board(roots: &Roots) -> Option<String> {
    read_line(roots.proc.join("device-tree/model"))
        .or_else(|| read_line(roots.sys.join("firmware/devicetree/base/model")))
        .or_else(|| {
            let vendor = read_line(roots.sys.join("class/dmi/id/sys_vendor"));
            let product = read_line(roots.sys.join("class/dmi/id/product_name"))?;
            Some(vendor.map_or(product.clone(), |v| format!("{v} {product}")))
        })
}

fn os_name(os_release: &str) -> Option<String> {
    let line = os_release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_on_x86_and_arm() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Xeon\n").unwrap(), "Xeon");
        let pi = "processor\t: 0\nBogoMIPS\t: 108.00\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n";
        assert_eq!(cpu_model(pi).unwrap(), "BCM2835");
        assert_eq!(cpu_model(""), None);
        // A Raspberry Pi 5, and a board with cores of two kinds.
        let core = |number: u32, part: &str| {
            format!(
                "processor\t: {number}\nBogoMIPS\t: 108.00\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
            )
        };
        let pi = core(0, "0xd0b")
            + &core(1, "0xd0b")
            + "Revision\t: c04170\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n";
        assert_eq!(cpu_model(&pi).unwrap(), "Cortex-A76");
        assert_eq!(cpu_model(&(core(0, "0xd05") + &core(1, "0xd0b"))).unwrap(), "Cortex-A55, Cortex-A76");
        assert_eq!(cpu_model(&(core(0, "0xfff") + "Model\t\t: Some Board\n")).unwrap(), "Some Board");
    }

    #[test]
    fn the_board_model_comes_from_the_device_tree() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("device-tree/model");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "Raspberry Pi 5 Model B Rev 1.0\0").unwrap();
        let roots = Roots {
            proc: directory.path().into(),
            sys: directory.path().into(),
            dev: "/dev".into(),
            programs: Vec::new(),
        };
        assert_eq!(board(&roots).unwrap(), "Raspberry Pi 5 Model B Rev 1.0");
    }

    #[test]
    fn memory_and_system_are_read() {
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:       8000 kB\n"), Some(8_192_000));
        assert_eq!(os_name("ID=x\nPRETTY_NAME=\"Debian 12\"\n").unwrap(), "Debian 12");
    }

    #[test]
    fn this_machine_has_a_name_and_memory() {
        let host = identify(&Roots::default());
        assert!(host.memory_bytes > 0 && host.cpus > 0 && !host.kernel.is_empty());
        assert_eq!(host.id.len(), 12);
    }
}
