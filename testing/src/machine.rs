//! The lock on the whole machine.

use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Who has the machine.
struct Owner {
    thread: ThreadId,
    /// How many guards it has.
    guards: usize,
    /// Locked against other test programs; `None` where that is not possible.
    _file: Option<File>,
}

static OWNER: Mutex<Option<Owner>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

/// The machine, until it is dropped.
#[derive(Debug)]
pub struct WholeMachine(());

fn owner() -> MutexGuard<'static, Option<Owner>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other test has loop devices or mounts, or needs the processors undisturbed, and keeps such tests
/// waiting until the guard is dropped. A test may take it more than once.
pub fn whole_machine() -> WholeMachine {
    let me = thread::current().id();
    let mut owner = owner();
    loop {
        match &mut *owner {
            None => break,
            Some(mine) if mine.thread == me => {
                mine.guards += 1;
                return WholeMachine(());
            }
            Some(_) => owner = FREED.wait(owner).unwrap_or_else(PoisonError::into_inner),
        }
    }
    *owner = Some(Owner { thread: me, guards: 1, _file: locked_file() });
    WholeMachine(())
}

/// The file that all test programs of this user lock.
fn locked_file() -> Option<File> {
    let path = std::env::temp_dir().join("lodestone-tests.lock");
    let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
    file.lock().ok().map(|()| file)
}

impl Drop for WholeMachine {
    fn drop(&mut self) {
        let mut owner = owner();
        if let Some(mine) = &mut *owner {
            mine.guards -= 1;
            if mine.guards == 0 {
                *owner = None;
                FREED.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_thread_has_the_machine_however_often_it_takes_it() {
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _first = whole_machine();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        drop(whole_machine());
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    }
}
