//! Ctrl-C: once to finish with what there is, twice to stop at once. Either way nothing stays behind; a third time leaves
//! what is not yet removed to `clean`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::failure::INTERRUPTED;
use crate::output;

/// So long may removing test files take when everything is to stop at once: a device may hang.
const REMOVAL: Duration = Duration::from_secs(60);

/// How long workers may take to close their files and rings when everything is to stop at once: what is open may keep a
/// directory from being removed, and what a ring holds when the process ends stays open in the kernel for a while, so that
/// its filesystem cannot be unmounted.
const RELEASE: Duration = Duration::from_secs(2);

/// Watches for signals from now on. The returned flag is set by the first.
///
/// # Errors
/// The kernel's, if the signals cannot be had.
pub fn watch() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watched = Arc::clone(&flag);
    std::thread::Builder::new().name("lodestone-signals".into()).spawn(move || {
        for (before, _) in signals.forever().enumerate() {
            watched.store(true, Ordering::Relaxed);
            match before {
                0 => output::say("\nstopping; once more to stop at once"),
                1 => {
                    output::say("removing test files; once more to leave them to `lodestone clean`");
                    // What still writes into them would make them anew.
                    host::programs::kill_all();
                    std::thread::spawn(|| {
                        host::testfiles::remove_private_directories(RELEASE);
                        engine::release::await_rings(RELEASE);
                        end();
                    });
                    std::thread::spawn(|| {
                        std::thread::sleep(REMOVAL);
                        end();
                    });
                }
                _ => {
                    host::programs::kill_all();
                    end()
                }
            }
        }
    })?;
    Ok(flag)
}

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail with `EFBIG`, which names what was written, instead
/// of ending the process without a word. A handler does that, and programs started from here do not inherit it.
///
/// # Errors
/// The kernel's.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

fn end() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}
