//! The description of a layer.

use std::collections::BTreeMap;

use model::units::ExactSize;
use model::{Layer, LayerKind, fact};

use crate::document::Tone;
use crate::figures::{Units, display_bytes, display_rate};

/// A few words that stay on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    pub text: String,
    pub tone: Tone,
}

/// The description in lines of phrases, the most important first; none is empty.
pub(crate) fn describe(layer: &Layer, units: Units) -> Vec<Vec<Phrase>> {
    let mut words = Words { facts: &layer.facts, units, lines: vec![Vec::new()] };
    match layer.kind {
        LayerKind::Filesystem | LayerKind::Network if layer.device.is_none() => words.filesystem(),
        LayerKind::Crypt => words.crypt(),
        LayerKind::Raid => words.raid(),
        LayerKind::Lvm => words.mapped(),
        LayerKind::Partition => words.partition(),
        LayerKind::Loop => words.looped(),
        LayerKind::Filesystem | LayerKind::Disk | LayerKind::Network => words.disk(),
    }
    words.lines.retain(|line| !line.is_empty());
    words.lines
}

struct Words<'a> {
    facts: &'a BTreeMap<String, String>,
    units: Units,
    lines: Vec<Vec<Phrase>>,
}

impl Words<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// A configured size, such as a block size.
    fn exact(&self, name: &str) -> Option<String> {
        self.number(name).map(|bytes| ExactSize(bytes).to_string())
    }

    fn size(&self) -> Option<String> {
        self.number(fact::SIZE).map(|bytes| display_bytes(bytes, self.units))
    }

    fn toned(&mut self, text: impl Into<Option<String>>, tone: Tone) {
        if let (Some(text), Some(line)) = (text.into(), self.lines.last_mut()) {
            line.push(Phrase { text, tone });
        }
    }

    fn say(&mut self, text: impl Into<Option<String>>) {
        self.toned(text, Tone::Plain);
    }

    fn warn(&mut self, text: impl Into<Option<String>>) {
        self.toned(text, Tone::Bad);
    }

    /// Starts a new line.
    fn line(&mut self) {
        self.lines.push(Vec::new());
    }

    fn filesystem(&mut self) {
        let link = self.get(fact::LINK).map(|link| match link {
            "nfs" => "NFS".to_owned(),
            "smb" => "SMB".to_owned(),
            other => other.to_owned(),
        });
        if let Some(link) = link {
            let version = self.get(fact::PROTOCOL).map_or_else(String::new, |version| format!(" {version}"));
            let server = self.server().map_or_else(String::new, |server| format!(" from {server}"));
            let how = self.get(fact::TRANSPORT).map_or_else(String::new, |how| format!(" over {how}"));
            let speed = self.number(fact::LINK_SPEED);
            let speed = speed.map_or_else(String::new, |bits| format!(" at {}", bits_words(bits)));
            self.say(format!("{link}{version}{server}{how}{speed}"));
            self.say(self.get(fact::SOURCE).map(|source| format!("mounted from {source}")));
        }
        self.pool();
        let profiles = self.get(fact::DATA_PROFILE).zip(self.get(fact::METADATA_PROFILE));
        self.say(profiles.map(|(data, metadata)| format!("data {data}, metadata {metadata}")));
        self.say(self.get("checksum").map(|sum| format!("checksum {sum}")));
        self.degraded();
        self.line();
        self.toned(self.get(fact::OPTIONS).map(|options| options.replace(',', ", ")), Tone::Dim);
    }

    /// The server, and whether it is this machine.
    fn server(&self) -> Option<String> {
        let here = self.get(fact::SERVER_HERE).map_or("", |_| " (this machine)");
        self.get(fact::SERVER).map(|server| format!("{server}{here}"))
    }

    fn pool(&mut self) {
        let Some(pool) = self.get(fact::POOL) else { return };
        self.say(format!("dataset {} of pool {pool}", self.get(fact::SOURCE).unwrap_or(pool)));
        match self.get(fact::POOL_STATE) {
            Some("ONLINE") => self.say("online".to_owned()),
            state => self.warn(state.map(|state| format!("pool is {state}"))),
        }
        self.line();
        let layout = self
            .get(fact::POOL_LAYOUT)
            .map(|layout| layout.split("; ").map(str::to_owned).collect::<Vec<_>>());
        layout.into_iter().flatten().for_each(|group| self.say(group));
    }

    fn degraded(&mut self) {
        self.warn(
            self.number(fact::DEGRADED)
                .filter(|n| *n > 0)
                .map(|n| format!("DEGRADED: {n} of its members missing")),
        );
    }

    fn crypt(&mut self) {
        self.say(format!("{} encryption", self.get(fact::ENCRYPTION).unwrap_or("dm-crypt")));
        self.say(self.size());
        self.say(self.get(fact::MAPPING).map(|name| format!("mapped as {name}")));
        self.line();
        let key =
            self.number(fact::KEY_BITS).map_or_else(String::new, |bits| format!(", key of {bits} bits"));
        self.say(self.get(fact::CIPHER).map(|cipher| format!("{cipher}{key}")));
        let rates = self.number(fact::ENCRYPTION_RATE).zip(self.number(fact::DECRYPTION_RATE));
        self.say(rates.map(|(encrypts, decrypts)| {
            let rate = |bytes: u64| display_rate(bytes as f64, self.units);
            format!("a core encrypts {} and decrypts {} in memory", rate(encrypts), rate(decrypts))
        }));
        self.say(self.exact(fact::CRYPT_SECTOR).map(|sector| format!("sectors of {sector}")));
        self.say(self.get(fact::ENCRYPTION_OPTIONS).map(|options| options.replace(',', ", ")));
        self.discards();
    }

    fn raid(&mut self) {
        let level = self.get(fact::LEVEL).unwrap_or("array");
        let members = self.number(fact::MEMBERS).map_or_else(String::new, |n| format!(" of {n} members"));
        self.say(format!("{}{members}", level_name(level)));
        self.say(self.size());
        self.say(self.exact(fact::CHUNK).map(|chunk| format!("chunks of {chunk}")));
        self.degraded();
        self.warn(self.get(fact::FAILED_MEMBERS).map(|names| format!("failed: {names}")));
        match self.get(fact::SYNC_ACTION) {
            Some("idle") | None => {}
            action => self.warn(action.map(|action| match action {
                "recover" => "recovering onto a spare".to_owned(),
                "resync" | "check" | "repair" | "reshape" => format!("{action} in progress"),
                other => format!("sync action {other}"),
            })),
        }
        self.line();
        self.say(self.get(fact::STATE).map(|state| format!("state {state}")));
        self.say(self.get(fact::BITMAP).map(|_| "with a write-intent bitmap".to_owned()));
        self.say(self.get(fact::SPARES).map(|names| format!("spare: {names}")));
        self.volume();
        self.discards();
    }

    fn volume(&mut self) {
        let volume = self.get(fact::GROUP).zip(self.get(fact::VOLUME));
        self.say(volume.map(|(group, volume)| format!("volume {volume} of group {group}")));
    }

    fn mapped(&mut self) {
        let table = self.get(fact::TABLE);
        let is_lvm = self.facts.contains_key(fact::GROUP);
        self.say(match (is_lvm, table) {
            (true, Some("linear") | None) => "LVM".to_owned(),
            (true, Some(table)) => format!("LVM, {table}"),
            (false, Some("bcache")) => "bcache".to_owned(),
            (false, Some(table)) => format!("device mapper, {table}"),
            (false, None) => "device mapper".to_owned(),
        });
        if is_lvm {
            self.volume();
        } else {
            self.say(self.get(fact::MAPPING).map(|name| format!("mapped as {name}")));
        }
        self.say(self.size());
        self.say(self.number(fact::PATHS).map(|paths| format!("{paths} paths")));
        self.say(self.get("cache mode").map(|mode| format!("cache mode {mode}")));
        self.warn(self.get("suspended").map(|_| "suspended".to_owned()));
        self.line();
        self.discards();
    }

    fn partition(&mut self) {
        self.say(self.get(fact::PARTITION).map(|number| format!("partition {number}")));
        self.say(self.size());
        self.say(self.get("label").map(|label| format!("called {label}")));
        let alignment = self.number(fact::ALIGNMENT);
        let block = self.number(fact::PHYSICAL_BLOCK).unwrap_or(4096);
        let words = |at: u64| format!("aligned to {}", ExactSize(at));
        match alignment {
            Some(at) if at < block => {
                let text = format!("MISALIGNED: starts within a block of {}", ExactSize(block));
                self.warn(text);
            }
            alignment => self.say(alignment.map(words)),
        }
    }

    fn looped(&mut self) {
        self.say("loop device".to_owned());
        self.say(self.size());
        self.say(self.get(fact::BACKING_FILE).map(|file| format!("file {file}")));
        self.line();
        self.say(self.get(fact::LOOP_DIRECT).map(|direct| {
            if direct == "1" { "direct I/O to the file" } else { "through the page cache of the file" }
                .to_owned()
        }));
        self.queue();
    }

    fn disk(&mut self) {
        self.say(disk_kind(self.facts));
        let name = match (self.get(fact::VENDOR), self.get(fact::MODEL).or(self.get(fact::CARD_NAME))) {
            (Some(vendor), Some(model)) if !model.starts_with(vendor) => Some(format!("{vendor} {model}")),
            (_, Some(model)) => Some(model.to_owned()),
            (vendor, None) => vendor.map(str::to_owned),
        };
        self.say(name);
        self.say(self.size());
        self.say(self.get(fact::PARTITIONS).map(|names| format!("partitions {names}")));
        self.warn(self.get(fact::STATE).map(|state| format!("state {state}")));
        self.warn(self.get(fact::READ_ONLY).map(|_| "read-only".to_owned()));
        self.line();
        self.link();
        self.identity();
        self.line();
        self.queue();
        self.line();
        self.health();
    }

    fn link(&mut self) {
        let (speed, highest) = (self.number(fact::LINK_SPEED), self.number(fact::HIGHEST_LINK_SPEED));
        let slower = speed.zip(highest).is_some_and(|(now, most)| now < most);
        let text = speed.map(|bits| self.link_words(bits, fact::LANES));
        let most = highest
            .filter(|_| slower)
            .map(|bits| format!(", although it supports {}", self.link_words(bits, fact::HIGHEST_LANES)));
        let tone = if slower { Tone::Bad } else { Tone::Plain };
        self.toned(text.map(|text| format!("{text}{}", most.unwrap_or_default())), tone);
        // A USB 3 device reports version 2.1 if it runs at USB 2 speed; few other devices do.
        let short =
            speed == Some(480_000_000) && self.get("USB version").is_some_and(|v| v.starts_with("2.1"));
        let hint =
            short.then(|| "USB 2 speed, although its version 2.1 suggests support for USB 3".to_owned());
        self.toned(hint, Tone::Open);
        let behind = self.number(fact::DISK_LINK_SPEED).zip(self.number(fact::DISK_HIGHEST_LINK_SPEED));
        self.say(
            behind
                .filter(|_| speed.is_none())
                .map(|(now, most)| format!("disk at {} of {}", bits_words(now), bits_words(most))),
        );
        self.warn(behind.filter(|(now, most)| speed.is_some() && now < most).map(|(now, most)| {
            format!("the disk's own link at {} of {}", bits_words(now), bits_words(most))
        }));
        let bridge = self.get(fact::BRIDGE_NAME).zip(self.get(fact::BRIDGE));
        self.say(
            bridge
                .map(|(name, id)| format!("bridge {name} ({id})"))
                .or_else(|| self.get(fact::BRIDGE).map(|id| format!("bridge {id}"))),
        );
        self.say(self.get(fact::BUS_MODE).map(|mode| format!("bus mode {mode}")));
        let port = self.get("port").map_or_else(String::new, |port| format!(" port {port}"));
        self.say(self.server().map(|server| format!("server {server}{port}")));
        self.say(self.get(fact::ISCSI_TARGET).map(|name| format!("target {name}")));
        match self.get(fact::SESSION) {
            Some("LOGGED_IN") => self.say("logged in".to_owned()),
            state => self.warn(state.map(|state| format!("session {state}"))),
        }
        self.say(self.number(fact::PATHS).map(|paths| format!("{paths} paths")));
        self.warn(self.number(fact::PATHS_LOST).map(|lost| format!("{lost} of them lost")));
        self.say(self.get(fact::DRIVER).map(|driver| format!("driver {driver}")));
    }

    fn link_words(&self, bits: u64, lanes: &str) -> String {
        match self.number(lanes).filter(|lanes| *lanes > 0) {
            Some(lanes) => format!("PCIe {} GT/s × {lanes}", decimal(bits as f64 / lanes as f64 / 1e9)),
            None => bits_words(bits),
        }
    }

    fn identity(&mut self) {
        self.say(self.get(fact::FIRMWARE).map(|firmware| format!("firmware {firmware}")));
        self.say(self.get(fact::SERIAL).map(|end| format!("serial …{end}")));
        self.say(match self.get(fact::ROTATION_RATE) {
            Some("none") => Some("does not rotate".to_owned()),
            rate => rate.map(|rate| format!("{rate} rpm")),
        });
        let maker = self.get(fact::CARD_MAKER).map(|maker| {
            let oem = self.get("oemid").map_or_else(String::new, |oem| format!("/{oem}"));
            format!("maker {maker}{oem}")
        });
        self.say(maker);
        self.say(self.get(fact::CARD_DATE).map(|date| format!("made {date}")));
        self.say(self.get(fact::SPEED_CLASSES).map(|classes| format!("says {classes}")));
        let told = self.number("capacity by CSD").map(|bytes| display_bytes(bytes, self.units));
        self.warn(told.map(|told| format!("its register says {told}")));
        self.say(self.get(fact::COMPRESSION).map(|how| format!("compressed by {how}")));
        self.say(self.get(fact::BACKING_FILE).map(|file| format!("backed by {file}")));
        self.say(self.get(fact::POOL).map(|pool| format!("pool {pool}")));
        self.say(self.get(fact::ZONED).map(|kind| format!("zoned, {kind}")));
    }

    fn queue(&mut self) {
        self.say(self.get(fact::SCHEDULER).map(|name| format!("scheduler {name}")));
        let requests = self.get(fact::REQUESTS).map(|n| format!("{n} requests"));
        let largest = self.exact(fact::LARGEST_REQUEST).map(|size| format!("of at most {size}"));
        self.say(requests.map(|n| largest.map_or(n.clone(), |largest| format!("{n} {largest}"))));
        self.say(self.number(fact::DEVICE_DEPTH).map(|depth| format!("device takes {depth}")));
        let (logical, physical) = (self.exact(fact::LOGICAL_BLOCK), self.exact(fact::PHYSICAL_BLOCK));
        self.say(match (logical, physical) {
            (Some(logical), Some(physical)) if logical != physical => {
                Some(format!("blocks of {logical}, physically {physical}"))
            }
            (logical, physical) => logical.or(physical).map(|size| format!("blocks of {size}")),
        });
        self.say(self.exact(fact::OPTIMAL_IO).map(|size| format!("best I/O size {size}")));
        self.say(self.get(fact::WRITE_CACHE).map(|cache| format!("cache {cache}")));
        self.discards();
        let us = self.number(fact::WRITEBACK_THROTTLING).filter(|us| *us > 0);
        self.say(us.map(|us| format!("write-back throttled above {} ms", decimal(us as f64 / 1e3))));
    }

    fn discards(&mut self) {
        let granularity = self.number(fact::DISCARD);
        self.say(granularity.map(|bytes| match bytes {
            0 => "no discard".to_owned(),
            bytes => format!("discards {}", ExactSize(bytes)),
        }));
    }

    fn health(&mut self) {
        self.say(self.get(fact::SLEEPING).map(|_| "asleep, and not woken".to_owned()));
        match self.get(fact::HEALTH) {
            Some("failed") => self.warn("SMART: FAILING".to_owned()),
            health => self.say(health.map(|health| format!("SMART {health}"))),
        }
        self.say(self.get(fact::TEMPERATURE).map(|celsius| format!("{celsius} °C")));
        self.say(self.get(fact::WEAR).map(|percent| format!("{percent} % of its life used")));
        self.say(self.get(fact::HOURS).map(|hours| format!("ran {hours} h")));
        for (name, what) in [
            (fact::MEDIA_ERRORS, "media errors"),
            (fact::REALLOCATED, "sectors reallocated"),
            (fact::PENDING, "sectors unreadable"),
            (fact::LINK_ERRORS, "cable errors"),
        ] {
            self.warn(self.number(name).filter(|n| *n > 0).map(|n| format!("{n} {what}")));
        }
    }
}

/// The kind of a disk in two words.
pub(crate) fn disk_kind(facts: &BTreeMap<String, String>) -> String {
    let get = |name: &str| facts.get(name).map(String::as_str);
    let rotates = get(fact::ROTATION_RATE);
    match get(fact::LINK) {
        Some("nvme") => match get(fact::TRANSPORT) {
            Some("pcie") | None => "NVMe disk".to_owned(),
            Some(transport) => format!("NVMe over {transport}"),
        },
        Some("ata") => match rotates {
            Some("none") => "SATA SSD".to_owned(),
            Some(_) => "SATA hard disk".to_owned(),
            None => "SATA disk".to_owned(),
        },
        Some("mmc") => match get(fact::CARD) {
            Some("MMC") => "eMMC".to_owned(),
            _ => "SD card".to_owned(),
        },
        Some("usb") => "USB disk".to_owned(),
        Some("iscsi") => "iSCSI disk".to_owned(),
        Some("sas") => "SAS disk".to_owned(),
        Some("fc") => "Fibre Channel disk".to_owned(),
        Some("scsi") => match rotates {
            Some("none") => "SCSI SSD".to_owned(),
            Some(_) => "SCSI hard disk".to_owned(),
            None => "SCSI disk".to_owned(),
        },
        Some("zram") => "compressed memory".to_owned(),
        Some("ram") => "memory".to_owned(),
        Some("pmem") => "persistent memory".to_owned(),
        Some("null") => "null device".to_owned(),
        Some(other) => format!("{other} disk"),
        None => "disk".to_owned(),
    }
}

/// `RAID 1` for `raid1`.
fn level_name(level: &str) -> String {
    match level.strip_prefix("raid") {
        Some(number) if !number.is_empty() => format!("RAID {number}"),
        _ => level.to_owned(),
    }
}

/// A rate on a wire, such as `480 Mb/s`.
pub(crate) fn bits_words(bits: u64) -> String {
    match bits {
        1_000_000_000.. => format!("{} Gb/s", decimal(bits as f64 / 1e9)),
        _ => format!("{} Mb/s", decimal(bits as f64 / 1e6)),
    }
}

/// With one decimal, unless that is zero.
fn decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    text.trim_end_matches(".0").to_owned()
}
