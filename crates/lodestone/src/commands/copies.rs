//! Copies of the stores of other machines, which are brought up to date before they are used.

use std::collections::BTreeSet;
use std::thread;

use host::Roots;
use record::Store;
use twox_hash::XxHash3_64;

use super::machines::Reach;
use super::user_directory;
use crate::cli::ReachArgs;
use crate::failure::Failure;
use crate::fleet::address::{Connections, RemotePath};
use crate::fleet::protocol::StoredLog;
use crate::fleet::remote::Remote;
use crate::output;

/// The most bytes of a log that is copied, which is in memory meanwhile.
const MOST_LOG_BYTES: u64 = 512 << 20;

/// The copy of another machine's store.
pub(super) struct Copy {
    pub store: Store,
    /// It could not be brought up to date.
    pub is_old: bool,
}

/// Copies what is new in these stores of other machines, from all at the same time. Where one cannot be reached, that is said, and
/// the copy is as it was.
///
/// # Errors
/// A copy cannot be kept, or the arguments about machines are wrong.
pub(super) fn copies(stores: &[RemotePath], args: &ReachArgs) -> Result<Vec<Copy>, Failure> {
    let roots = Roots::default();
    let reach = Reach::new(&roots, args)?;
    let connections = Connections::new(&args.connect);
    let machines = stores.iter().map(|store| &store.machine);
    connections.check(machines, "no --from names a machine").map_err(Failure::usage)?;
    let one = |of: &RemotePath| {
        let store = kept(of)?;
        let name = of.machine.words();
        let connection = connections.to(&of.machine, None);
        let reached = reach.agent(&name, &connection, None, &|| false);
        let updated = reached
            .and_then(|remote| update(&store, &of.path, remote).map_err(|why| format!("{name}: {why}")));
        if let Err(why) = &updated {
            let runs = store.runs().map_err(Failure::failed)?;
            let known = match runs.len() {
                0 => "none of its runs are shown".to_owned(),
                1 => "showing the run copied earlier".to_owned(),
                n => format!("showing the {n} runs copied earlier"),
            };
            output::say(&format!("lodestone: {why}; {known}"));
        }
        Ok(Copy { store, is_old: updated.is_err() })
    };
    let joined = |thread: thread::ScopedJoinHandle<'_, Result<Copy, Failure>>| {
        thread.join().unwrap_or_else(|_| Err(Failure::failed("a copy of a store failed")))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = stores.iter().map(|of| scope.spawn(|| one(of))).collect();
        threads.into_iter().map(joined).collect()
    })
}

/// The copy of a store as it is.
fn kept(of: &RemotePath) -> Result<Store, Failure> {
    let cache = user_directory("XDG_CACHE_HOME", ".cache").ok_or_else(|| {
        Failure::usage("cannot keep copies of other machines' runs: neither XDG_CACHE_HOME nor HOME is set")
    })?;
    // Different stores have different names, whatever a filesystem makes of these words.
    let words = format!("{}:{}:{}", of.machine.words(), of.machine.port.unwrap_or(0), of.path);
    let host: String =
        of.machine.host.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect();
    let name = format!("{host}-{:016x}", XxHash3_64::oneshot(words.as_bytes()));
    Store::open(&cache.join("stores").join(name)).map_err(Failure::failed)
}

/// Makes a copy equal to the store at this path of a machine.
fn update(copy: &Store, path: &str, mut remote: Remote) -> Result<(), String> {
    let (there, warnings) = remote.logs(path)?;
    for warning in warnings {
        output::say(&format!("lodestone: {}: {warning}", remote.name));
    }
    let here = copy.runs().map_err(|error| error.to_string())?;
    let known: BTreeSet<StoredLog> = here.iter().map(Into::into).collect();
    let new = there.iter().filter(|log| !known.contains(log)).cloned();
    let (new, long): (Vec<StoredLog>, Vec<_>) = new.partition(|log| log.bytes <= MOST_LOG_BYTES);
    for log in long {
        output::say(&format!(
            "lodestone: {}: the log {} is not copied: it is longer than {} MiB",
            remote.name,
            log.file.escape_debug(),
            MOST_LOG_BYTES >> 20
        ));
    }
    remote.send_logs(&new, |log, bytes| {
        copy.copy_log(&log.file, log.modified_ns, bytes).map_err(|error| error.to_string())
    })?;
    let names: BTreeSet<&str> = there.iter().map(|log| log.file.as_str()).collect();
    for run in here.iter().filter(|run| !names.contains(run.file.as_str())) {
        copy.remove(run).map_err(|error| error.to_string())?;
    }
    Ok(())
}
