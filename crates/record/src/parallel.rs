//! The same work on many items, on all processors.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// What `work` makes of each item, in the order of the items.
///
/// # Errors
/// A failure of `work`; no further item is begun then.
pub fn try_in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let own_part = || {
        let mut done = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            let result = work(item);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((number, result));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(items.len());
    let mut all = thread::scope(|scope| {
        // This thread works, too: a single item, or a single processor, needs no other.
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(own_part)).collect();
        let mut all = own_part();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

/// What `work` makes of each item, in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Ok(all) = try_in_parallel(items, |item| Ok::<_, Infallible>(work(item)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_results_are_in_order() {
        let items: Vec<u32> = (0..1000).collect();
        assert_eq!(in_parallel(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert!(in_parallel(&[], |n: &u32| *n).is_empty());
    }

    #[test]
    fn a_failure_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let items: Vec<usize> = (0..100_000).collect();
        let result = try_in_parallel(&items, |n| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *n == 10 { Err("ten") } else { Ok(()) }
        });
        assert_eq!(result, Err("ten"));
        assert!(begun.into_inner() < items.len());
    }
}
