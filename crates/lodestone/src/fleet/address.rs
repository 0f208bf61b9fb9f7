//! Targets on other machines, as they are named, and how these are reached.

use std::ffi::OsStr;
use std::path::Path;

use model::shell_word;

/// A path on another machine: of a target, or of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemotePath {
    /// What the user calls it.
    pub name: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// The path there; empty for the directory in which its programs start.
    pub path: String,
}

/// A machine, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Who is to log in.
    pub user: Option<String>,
    /// Name or address, an address of IPv6 without brackets.
    pub host: String,
    /// The port of its SSH server.
    pub port: Option<u16>,
}

impl Machine {
    /// True if no program takes it for one of its options, or for anything but a name.
    pub fn is_plain(&self) -> bool {
        let is_word = |word: &str| {
            !word.is_empty()
                && !word.starts_with('-')
                && word.chars().all(|c| c.is_alphanumeric() || "._-:%\\".contains(c))
        };
        is_word(&self.host) && self.user.as_deref().is_none_or(is_word)
    }

    /// `user@host`, or only the host.
    pub fn words(&self) -> String {
        match &self.user {
            Some(user) => format!("{user}@{}", self.host),
            None => self.host.clone(),
        }
    }

    /// What a path on it begins with.
    pub fn prefix(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let words = Self { host, ..self.clone() }.words();
        self.port.map_or_else(|| format!("{words}:"), |port| format!("ssh://{words}:{port}"))
    }
}

impl RemotePath {
    /// `[NAME=][USER@]HOST:PATH` or `[NAME=]ssh://[USER@]HOST[:PORT]/PATH`; `None` for a path on this machine, which is one
    /// that exists, or one with a slash before its first colon.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(named: &OsStr) -> Result<Option<Self>, String> {
        let Some(text) = named.to_str() else { return Ok(None) };
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if !name.is_empty() && !name.contains(['/', ':']) => (Some(name), rest),
            _ => (None, text),
        };
        if Path::new(text).exists() || Path::new(rest).exists() {
            return Ok(None);
        }
        let wrong = |what: &str| format!("`{text}` {what}; write HOST:PATH or ssh://HOST:PORT/PATH");
        let (authority, port, path) = match rest.strip_prefix("ssh://") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let (authority, port) = with_port(authority).ok_or_else(|| wrong("has no valid port"))?;
                (authority, port, path)
            }
            None => {
                let end = rest.find("]:").map_or_else(|| rest.find(':'), |end| Some(end + 1));
                let Some(end) = end.filter(|end| !rest[..*end].contains('/')) else { return Ok(None) };
                (&rest[..end], None, &rest[end + 1..])
            }
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let machine = Machine { user: user.map(str::to_owned), host: host.to_owned(), port };
        if !machine.is_plain() {
            return Err(wrong("does not name a machine"));
        }
        Ok(Some(Self { name: name.map(str::to_owned), machine, path: path.to_owned() }))
    }
}

/// `host:22` or `host`; `None` if what stands for the port is none.
fn with_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_address = authority.rfind(']').unwrap_or(0);
    match authority[after_address..].find(':') {
        Some(colon) => {
            let (host, port) = authority.split_at(after_address + colon);
            Some((host, Some(port[1..].parse().ok()?)))
        }
        None => Some((authority, None)),
    }
}

/// What stands for the machine in a command that connects to it.
const HOST: &str = "{host}";

/// The program that connects if nothing else is said.
const SSH: &str = "ssh";

/// Short names of commands that connect.
pub(crate) const CONNECTIONS: [(&str, &str); 6] = [
    ("docker", "docker exec -i {host}"),
    ("podman", "podman exec -i {host}"),
    ("kubectl", "kubectl exec -i {host} --"),
    ("lxc", "lxc exec -T {host} --"),
    ("srun", "srun --quiet --nodes=1 --ntasks=1 --nodelist={host}"),
    ("sudo", "sudo -n -u {host}"),
];

/// How machines are reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// For one machine, or for all others.
    commands: Vec<(Option<String>, String)>,
}

impl Connections {
    /// From `COMMAND`, for all machines, and `HOST=COMMAND`, for one. A command is one of [`CONNECTIONS`], `ssh` with
    /// options, or words separated by blanks, with `{host}` for the machine.
    pub fn new(given: &[String]) -> Self {
        let parse = |text: &String| match text.split_once('=') {
            Some((host, command)) if !host.contains(char::is_whitespace) && !host.contains('{') => {
                (Some(host.to_owned()), command.to_owned())
            }
            _ => (None, text.clone()),
        };
        Self { commands: given.iter().map(parse).collect() }
    }

    /// Checks that each machine that has a command of its own is one of these.
    ///
    /// # Errors
    /// What is wrong: `absent` one of them.
    pub fn check<'a>(
        &self,
        machines: impl Iterator<Item = &'a Machine> + Clone,
        absent: &str,
    ) -> Result<(), String> {
        for name in self.commands.iter().filter_map(|(host, _)| host.as_deref()) {
            if !machines.clone().any(|machine| machine.words() == name) {
                return Err(format!("--connect {name}=…: {absent} `{name}`"));
            }
        }
        Ok(())
    }

    /// The command that connects to a machine, for which an inventory may have one.
    pub fn to(&self, machine: &Machine, listed: Option<&str>) -> Connection {
        let own = self.commands.iter().rfind(|(host, _)| host.as_deref() == Some(&machine.words()));
        let general =
            || self.commands.iter().rfind(|(host, _)| host.is_none()).map(|(_, command)| command.as_str());
        let command =
            own.map(|(_, command)| command.as_str()).or(listed).or_else(general).unwrap_or(SSH).trim();
        let known = CONNECTIONS.iter().find(|(name, _)| *name == command);
        let command = known.map_or(command, |(_, command)| command);
        let words: Vec<&str> = command.split_whitespace().collect();
        let is_ssh = words.first().is_some_and(|program| *program == SSH || program.ends_with("/ssh"));
        let words = match words.as_slice() {
            [program, options @ ..] if is_ssh && !command.contains(HOST) => ssh(program, options, machine),
            words => words.iter().map(|word| word.replace(HOST, &machine.words())).collect(),
        };
        Connection { words, is_ssh }
    }
}

/// How a machine is reached.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    words: Vec<String>,
    is_ssh: bool,
}

impl Connection {
    /// The words that start an installed agent, where the program has this name.
    pub fn to_agent(&self, program: &str) -> Vec<String> {
        self.and(&[program, "agent"])
    }

    /// The words that take a program from their input, of this size in bytes, and start it as the agent.
    pub fn to_sent_agent(&self, bytes: usize) -> Vec<String> {
        self.and(&["sh", "-c", RECEIVE, "lodestone", &bytes.to_string()])
    }

    fn and(&self, command: &[&str]) -> Vec<String> {
        // sshd gives the words to a shell; other programs pass them on as they are.
        let word = |word: &&str| if self.is_ssh { shell_word(word) } else { (*word).to_owned() };
        self.words.iter().cloned().chain(command.iter().map(word)).collect()
    }
}

/// Takes a program from its input, as many bytes as its argument says, and runs it as the agent. What has run is not in any
/// directory any more, so nothing is left behind however it ends. Where files may not be run, the next directory is tried.
const RECEIVE: &str = r#"umask 077
for p in "$XDG_RUNTIME_DIR" "$TMPDIR" /tmp /var/tmp "$HOME"; do
  [ -n "$p" ] && d=$(mktemp -d "$p/lodestone-XXXXXXXX" 2>/dev/null) || continue
  if [ -z "$f" ]; then head -c "$1"; else cat /proc/self/fd/3; fi >"$d/p"
  chmod 700 "$d/p"; f=1
  exec 3<"$d/p"; rm -r "$d"
  if /proc/self/fd/3 --version >/dev/null 2>&1; then
    echo '{"reply":"received"}'; exec /proc/self/fd/3 agent
  fi
done
echo "the program that was sent does not run there ($(uname -m)); name one that does with --send-program=FILE" >&2
exit 126"#;

/// OpenSSH, as the user has configured it. It asks for nothing: where it has to, the keys are not set up.
fn ssh(program: &str, options: &[&str], machine: &Machine) -> Vec<String> {
    let own = ["BatchMode=yes", "ClearAllForwardings=yes", "ServerAliveInterval=5", "ServerAliveCountMax=12"];
    let own = ["-T"].into_iter().chain(own.into_iter().flat_map(|option| ["-o", option]));
    let words = [program].into_iter().chain(options.iter().copied()).chain(own);
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.extend(machine.port.into_iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
    words.extend(["--".to_owned(), machine.words()]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(Option<String>, String, Option<u16>, String)> {
        let place = RemotePath::parse(OsStr::new(text)).unwrap()?;
        Some((place.name, place.machine.words(), place.machine.port, place.path))
    }

    #[test]
    fn a_target_on_another_machine_is_named_as_with_scp() {
        let of = |name: Option<&str>, machine: &str, port: Option<u16>, path: &str| {
            Some((name.map(str::to_owned), machine.to_owned(), port, path.to_owned()))
        };
        assert_eq!(parsed("pi1:/mnt/ssd"), of(None, "pi1", None, "/mnt/ssd"));
        assert_eq!(parsed("me@pi1:data"), of(None, "me@pi1", None, "data"));
        assert_eq!(parsed("pi1:"), of(None, "pi1", None, ""));
        assert_eq!(parsed("ssd=pi1:/mnt/ssd"), of(Some("ssd"), "pi1", None, "/mnt/ssd"));
        assert_eq!(parsed("me@[fe80::1%eth0]:/x"), of(None, "me@fe80::1%eth0", None, "/x"));
        assert_eq!(parsed("ssh://me@pi1:2222/mnt"), of(None, "me@pi1", Some(2222), "/mnt"));
        assert_eq!(parsed("ssh://[::1]:22/mnt"), of(None, "::1", Some(22), "/mnt"));
        assert_eq!(parsed("ssh://pi1"), of(None, "pi1", None, ""));
        for text in ["pi1:/mnt", "me@[fe80::1%eth0]:/x", "ssh://me@pi1:2222/mnt", "ssh://[::1]:22/mnt"] {
            let place = RemotePath::parse(OsStr::new(text)).unwrap().unwrap();
            assert_eq!(place.machine.prefix() + &place.path, text);
        }
        for here in ["/mnt/a:b", "./a:b", "plain", "x=/mnt/ssd", "/"] {
            assert_eq!(parsed(here), None, "{here}");
        }
        for wrong in
            ["-oProxyCommand:/mnt", ":/mnt", "a b:/mnt", "ssh://pi:x/mnt", "-l@pi:/mnt", "ssh:///mnt"]
        {
            assert!(RemotePath::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_machine_is_reached_by_its_own_command_or_that_of_all() {
        let machine = |host: &str| Machine { user: None, host: host.into(), port: Some(22) };
        let given = ["docker", "b=nsenter --target 7 --", "c=kubectl"].map(str::to_owned);
        let connections = Connections::new(&given);
        let words = |host: &str| connections.to(&machine(host), None).to_agent("/opt/my lodestone").join("|");
        assert_eq!(words("a"), "docker|exec|-i|a|/opt/my lodestone|agent");
        assert_eq!(words("b"), "nsenter|--target|7|--|/opt/my lodestone|agent");
        assert_eq!(words("c"), "kubectl|exec|-i|c|--|/opt/my lodestone|agent");
        let there = ["a", "b", "c"].map(machine);
        assert_eq!(connections.check(there.iter(), "nobody is"), Ok(()));
        let absent = connections.check(there[..2].iter(), "nobody is").unwrap_err();
        assert_eq!(absent, "--connect c=…: nobody is `c`");
        let ssh = Connections::default().to(&machine("a"), Some("ssh -i key")).to_agent("/opt/my lodestone");
        assert!(
            ssh.ends_with(&["-p", "22", "--", "a", "'/opt/my lodestone'", "agent"].map(str::to_owned)),
            "{ssh:?}"
        );
        assert_eq!(ssh[..3], ["ssh", "-i", "key"].map(str::to_owned));
        let other = Connections::new(&["srun --nodelist={host}".to_owned()]);
        assert_eq!(other.to(&machine("n7"), None).to_agent("lodestone")[1], "--nodelist=n7");
        let own = Connections::new(&["/usr/bin/ssh -F my {host}".to_owned()]);
        assert_eq!(own.to(&machine("a"), None).to_agent("/opt/my lodestone")[4], "'/opt/my lodestone'");
    }
}
