//! Ctrl-C: the first ends the run with its results so far, the second stops at once. Both remove all test files; the
//! third leaves the remaining ones to `clean`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::failure::INTERRUPTED;
use crate::output;

/// Time limit for removing test files on an immediate stop: a device may hang.
const REMOVAL: Duration = Duration::from_secs(60);

/// How long workers may take to close their files and rings on an immediate stop: open files can prevent the removal
/// of a directory, and the kernel keeps the files of a ring open for a while after the process ends, so that the
/// filesystem cannot be unmounted.
const RELEASE: Duration = Duration::from_secs(2);

/// Watches for signals from now on. The first one sets the returned flag.
///
/// # Errors
/// The kernel's error, if the signals cannot be watched.
pub fn watch() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watched = Arc::clone(&flag);
    std::thread::Builder::new().name("lodestone-signals".into()).spawn(move || {
        for (before, _) in signals.forever().enumerate() {
            watched.store(true, Ordering::Relaxed);
            match before {
                0 => output::say("\nstopping; press Ctrl-C again to stop at once"),
                1 => {
                    output::say("removing test files; press Ctrl-C again to leave them to `lodestone clean`");
                    // A running program would create files again.
                    host::programs::kill_all();
                    std::thread::spawn(|| {
                        host::testfiles::remove_private_directories(RELEASE);
                        engine::release::await_rings(RELEASE);
                        host::stacks::remove_living();
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

/// Makes a write beyond the file size limit (`ulimit -f`) fail with `EFBIG`, which can be reported, instead of
/// killing the process silently. This uses a signal handler, which child processes do not inherit.
///
/// # Errors
/// The kernel's error.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

fn end() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}
