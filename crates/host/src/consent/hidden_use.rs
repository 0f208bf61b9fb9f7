//! Lodestone used to overwrite an image under a loop device while it was the external log of a mounted xfs, the
//! external journal of a mounted ext4, or mounted in another mount namespace: the user had named the loop device over
//! the file, but Lodestone did not claim it. These tests cover every way to the same bytes that loop devices allow.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Consent, Refusal, ask};
use crate::Roots;
use crate::testing::{LoopDevice, Mounted, Namespace, assert_can_be_claimed, exclusively, tool};

/// Size of an image in bytes, enough for xfs.
const SIZE: u64 = 320 << 20;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn image(&self, name: &str) -> PathBuf {
        File::create(self.path(name)).unwrap().set_len(SIZE).unwrap();
        self.path(name)
    }

    fn directory(&self, name: &str) -> PathBuf {
        fs::create_dir(self.path(name)).unwrap();
        self.path(name)
    }
}

/// A loop device over an image with ext4, and a directory to mount it on.
struct Ext4 {
    device: LoopDevice,
    image: PathBuf,
    point: PathBuf,
    scratch: Scratch,
}

impl Ext4 {
    /// `None` if this machine cannot make it.
    fn in_image(name: &str) -> Option<Self> {
        let scratch = Scratch::new();
        let (image, point) = (scratch.image(name), scratch.directory("point"));
        tool("mkfs.ext4", &["-q", "-F", text(&image)])?;
        Some(Self { device: LoopDevice::over(&image)?, image, point, scratch })
    }

    /// The two targets by which a user reaches its bytes, each with what must be named for it.
    fn targets(&self) -> [(&Path, &str); 2] {
        [(&self.image, &self.device.path), (Path::new(&self.device.path), "ext2/3/4")]
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn consent(target: &Path, named: &[&str]) -> Result<Consent, Refusal> {
    consent_by(&Roots::default(), target, named)
}

fn consent_by(roots: &Roots, target: &Path, named: &[&str]) -> Result<Consent, Refusal> {
    let named: Vec<String> =
        [text(target)].into_iter().chain(named.iter().copied()).map(str::to_owned).collect();
    ask(roots, target, &named)
}

/// Waits for consent to what nothing uses any more: the kernel may still be unmounting, and a program that another test
/// is just starting may briefly hold a copy of a claim.
#[track_caller]
fn once_free(request: impl Fn() -> Result<Consent, Refusal>) -> Consent {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match request() {
            Ok(consent) => return consent,
            Err(refusal) => assert!(Instant::now() < deadline, "still refused: {refusal}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn missing(result: Result<Consent, Refusal>) -> Vec<String> {
    match result {
        Err(Refusal::Occupied { missing, .. }) => missing,
        other => panic!("{other:?}"),
    }
}

#[test]
fn external_log_of_a_mounted_xfs_is_refused() {
    let scratch = Scratch::new();
    let (data, log, point) = (scratch.image("data"), scratch.image("log"), scratch.directory("point"));
    let Some(log_loop) = LoopDevice::over(&log) else { return };
    let Some(data_loop) = LoopDevice::over(&data) else { return };
    let option = format!("logdev={}", log_loop.path);
    if tool("mkfs.xfs", &["-q", "-f", "-l", &format!("{option},size=64m"), &data_loop.path]).is_none() {
        return;
    }
    {
        let Some(_mounted) = Mounted::on(&point, &["-o", &option, &data_loop.path]) else { return };
        assert_eq!(missing(consent(&log, &[&log_loop.path])), [text(&point)]);
    }
    // A file that nothing uses needs no further name.
    drop(once_free(|| consent(&log, &[&log_loop.path])));
    assert_eq!(missing(consent(Path::new(&log_loop.path), &[])), ["xfs log"]);
}

#[test]
fn external_journal_of_a_mounted_ext4_is_refused() {
    let scratch = Scratch::new();
    let (data, journal, point) =
        (scratch.image("data"), scratch.image("journal"), scratch.directory("point"));
    let Some(journal_loop) = LoopDevice::over(&journal) else { return };
    let Some(data_loop) = LoopDevice::over(&data) else { return };
    let option = format!("device={}", journal_loop.path);
    if tool("mke2fs", &["-q", "-F", "-b", "4096", "-O", "journal_dev", &journal_loop.path]).is_none()
        || tool("mke2fs", &["-q", "-F", "-t", "ext4", "-b", "4096", "-J", &option, &data_loop.path]).is_none()
    {
        return;
    }
    {
        let Some(_mounted) = Mounted::on(&point, &[&data_loop.path]) else { return };
        let message = consent(&journal, &[&journal_loop.path]).unwrap_err();
        assert!(
            matches!(&message, Refusal::InUse { device, .. } if *device == journal_loop.path),
            "{message}"
        );
        assert!(message.to_string().contains("the external journal of a mounted filesystem"), "{message}");
    }
    drop(once_free(|| consent(&journal, &[&journal_loop.path])));
    assert_eq!(missing(consent(Path::new(&journal_loop.path), &[])), ["external journal"]);
}

#[test]
fn mount_in_another_namespace_must_be_named() {
    let Some(ext4) = Ext4::in_image("image") else { return };
    let Ext4 { device, image, point, .. } = &ext4;
    let Some(other) = Namespace::with(&format!("mount {} {}", device.path, text(point))) else { return };
    let mounted = format!("/proc/{}/root{}", other.process(), text(point));
    for (target, named) in ext4.targets() {
        let refusal = consent(target, &[named]).unwrap_err();
        assert!(refusal.to_string().contains("mounted in another mount namespace"), "{refusal}");
        assert_eq!(missing(Err(refusal)), [mounted.as_str()]);
        // In this namespace, the path is another directory.
        assert_eq!(missing(consent(target, &[named, text(point)])), [mounted.as_str()]);
        assert!(consent(target, &[named, &mounted]).is_ok());
    }
    drop(other);
    drop(once_free(|| consent(image, &[&device.path])));
}

#[test]
fn use_hidden_from_proc_is_found_by_the_claim() {
    let Some(ext4) = Ext4::in_image("image") else { return };
    let Ext4 { device, image, point, scratch } = &ext4;
    let Some(mounted) = Mounted::on(point, &[&device.path]) else { return };
    let blind = Roots { proc: scratch.directory("proc"), ..Roots::default() };
    for (target, named) in ext4.targets() {
        let refusal = consent_by(&blind, target, &[named]).unwrap_err();
        assert!(matches!(&refusal, Refusal::InUse { device: d, .. } if *d == device.path), "{refusal}");
        assert!(refusal.to_string().contains("a mount in another mount namespace"), "{refusal}");
    }
    drop(mounted);
    drop(once_free(|| consent_by(&blind, image, &[&device.path])));
}

#[test]
fn loop_device_over_the_file_is_claimed_with_it() {
    let scratch = Scratch::new();
    let image = scratch.image("image");
    let Some(device) = LoopDevice::over(&image) else { return };
    let held = consent(&image, &[&device.path]).unwrap();
    assert_eq!(exclusively(&device.path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    drop(held);
    assert_can_be_claimed(&device.path);
}

#[test]
fn second_loop_device_and_its_mount_must_be_named() {
    let scratch = Scratch::new();
    let (image, point) = (scratch.image("image"), scratch.directory("point"));
    let half = (SIZE / 2).to_string();
    let part = |options: &[&str]| LoopDevice::with(&image, &[&["--sizelimit", &half], options].concat());
    let Some(device) = part(&[]) else { return };
    let Some(same) = part(&[]) else { return };
    let Some(behind) = part(&["--offset", &half]) else { return };
    if tool("mkfs.ext4", &["-q", "-F", &same.path]).is_none() {
        return;
    }
    let target = Path::new(&device.path);
    let Some(_mounted) = Mounted::on(&point, &[&same.path]) else { return };
    assert_eq!(missing(consent(target, &["ext2/3/4"])), [same.path.as_str(), text(&point)]);
    assert!(consent(target, &["ext2/3/4", &same.path, text(&point)]).is_ok());
    assert!(consent(Path::new(&behind.path), &[]).is_ok(), "nothing uses the other half");
}

#[test]
fn mounted_device_below_a_loop_device_is_refused() {
    let Some(Ext4 { device: below, point, .. }) = &Ext4::in_image("image") else { return };
    let Some(above) = LoopDevice::over(Path::new(&below.path)) else { return };
    let target = Path::new(&above.path);
    {
        let Some(_mounted) = Mounted::on(point, &[&below.path]) else { return };
        assert_eq!(missing(consent(target, &["ext2/3/4"])), [text(point)]);
    }
    let _held = once_free(|| consent(target, &["ext2/3/4"]));
    assert_eq!(exclusively(&below.path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
}

/// The refusal used to list swap twice: once as in use and once as a signature.
#[test]
fn swap_in_use_is_listed_once() {
    let scratch = Scratch::new();
    let image = scratch.image("image");
    if tool("mkswap", &[text(&image)]).is_none() {
        return;
    }
    let Some(device) = LoopDevice::over(&image) else { return };
    let proc = scratch.directory("proc");
    fs::write(proc.join("swaps"), format!("Filename Type\n{} partition 100 0 -2\n", device.path)).unwrap();
    let roots = Roots { proc, ..Roots::default() };
    let message = consent_by(&roots, Path::new(&device.path), &[]).unwrap_err().to_string();
    assert!(message.contains("it holds swap (in use); to destroy"), "{message}");
    assert!(message.ends_with(&format!("--overwrite {},swap", device.path)), "{message}");
}

#[test]
fn names_already_given_stay_in_the_advice() {
    let Some(Ext4 { device, image, point, scratch }) = &Ext4::in_image("an, image") else { return };
    let Some(_mounted) = Mounted::on(point, &[&device.path]) else { return };
    let message = consent(image, &[&device.path]).unwrap_err().to_string();
    let advice =
        format!(r"--overwrite '{}\, image,{},{}'", text(&scratch.path("an")), device.path, text(point));
    assert!(message.ends_with(&advice), "{message}");
}
