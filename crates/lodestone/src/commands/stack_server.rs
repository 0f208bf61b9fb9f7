//! Stacks whose storage is on another machine, which serves it to this one: what is asked of its agent, and what that does.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::consent::{self, Consent};
use host::stacks::{Ground, Named, Request, Server, Side, StackError, Stacks, destroy, found};
use host::{Roots, boot_id, is_root};

use super::machines::Reach;
use crate::cli::ReachArgs;
use crate::failure::{FAILED, Failure, INTERRUPTED, USAGE};
use crate::fleet::address::{Connections, Machine, RemotePath};
use crate::fleet::protocol::{self, MakeStacks, Reply, StackCommands};
use crate::fleet::remote::{FOREIGN, Remote};
use crate::fleet::server::Watched;

/// How long a machine may take to remove what it has made, once it is told to stop.
const REMOVING: Duration = Duration::from_secs(120);
/// How long a server remembers a client that is gone: NFS 4 for a lease of 90 seconds, and as long again while it looks.
const FORGETTING: Duration = Duration::from_secs(200);
/// How often it is tried.
const PERIOD: Duration = Duration::from_secs(5);

/// The machine that has the storage of stacks.
pub(super) struct StackServer {
    remote: Rc<RefCell<Remote>>,
    machine: Machine,
    made: StackCommands,
}

/// The machine and the ground there, if a ground is on another machine.
///
/// # Errors
/// It does not name a machine.
pub(super) fn elsewhere(on: &str) -> Result<Option<RemotePath>, Failure> {
    if on.starts_with("image:") || on.starts_with('/') {
        return Ok(None);
    }
    let wrong = |why: String| Failure::usage(format!("--on {on}: {why}"));
    let Some(place) = RemotePath::parse(OsStr::new(on)).map_err(wrong)? else { return Ok(None) };
    if let Some(name) = &place.name {
        return Err(wrong(format!("stacks have names of their own: leave `{name}=` out")));
    }
    // As in ssh://HOST/image:4G.
    let path = match place.path.strip_prefix('/') {
        Some(image) if image.starts_with("image:") => image.to_owned(),
        _ => place.path,
    };
    Ok(Some(RemotePath { path, ..place }))
}

impl StackServer {
    /// Reaches the machine of a ground. Returns it with what is known of it, and with the ground as it was found there.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn reach(
        place: &RemotePath,
        stacks: &str,
        args: &ReachArgs,
        interrupt: &AtomicBool,
    ) -> Result<(Self, Server, Ground), Failure> {
        let (roots, name) = (Roots::default(), place.machine.words());
        let connections = Connections::new(&args.connect);
        let machines = std::iter::once(&place.machine);
        connections.check(machines, "--on does not name").map_err(Failure::usage)?;
        let connection = connections.to(&place.machine, None);
        let is_stopped = || interrupt.load(Ordering::Relaxed);
        let reached = Reach::new(&roots, args)?.agent(&name, &connection, None, &is_stopped);
        let not_reached =
            |why: String| Failure { code: stopped(interrupt).unwrap_or(USAGE), ..Failure::usage(why) };
        let remote = reached.map_err(not_reached)?;
        let remote = Rc::new(RefCell::new(remote));
        let mut server = Self { remote, machine: place.machine.clone(), made: StackCommands::default() };
        let asked = protocol::Request::FindGround { on: place.path.clone(), stacks: stacks.to_owned() };
        match server.ask(&asked, interrupt)? {
            Reply::Ground { boot, .. } if boot == boot_id() => Err(Failure::usage(format!(
                "--on: {name} is this machine: omit its name to serve over loopback"
            ))),
            Reply::Ground { ground, directory, address, .. } => {
                Ok((server, Server { name, directory, address, routes: Vec::new() }, ground))
            }
            _ => Err(Failure::failed(format!("{name}: {FOREIGN}"))),
        }
    }

    /// Makes there what is below the network.
    ///
    /// # Errors
    /// What is wrong and what to do; nothing is left there.
    pub fn make(
        mut self,
        request: &Request,
        named: &Named,
        overwrite: &[String],
        interrupt: &AtomicBool,
    ) -> Result<Self, Failure> {
        let server = request.server.clone().expect("it stands on another machine");
        let name = server.name.clone();
        let asked = MakeStacks {
            named: named.clone(),
            ground: request.ground.clone(),
            stacks: request.stacks.iter().map(|stack| stack.name.clone()).collect(),
            wanted: request.wanted,
            makings: request.makings,
            server,
            overwrite: self.overwritten(overwrite)?,
            machine: self.machine.prefix(),
        };
        self.remote.borrow_mut().serves(REMOVING);
        let asked = protocol::Request::MakeStacks(Box::new(asked));
        match self.ask(&asked, interrupt)? {
            Reply::StacksMade(made) => Ok(Self { made, ..self }),
            _ => Err(Failure::failed(format!("{name}: {FOREIGN}"))),
        }
    }

    fn ask(&mut self, asked: &protocol::Request, interrupt: &AtomicBool) -> Result<Reply, Failure> {
        let mut remote = self.remote.borrow_mut();
        let reply = remote.ask(asked, &|| interrupt.load(Ordering::Relaxed));
        reply.map_err(|why| {
            let code = stopped(interrupt).or(remote.refused()).unwrap_or(FAILED);
            Failure { code, ..Failure::failed(format!("{}: {why}", remote.name)) }
        })
    }

    /// What may be overwritten there.
    fn overwritten(&self, named: &[String]) -> Result<Vec<String>, Failure> {
        let own = |text: &String| match RemotePath::parse(OsStr::new(text)).map_err(Failure::usage)? {
            Some(place) if place.machine == self.machine => Ok(place.path),
            _ => Err(Failure::usage(format!(
                "--overwrite {text}: it is not on {}; write {}/dev/…",
                self.machine.words(),
                self.machine.prefix()
            ))),
        };
        named.iter().map(own).collect()
    }

    /// The same machine as one that is watched meanwhile.
    pub fn watched(&self) -> Watched {
        let mut remote = self.remote.borrow_mut();
        remote.measures(1, Vec::new(), false);
        // What was made first may have taken hours.
        remote.compare_clocks();
        Watched::new(Rc::clone(&self.remote))
    }

    /// What it has made, for the record: where that is, then the commands of each stack, and what is worth knowing.
    pub fn made(&self) -> (String, &StackCommands) {
        (format!("the storage is on {}", self.remote.borrow().name), &self.made)
    }

    /// Removes what it has made, or leaves it as it stands.
    ///
    /// # Errors
    /// Something does not go, or nothing is heard from it any more.
    pub fn end(self, is_left: bool) -> Result<(), Failure> {
        let asked = if is_left { protocol::Request::LeaveStacks } else { protocol::Request::End };
        let mut remote = self.remote.borrow_mut();
        let name = remote.name.clone();
        let wrong = |why: String| {
            Failure::failed(format!(
                "{name}: {why}; what may be left there is shown by `lodestone stack list` there, and removed by \
                 `lodestone stack destroy --all`"
            ))
        };
        match remote.ask(&asked, &|| false).map_err(wrong)? {
            Reply::Over { .. } => Ok(()),
            _ => Err(wrong(FOREIGN.to_owned())),
        }
    }
}

/// The exit code of a run that the user has stopped.
fn stopped(interrupt: &AtomicBool) -> Option<u8> {
    interrupt.load(Ordering::Relaxed).then_some(INTERRUPTED)
}

/// The address that this machine has for another one. Nothing is sent.
pub(super) fn own_address(of: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((of, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Finds the ground of stacks on this machine, for another one.
///
/// # Errors
/// It is not there, or not understood, or this user cannot make stacks.
pub(super) fn find_ground(on: &str, stacks: &str) -> Result<Reply, Failure> {
    if !is_root() {
        return Err(Failure::usage(
            "making storage stacks needs root there: name root@HOST, or pass --connect 'ssh {host} sudo -n'",
        ));
    }
    let here = std::env::current_dir().map_err(Failure::usage)?;
    let request = Request::parse(on, stacks, &here).map_err(Failure::usage)?;
    let request = request.located().map_err(Failure::usage)?;
    // "client port server port", of OpenSSH's server.
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let address = connection.split(' ').nth(2).and_then(|address| address.parse().ok());
    let directory = host::stacks::directory();
    Ok(Reply::Ground { ground: request.ground, directory, boot: boot_id(), address })
}

/// Makes stacks here for another machine, and removes or leaves them when that says so, or when it is gone.
///
/// # Errors
/// They cannot be made or removed.
pub(super) fn serve_stacks(
    asked: MakeStacks,
    interrupt: &AtomicBool,
    next: impl Fn() -> Option<protocol::Request>,
    reply: impl Fn(Reply),
) -> Result<(), Failure> {
    let roots = Roots::default();
    let MakeStacks { named, ground, stacks, wanted, makings, server, overwrite, machine } = asked;
    let parsed = Request::on(ground, &stacks.join(",")).map_err(Failure::usage)?;
    let request = Request { wanted, makings, server: Some(server), ..parsed };
    let request = request.located().map_err(Failure::usage)?;
    request.check(&roots, Some(Side::Server)).map_err(Failure::usage)?;
    let disks = consents(&roots, &request, Some(&machine), &overwrite)?;
    let made = Stacks::make(&roots, &request, &named, Some(Side::Server), disks, interrupt);
    let made = made.map_err(Failure::failed)?;
    reply(Reply::StacksMade(StackCommands {
        took_ns: made.took().as_nanos() as u64,
        commands: made.commands().to_vec(),
        remarks: made.remarks.clone(),
    }));
    let ended = match next() {
        Some(protocol::Request::LeaveStacks) => made.leave().map(drop),
        Some(_) => made.remove(),
        None => made.remove().or_else(|_| remove_later(&roots, &named.id)),
    };
    ended.map_err(Failure::failed)?;
    reply(Reply::Over { silent: Vec::new() });
    Ok(())
}

/// Removes what a machine that is gone still holds: its files on NFS 4 are open until its lease is over.
fn remove_later(roots: &Roots, id: &str) -> Result<(), StackError> {
    let until = Instant::now() + FORGETTING;
    loop {
        thread::sleep(PERIOD);
        let found = found().into_iter().flatten().find(|found| found.id == id);
        match found.map_or(Ok(()), |found| destroy(roots, &found)) {
            Err(_) if Instant::now() < until => {}
            ended => return ended,
        }
    }
}

/// The user's permission to overwrite the devices that stacks are made on; `machine` is what a path there begins with, if it is not
/// the user's.
///
/// # Errors
/// One was not named with `--overwrite`, or holds something that was not.
pub(super) fn consents(
    roots: &Roots,
    request: &Request,
    machine: Option<&str>,
    overwrite: &[String],
) -> Result<Vec<Consent>, Failure> {
    let named = consent::named(overwrite);
    if request.disks().is_empty() && !named.is_empty() {
        return Err(Failure::usage("--overwrite: stacks in images overwrite nothing; leave it out"));
    }
    let ask = |path| consent::ask(roots, path, &named).map_err(|refusal| refusal.on(machine));
    let all = request.disks().iter().map(|disk| ask(&disk.path));
    all.collect::<Result<_, _>>().map_err(|refusal| match &refusal {
        consent::Refusal::NotNamed(path) => {
            let all: Vec<_> = request.disks().iter().map(|disk| disk.path.to_string_lossy()).collect();
            Failure::usage(format!(
                "making stacks on {} destroys its contents; to allow this, pass --overwrite {}",
                path.display(),
                consent::typed_on(machine, all.iter().map(AsRef::as_ref))
            ))
        }
        _ => Failure::usage(refusal.to_string()).because(&refusal),
    })
}
