//! Ctrl-C: once to finish with what there is, twice to stop at once. Either way nothing stays behind.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::INTERRUPTED;
use crate::output;

/// So long may removing test files take when everything is to stop at once.
const REMOVAL: Duration = Duration::from_secs(5);

/// Watches for signals from now on. The returned flag is set by the first.
///
/// # Errors
/// The kernel's, if the signals cannot be had.
pub fn watch() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watched = Arc::clone(&flag);
    std::thread::Builder::new().name("lodestone-signals".into()).spawn(move || {
        for _ in signals.forever() {
            if watched.swap(true, Ordering::Relaxed) {
                // Not waited for long: a device that hangs would keep the process from ending.
                let (done, is_done) = std::sync::mpsc::channel();
                std::thread::spawn(move || {
                    host::testfiles::remove_private_directories();
                    done.send(())
                });
                let _ = is_done.recv_timeout(REMOVAL);
                std::process::exit(i32::from(INTERRUPTED));
            }
            output::say("\nstopping; once more to stop at once");
        }
    })?;
    Ok(flag)
}
