//! Asking other programs: by their full path, never through a shell, and for a limited time.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::Roots;

/// More than any of them has to say.
const LONGEST: u64 = 4 << 20;
/// How often a program that has closed its output is looked at until it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// What a program said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// On its standard output.
    pub text: String,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
}

/// Where a program is; `None` if it is not installed.
pub(crate) fn find(roots: &Roots, program: &str) -> Option<PathBuf> {
    roots.programs.iter().map(|place| place.join(program)).find(|path| path.is_file())
}

/// Runs a program and returns what it said. `None` if it is not installed, cannot be started, or has not ended within
/// `patience`; then it is killed. One that hangs in the kernel, because its disk does, stays behind.
pub(crate) fn ask(roots: &Roots, program: &str, args: &[&str], patience: Duration) -> Option<Said> {
    let until = Instant::now() + patience;
    let mut child = Command::new(find(roots, program)?)
        .args(args)
        // What it says is parsed, so it must not be in the user's language.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (sender, said) = channel();
    let out = child.stdout.take()?;
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.take(LONGEST).read_to_end(&mut text);
        let _ = sender.send(text);
    });
    let text = said.recv_timeout(until.saturating_duration_since(Instant::now()));
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let text = String::from_utf8_lossy(&text.ok()?).into_owned();
                return Some(Said { text, code: status.code() });
            }
            Ok(None) if text.is_ok() && Instant::now() < until => thread::sleep(LOOK),
            _ => {
                let _ = child.kill();
                // Reaped, unless it hangs: then waiting would hang too.
                thread::sleep(LOOK);
                let _ = child.try_wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn a_program_is_asked_by_its_place_and_not_through_a_shell() {
        let tree = Tree::new();
        tree.program("teller", "it's $HOME; `id`\n", 4);
        let said = ask(&tree.roots(), "teller", &["a; b"], Duration::from_secs(30)).unwrap();
        assert_eq!(said, Said { text: "it's $HOME; `id`\n".into(), code: Some(4) });
        assert_eq!(ask(&tree.roots(), "sh", &[], Duration::from_secs(30)), None, "PATH plays no part");
    }

    #[test]
    fn one_that_does_not_end_is_given_up() {
        let roots = Roots::default();
        assert_eq!(ask(&roots, "sleep", &["1000"], Duration::from_millis(50)), None);
    }
}
