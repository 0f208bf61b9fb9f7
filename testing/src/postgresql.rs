//! A PostgreSQL server of the system's packages in a directory of its own, without any network.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{attempt, signal, skipped};

/// A server that has not answered by then never will.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_PERIOD: Duration = Duration::from_millis(20);

/// A role of this name has to give a password; all others need none.
pub const WITH_PASSWORD: &str = "careful";

/// A server. It ends with the value, and with the process.
pub struct PostgreSql {
    programs: PathBuf,
    directory: PathBuf,
    /// Its port, if it answers on the network, too: then only encrypted.
    port: Option<u16>,
    /// It waits for the disk.
    is_durable: bool,
    running: Option<(u32, JoinHandle<()>)>,
}

impl PostgreSql {
    /// A new server with no database but its own; `None`, with a report, if there is no PostgreSQL here.
    ///
    /// # Panics
    /// It is here and cannot be started.
    pub fn start() -> Option<Self> {
        Self::start_with(None, None)
    }

    /// A server in this directory that survives a power cut, as one for measurements has to.
    ///
    /// # Panics
    /// It is here and cannot be started.
    pub fn start_durable(place: &Path) -> Option<Self> {
        Self::start_with(None, Some(place))
    }

    /// A server that also answers on `localhost`, encrypted, with a certificate for that name that an authority of its own signed.
    ///
    /// # Panics
    /// PostgreSQL and openssl are here, and it cannot be started.
    pub fn start_encrypted() -> Option<Self> {
        if attempt("openssl", &["version"]).is_err() {
            skipped("needs openssl");
            return None;
        }
        // Nobody else is given this port soon: the kernel hands out others first.
        let port =
            || std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port());
        Self::start_with(Some(port().unwrap()), None)
    }

    fn start_with(port: Option<u16>, durable: Option<&Path>) -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists());
        let Some(programs) = programs else {
            skipped("needs PostgreSQL (Debian: postgresql)");
            return None;
        };
        let name = "lodestone-pg-XXXXXX";
        let directory = match durable {
            Some(place) => attempt("mktemp", &["-d", &place.join(name).display().to_string()]),
            None => attempt("mktemp", &["-d", "-t", name]),
        };
        let directory = PathBuf::from(directory.unwrap());
        let mut server = Self { programs, directory, port, is_durable: durable.is_some(), running: None };
        fs::set_permissions(&server.directory, PermissionsExt::from_mode(0o755)).unwrap();
        if let Some((user, group)) = unprivileged() {
            chown(&server.directory, Some(user), Some(group)).unwrap();
        }
        let data = server.data();
        let arguments = ["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"];
        let made = server.program("initdb", false).args(arguments).output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let rules = format!(
            "local all {WITH_PASSWORD} scram-sha-256\nlocal all all trust\nhostssl all all samehost trust\n"
        );
        fs::write(server.directory.join("data/pg_hba.conf"), rules).unwrap();
        if port.is_some() {
            server.make_certificates();
        }
        server.resume();
        Some(server)
    }

    /// An authority, a certificate of the server that it signed, and another authority.
    fn make_certificates(&self) {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let settings = "[req]\ndistinguished_name = name\n[name]\n[authority]\nbasicConstraints = critical, CA:TRUE\n\
                        [server]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost\n";
        fs::write(path("openssl.cnf"), settings).unwrap();
        let make = |name: &str, extensions: &str, more: &[&str]| {
            let (config, key, certificate) =
                (path("openssl.cnf"), path(&format!("{name}.key")), path(&format!("{name}.crt")));
            let subject = format!("/CN={name}");
            let fixed = ["req", "-x509", "-config", &config, "-extensions", extensions, "-subj", &subject];
            let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
            let files = ["-keyout", &key, "-out", &certificate];
            attempt("openssl", &[&fixed[..], &kind, &files, more].concat()).unwrap();
        };
        make("authority", "authority", &[]);
        make("other", "authority", &[]);
        make("server", "server", &["-CA", &path("authority.crt"), "-CAkey", &path("authority.key")]);
        let key = self.directory.join("server.key");
        fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
        if let Some((user, group)) = unprivileged() {
            chown(&key, Some(user), Some(group)).unwrap();
        }
    }

    /// The certificate `authority` (which signed that of the server), `other` (which did not), or `server`, as a file.
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.crt"))
    }

    /// The port on which it answers encrypted.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    fn data(&self) -> String {
        self.directory.join("data").display().to_string()
    }

    /// One of its programs, as a user that PostgreSQL accepts; with `mortal` it ends with this process.
    fn program(&self, name: &str, mortal: bool) -> Command {
        let program = self.programs.join(name);
        let mut command = match unprivileged() {
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
                command
            }
            None => Command::new("setpriv"),
        };
        if mortal {
            command.arg("--pdeathsig=QUIT");
        }
        command.arg("--").arg(program).current_dir(&self.directory);
        command
    }

    /// Starts the server that was stopped, and waits until it answers.
    ///
    /// # Panics
    /// It does not.
    pub fn resume(&mut self) {
        let mut command = self.program("postgres", true);
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.directory);
        let address = if self.port.is_some() { "localhost" } else { "" };
        command.arg("-c").arg(format!("listen_addresses={address}"));
        if let Some(port) = self.port {
            command.arg("-c").arg(format!("port={port}")).args(["-c", "ssl=on"]);
            for (setting, file) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
                command.arg("-c").arg(format!("{setting}={}", self.directory.join(file).display()));
            }
        }
        command.args(["-c", "max_connections=40"]);
        if !self.is_durable {
            // No test takes the power away.
            command.args(["-c", "fsync=off"]);
        }
        let log = fs::File::create(self.directory.join("log")).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        let (sender, receiver) = std::sync::mpsc::channel();
        // The signal comes when the thread ends that started it: this one lives as long as the server.
        let thread = std::thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            sender.send(child.id()).unwrap();
            let _ = child.wait();
        });
        self.running = Some((receiver.recv().unwrap(), thread));
        let began = Instant::now();
        while self.try_sql("postgres", "SELECT 1").is_err() {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(began.elapsed() < TIMEOUT, "PostgreSQL does not answer: {}", log());
            std::thread::sleep(POLL_PERIOD);
        }
    }

    /// Ends the server at once, as a power cut does for its clients.
    pub fn stop(&mut self) {
        if let Some((pid, thread)) = self.running.take() {
            let _ = signal(pid, "QUIT");
            let _ = thread.join();
        }
    }

    /// The directory of its socket.
    pub fn socket(&self) -> &Path {
        &self.directory
    }

    /// The address of one of its databases.
    pub fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&user=postgres", self.directory.display())
    }

    /// Makes an empty database and returns its address.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// What psql prints for a statement: rows as lines, columns separated by `|`.
    ///
    /// # Panics
    /// The statement fails.
    #[track_caller]
    pub fn sql(&self, database: &str, statement: &str) -> String {
        self.try_sql(database, statement).unwrap()
    }

    fn try_sql(&self, database: &str, statement: &str) -> Result<String, String> {
        let (program, socket) = (self.programs.join("psql"), self.directory.display().to_string());
        let port = self.port.unwrap_or(5432).to_string();
        let arguments = [
            "-X",
            "-h",
            &socket,
            "-p",
            &port,
            "-U",
            "postgres",
            "-d",
            database,
            "-v",
            "ON_ERROR_STOP=1",
            "-Atc",
        ];
        attempt(&program.display().to_string(), &[&arguments[..], &[statement]].concat())
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The user and the group as which root starts it; `None` for everybody else.
fn unprivileged() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| attempt("id", arguments).ok()?.parse::<u32>().ok();
    (id(&["-u"]) == Some(0))
        .then(|| (id(&["-u", "nobody"]).unwrap_or(65534), id(&["-g", "nobody"]).unwrap_or(65534)))
}
