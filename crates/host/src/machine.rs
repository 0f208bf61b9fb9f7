//! Properties of a machine, beyond its name, that affect storage results: clocks, limits, virtualisation and
//! containers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::fact;

use crate::mounts::mounts;
use crate::probes::throttled;
use crate::stack::entries;
use crate::{Roots, read_line};

/// The facts by name. `root` is the root of the system's own files, usually `/`.
pub(crate) fn facts(roots: &Roots, root: &Path) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    let policies = entries(&roots.sys.join("devices/system/cpu/cpufreq"));
    put(fact::GOVERNOR, governors(&policies));
    let khz = |file: &str| {
        policies.iter().filter_map(|p| read_line(p.join(file))?.parse::<u64>().ok()).collect::<Vec<_>>()
    };
    put(fact::LOWEST_CLOCK, khz("scaling_min_freq").into_iter().min().map(hertz));
    put(fact::HIGHEST_CLOCK, khz("scaling_max_freq").into_iter().max().map(hertz));
    let (slow, was_slow) = throttled(roots);
    put(fact::THROTTLED, Some(slow.join("; ")).filter(|text| !text.is_empty()));
    put(fact::THROTTLED_BEFORE, was_slow.then(|| "1".to_owned()));
    put(fact::VIRTUALISATION, virtualisation(roots));
    put(fact::CLOUD, cloud(roots).map(str::to_owned));
    put(fact::CONTAINER, container(roots, root));
    put(fact::MEMORY_LIMIT, memory_limit(roots).map(|bytes| bytes.to_string()));
    put(fact::PAGE_SIZE, Some(rustix::param::page_size().to_string()));
    put(fact::SWAP, Some(swap(roots).to_string()));
    put(fact::CLOCK_SOURCE, clock_source(roots));
    let vm = roots.proc.join("sys/vm");
    put(fact::DIRTY_LIMIT, bytes_or_percent(&vm, "dirty"));
    put(fact::DIRTY_BACKGROUND, bytes_or_percent(&vm, "dirty_background"));
    let command_line = read_line(roots.proc.join("cmdline")).unwrap_or_default();
    let off = command_line.split_ascii_whitespace().any(|word| word == "mitigations=off");
    put(fact::MITIGATIONS, off.then(|| "off".to_owned()));
    facts
}

/// What the kernel calls this boot of this machine; empty if it does not say.
pub fn boot_id() -> String {
    read_line("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The kernel's clock source, such as `tsc`.
pub fn clock_source(roots: &Roots) -> Option<String> {
    read_line(roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource"))
}

/// Whether the kernel uses the processor's own counter as its clock source. If so, it has verified that the
/// counter runs at a constant rate, never stops, and is the same on all processors.
pub fn trusts_the_counter(roots: &Roots) -> bool {
    clock_source(roots).is_some_and(|source| source == "tsc" || source == "arch_sys_counter")
}

/// All governors in use, each once: they may differ between kinds of cores.
fn governors(policies: &[std::path::PathBuf]) -> Option<String> {
    let mut found: Vec<String> =
        policies.iter().filter_map(|p| read_line(p.join("scaling_governor"))).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join(", "))
}

fn hertz(khz: u64) -> String {
    khz.saturating_mul(1000).to_string()
}

/// `dirty_bytes` counts if it is set, else `dirty_ratio` (Documentation/admin-guide/sysctl/vm.rst of the kernel).
fn bytes_or_percent(vm: &Path, name: &str) -> Option<String> {
    let bytes = read_line(vm.join(format!("{name}_bytes"))).filter(|bytes| bytes != "0");
    bytes.or_else(|| read_line(vm.join(format!("{name}_ratio"))).map(|percent| format!("{percent} %")))
}

/// Bytes of all swap areas; the third column has KiB.
fn swap(roots: &Roots) -> u64 {
    let text = String::from_utf8_lossy(&fs::read(roots.proc.join("swaps")).unwrap_or_default()).into_owned();
    let sizes = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    sizes.fold(0, |sum: u64, kib| sum.saturating_add(kib.saturating_mul(1024)))
}

/// The hypervisor's name, if known: from Xen's own file, the board's tables, the device tree, or the clock source
/// that it offers.
fn virtualisation(roots: &Roots) -> Option<String> {
    if let Some(kind) = read_line(roots.sys.join("hypervisor/type")) {
        return Some(kind);
    }
    const BOARDS: [(&str, &str); 13] = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("Firecracker", "firecracker"),
        ("Amazon EC2", "amazon"),
        ("Google Compute Engine", "google"),
        ("OpenStack", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("Parallels", "parallels"),
        ("Bochs", "bochs"),
        ("Apple Virtualization", "apple"),
        ("Xen", "xen"),
    ];
    let dmi = roots.sys.join("class/dmi/id");
    let reported =
        ["sys_vendor", "product_name", "board_vendor", "bios_vendor"].map(|name| read_line(dmi.join(name)));
    let reported: Vec<String> = reported.into_iter().flatten().collect();
    let cpuinfo = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    let flagged = flags.any(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let tree = read_line(roots.proc.join("device-tree/hypervisor/compatible"));
    let clocks = roots.sys.join("devices/system/clocksource/clocksource0/available_clocksource");
    let clocks = read_line(clocks).unwrap_or_default();
    // Microsoft and Amazon also offer machines without a hypervisor, so on x86 the processor flag decides.
    let is_x86 = cpuinfo.contains("\nflags") || cpuinfo.starts_with("flags");
    if is_x86 && !flagged {
        return None;
    }
    let board = BOARDS.iter().find(|(mark, _)| reported.iter().any(|text| text.contains(mark)));
    let named = board.map(|(_, name)| (*name).to_owned());
    let hyperv =
        reported.iter().any(|text| text == "Virtual Machine") || clocks.contains("hyperv_clocksource");
    named
        .or(hyperv.then(|| "hyper-v".to_owned()))
        .or(tree
            .map(|text| text.trim_start_matches("linux,").split('\0').next().unwrap_or_default().to_owned()))
        .or(clocks.contains("kvm-clock").then(|| "kvm".to_owned()))
        .or(flagged.then(|| "yes".to_owned()))
}

/// The cloud that made this machine, as its firmware's tables name it (as cloud-init's `ds-identify` reads them).
fn cloud(roots: &Roots) -> Option<&'static str> {
    /// File in `/sys/class/dmi/id`, how its text begins, and the cloud.
    const CLOUDS: [(&str, &str, &str); 17] = [
        ("sys_vendor", "Amazon EC2", "Amazon EC2"),
        ("product_name", "Google Compute Engine", "Google Cloud"),
        ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Microsoft Azure"),
        ("chassis_asset_tag", "OracleCloud.com", "Oracle Cloud"),
        ("chassis_asset_tag", "HUAWEICLOUD", "Huawei Cloud"),
        ("chassis_asset_tag", "OpenTelekomCloud", "Open Telekom Cloud"),
        ("product_name", "Alibaba Cloud", "Alibaba Cloud"),
        ("sys_vendor", "Tencent Cloud", "Tencent Cloud"),
        ("sys_vendor", "DigitalOcean", "DigitalOcean"),
        ("sys_vendor", "Hetzner", "Hetzner Cloud"),
        ("sys_vendor", "Scaleway", "Scaleway"),
        ("sys_vendor", "Vultr", "Vultr"),
        ("sys_vendor", "UpCloud", "UpCloud"),
        ("sys_vendor", "Akamai", "Akamai (Linode)"),
        ("sys_vendor", "Linode", "Akamai (Linode)"),
        ("product_name", "Exoscale", "Exoscale"),
        ("product_name", "OpenStack", "an OpenStack cloud"),
    ];
    let dmi = roots.sys.join("class/dmi/id");
    let says =
        |file: &str, begins: &str| read_line(dmi.join(file)).is_some_and(|text| text.starts_with(begins));
    CLOUDS.iter().find(|(file, begins, _)| says(file, begins)).map(|(.., name)| *name)
}

/// The kind of container, by the marks of its manager or the type of the root filesystem.
fn container(roots: &Roots, root: &Path) -> Option<String> {
    let table = mounts(roots);
    let lowest = table.iter().rfind(|mount| mount.point == Path::new("/"));
    // An image made for containers keeps its mark when it is booted as a virtual machine.
    let whole_device = lowest.is_some_and(|mount| mount.device.0 != 0 && mount.root == Path::new("/"));
    for (mark, kind) in [(".dockerenv", "docker"), ("run/.containerenv", "podman")] {
        if root.join(mark).exists() && !whole_device {
            return Some(kind.to_owned());
        }
    }
    if let Some(kind) = read_line(root.join("run/systemd/container")) {
        return Some(kind);
    }
    let environment = fs::read(roots.proc.join("1/environ")).unwrap_or_default();
    let reported =
        environment.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"container="));
    if let Some(kind) = reported {
        return Some(String::from_utf8_lossy(kind).into_owned());
    }
    let options = lowest?.options.join(",");
    let mark = [("/docker/", "docker"), ("/containerd/", "containerd"), ("/containers/storage/", "podman")];
    let found = mark
        .iter()
        .find(|(mark, _)| lowest.is_some_and(|mount| mount.kind == "overlay") && options.contains(mark));
    found.map(|(_, kind)| (*kind).to_owned())
}

/// The lowest limit of this process's control groups (version 2), which also applies to its page cache.
fn memory_limit(roots: &Roots) -> Option<u64> {
    let groups = fs::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let base = roots.sys.join("fs/cgroup");
    let own = base.join(group);
    let limits = own.ancestors().take_while(|place| place.starts_with(&base));
    limits.filter_map(|place| read_line(place.join("memory.max"))?.parse::<u64>().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    fn reported(tree: &Tree) -> BTreeMap<String, String> {
        facts(&tree.roots(), &tree.path("root"))
    }

    #[test]
    fn the_counter_is_trusted_only_as_the_kernels_clock_source() {
        let tree = Tree::new();
        assert!(!trusts_the_counter(&tree.roots()), "no clock source is reported");
        for (source, trusted) in
            [("kvm-clock\n", false), ("tsc\n", true), ("tsc-early\n", false), ("arch_sys_counter\n", true)]
        {
            tree.file("sys/devices/system/clocksource/clocksource0/current_clocksource", source);
            assert_eq!(trusts_the_counter(&tree.roots()), trusted, "{source}");
        }
    }

    #[test]
    fn a_raspberry_pi_reports_its_clocks_and_throttling() {
        let tree = Tree::new();
        for (policy, low, high) in [(0, 600_000, 1_800_000), (4, 600_000, 2_400_000)] {
            let place = format!("sys/devices/system/cpu/cpufreq/policy{policy}");
            tree.file(&format!("{place}/scaling_governor"), "ondemand\n");
            tree.file(&format!("{place}/scaling_min_freq"), &format!("{low}\n"));
            tree.file(&format!("{place}/scaling_max_freq"), &format!("{high}\n"));
        }
        tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "50004\n");
        tree.file(
            "proc/cpuinfo",
            "processor\t: 0\nFeatures\t: fp asimd\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
        );
        tree.file("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/var/swap file 102396 0 -2\n");
        tree.file("proc/sys/vm/dirty_bytes", "0\n");
        tree.file("proc/sys/vm/dirty_ratio", "20\n");
        tree.file("proc/sys/vm/dirty_background_bytes", "67108864\n");
        let facts = reported(&tree);
        for (name, value) in [
            (fact::GOVERNOR, "ondemand"),
            (fact::LOWEST_CLOCK, "600000000"),
            (fact::HIGHEST_CLOCK, "2400000000"),
            (fact::THROTTLED, "throttled"),
            (fact::THROTTLED_BEFORE, "1"),
            (fact::SWAP, "104853504"),
            (fact::DIRTY_LIMIT, "20 %"),
            (fact::DIRTY_BACKGROUND, "67108864"),
        ] {
            assert_eq!(facts[name], value, "{name}");
        }
        assert!(!facts.contains_key(fact::VIRTUALISATION) && !facts.contains_key(fact::CONTAINER));
    }

    #[test]
    fn a_cloud_is_named_by_the_firmwares_tables() {
        for (file, text, cloud) in [
            ("sys_vendor", "Amazon EC2", Some("Amazon EC2")),
            ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", Some("Microsoft Azure")),
            ("product_name", "Google Compute Engine", Some("Google Cloud")),
            ("chassis_asset_tag", "No Asset Tag", None),
            ("sys_vendor", "QEMU", None),
        ] {
            let tree = Tree::new();
            tree.file(&format!("sys/class/dmi/id/{file}"), &format!("{text}\n"));
            assert_eq!(reported(&tree).get(fact::CLOUD).map(String::as_str), cloud, "{text}");
        }
    }

    #[test]
    fn a_hypervisor_is_named_if_it_can_be_identified() {
        let tree = Tree::new();
        let kind = || virtualisation(&tree.roots());
        tree.file("proc/cpuinfo", "flags\t\t: fpu sse2\n");
        tree.file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(kind(), None, "a rented physical machine");
        tree.file("proc/cpuinfo", "flags\t\t: fpu hypervisor sse2\n");
        assert_eq!(kind().unwrap(), "amazon");
        tree.file("sys/class/dmi/id/sys_vendor", "Somebody\n");
        assert_eq!(kind().unwrap(), "yes");
        tree.file("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock\n");
        assert_eq!(kind().unwrap(), "kvm");
        tree.file("sys/hypervisor/type", "xen\n");
        assert_eq!(kind().unwrap(), "xen");
    }

    #[test]
    fn a_container_is_recognised_by_its_marks_or_its_root() {
        let tree = Tree::new();
        let kind = || container(&tree.roots(), &tree.path("root"));
        assert_eq!(kind(), None);
        let line = "1 0 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/docker/overlay2/x/diff\n";
        tree.file("proc/self/mountinfo", line);
        assert_eq!(kind().unwrap(), "docker");
        tree.file("proc/1/environ", "A=b\0container=lxc\0");
        assert_eq!(kind().unwrap(), "lxc");
        tree.file("root/run/.containerenv", "");
        assert_eq!(kind().unwrap(), "podman");
        tree.file("proc/1/environ", "");
        tree.file("proc/self/mountinfo", "1 0 254:0 / / rw - ext4 /dev/vda rw\n");
        assert_eq!(kind(), None, "a virtual machine that was started from such an image");
    }

    #[test]
    fn the_lowest_memory_limit_of_all_ancestors_applies() {
        let tree = Tree::new();
        assert_eq!(memory_limit(&tree.roots()), None);
        tree.file("proc/self/cgroup", "0::/a/b\n");
        tree.file("sys/fs/cgroup/a/memory.max", "4096000\n");
        tree.file("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(memory_limit(&tree.roots()), Some(4_096_000));
    }
}
