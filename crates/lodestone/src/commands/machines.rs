//! The machines of a run: which targets are on which, and the connections to the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use host::Roots;
use model::{EngineKind, Host, RemoteHost, Target};
use plan::Environment;
use record::input;

use super::engines::Engines;
use crate::cli::{ReachArgs, RunArgs};
use crate::executor::Local;
use crate::failure::{Failure, INTERRUPTED};
use crate::fleet::Fleet;
use crate::fleet::address::{Connection, Connections, Machine, RemotePath};
use crate::fleet::inventory::{Inventory, Listed};
use crate::fleet::protocol::Request;
use crate::fleet::remote::Remote;
use crate::fleet::server::Watched;

/// The label that tells targets of several machines apart.
const HOST: &str = "host";

/// The machines of a run besides this one, in the order in which they are first named.
#[derive(Default)]
pub(super) struct Machines {
    remotes: Vec<Remote>,
    /// The engines that work on each, the best first.
    engines: Vec<Vec<EngineKind>>,
    /// What each measures, where all work together on the targets of the run.
    clients: Vec<Target>,
    /// The machine that only serves, with the number after all others.
    server: Watched,
}

/// The label that tells targets of several numbers of clients apart.
const CLIENTS: &str = "clients";
/// The command that an agent is.
const AGENT: &str = "agent";

/// A target on another machine, which an inventory may list.
struct Named {
    target: RemotePath,
    listed: Option<Listed>,
}

/// A machine and what is asked of it.
struct Asked {
    machine: Machine,
    listed: Option<Listed>,
    /// It is this one.
    is_here: bool,
    name: String,
    /// The targets there, each with its position among all and the name that the user gives it.
    places: Vec<(usize, Option<String>, String)>,
    overwrite: Vec<String>,
}

impl Machines {
    /// Examines all targets; those on other machines through their agents.
    ///
    /// # Errors
    /// A target cannot be measured, or a machine cannot be reached.
    pub fn reach(
        roots: &Roots,
        host: &Host,
        named: &[OsString],
        args: &RunArgs,
        interrupt: &AtomicBool,
    ) -> Result<(Vec<Target>, Self), Failure> {
        let places = places(named, args)?;
        if args.machines.together {
            return Self::together(roots, host, named, &places, args, interrupt);
        }
        let own: Vec<&OsStr> =
            named.iter().zip(&places).filter(|(_, p)| p.is_none()).map(|(n, _)| n.as_os_str()).collect();
        let mut asked = machines_of(&places);
        if asked.is_empty() {
            if !args.machines.reach.connect.is_empty() || args.machines.inventory.is_some() {
                return Err(Failure::usage(
                    "--connect and --inventory are about other machines, but all targets are here; name one as HOST:PATH, or \
                     with --limit GROUP:PATH",
                ));
            }
            let targets = host::target::inspect_all(roots, &own).map_err(Failure::usage)?;
            return Ok((targets, Self::default()));
        }
        if args.via.is_some() {
            return Err(Failure::usage(
                "--via runs another program on this machine; targets on other machines are measured by Lodestone's own engines",
            ));
        }
        overwrites(args, &mut asked)?;
        let connections = Connections::new(&args.machines.reach.connect);
        let there = asked.iter().map(|asked| &asked.machine);
        connections.check(there, "no target is on a machine").map_err(Failure::usage)?;
        let here = host::target::inspect_all(roots, &own).map_err(Failure::usage)?;
        let (machines, there) = Self::connect(roots, &asked, &connections, args, interrupt)?;
        let mut targets = in_order(here, there, &asked, places.len());
        for target in &mut targets {
            let name = machines.name(target.host).unwrap_or(&host.name);
            target.labels.insert(HOST.to_owned(), name.to_owned());
        }
        unique(&targets)?;
        Ok((targets, machines))
    }

    /// Reaches the clients of a run in which all work together: each has an agent, also those of this machine.
    fn together(
        roots: &Roots,
        host: &Host,
        named: &[OsString],
        places: &[Option<Named>],
        args: &RunArgs,
        interrupt: &AtomicBool,
    ) -> Result<(Vec<Target>, Self), Failure> {
        let counts = counts(&args.machines.clients, places.len())?;
        let mut asked = clients_of(host, named, places)?;
        overwrites(args, &mut asked)?;
        let here = overwritten_here(args);
        asked.iter_mut().filter(|asked| asked.is_here).for_each(|asked| asked.overwrite.clone_from(&here));
        let connections = Connections::new(&args.machines.reach.connect);
        let (machines, there) = Self::connect(roots, &asked, &connections, args, interrupt)?;
        let mut clients = in_order(Vec::new(), there, &asked, places.len());
        for (client, asked) in clients.iter_mut().zip(&asked) {
            client.name.clone_from(&asked.name);
        }
        let targets = counts.iter().map(|count| shared(&clients[..*count as usize])).collect();
        Ok((targets, Self { clients, ..machines }))
    }

    fn connect(
        roots: &Roots,
        asked: &[Asked],
        connections: &Connections,
        args: &RunArgs,
        interrupt: &AtomicBool,
    ) -> Result<(Self, Vec<Vec<Target>>), Failure> {
        let is_stopped = || interrupt.load(Ordering::Relaxed);
        let reach = Reach::new(roots, &args.machines.reach)?;
        let one = |asked: &Asked| {
            let listed = asked.listed.as_ref().and_then(|listed| listed.connection.as_deref());
            let connection = connections.to(&asked.machine, listed);
            let own = asked.is_here.then(own_program).transpose()?;
            let own = own.map(|program| vec![program, AGENT.to_owned()]);
            let mut remote = reach.agent(&asked.name, &connection, own, &is_stopped)?;
            let paths = asked.places.iter().map(|(.., path)| if path.is_empty() { "." } else { path });
            let request = Request::Inspect {
                targets: paths.map(str::to_owned).collect(),
                overwrite: asked.overwrite.clone(),
                machine: (!asked.is_here).then(|| asked.machine.prefix()),
                allow_unsafe_directory: args.allow_unsafe_directory,
            };
            let found = remote.inspect(&request, asked.places.len(), &is_stopped)?;
            Ok::<_, String>((remote, found))
        };
        let all: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = asked.iter().map(|asked| scope.spawn(|| one(asked))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("it failed".to_owned())))
                .collect()
        });
        let (mut machines, mut targets, mut wrong) = (Self::default(), Vec::new(), Vec::new());
        for connected in all {
            match connected {
                Ok((remote, (found, engines))) => {
                    machines.remotes.push(remote);
                    machines.engines.push(engines);
                    targets.push(found);
                }
                Err(why) => wrong.push(why),
            }
        }
        if is_stopped() {
            return Err(Failure { code: INTERRUPTED, ..Failure::failed("stopped; nothing was measured") });
        }
        match wrong.as_slice() {
            [] => Ok((machines, targets)),
            [why] => Err(Failure::usage(format!("{why}; nothing was measured"))),
            all => Err(Failure::usage(format!("nothing was measured:\n  {}", all.join("\n  ")))),
        }
    }

    /// No others, but one that serves what is measured here.
    pub fn serving(server: Watched) -> Self {
        Self { server, ..Self::default() }
    }

    /// What the machine with a number is called, unless it is this one.
    fn name(&self, number: u32) -> Option<&str> {
        Some(&self.remotes.get((number as usize).checked_sub(1)?)?.name)
    }

    /// True if all targets are here.
    pub fn is_empty(&self) -> bool {
        self.remotes.is_empty()
    }

    /// What limits the plan: the engines that work on every machine, and the smallest memory.
    pub fn environment(&self, host: &Host, engines: &Engines, targets: &[Target]) -> Environment {
        let is_used = targets.iter().any(|target| target.host == 0);
        let memories = self.remotes.iter().map(|remote| remote.machine().machine.memory_bytes);
        let memories = memories.chain((is_used || self.is_empty()).then_some(host.memory_bytes));
        let mut common = engines.capabilities();
        common.retain(|engine| self.engines.iter().all(|there| there.contains(&engine.kind)));
        Environment {
            memory_bytes: memories.min().unwrap_or(host.memory_bytes),
            engines: common,
            targets: targets.len() as u32,
        }
    }

    /// The machines, for the log.
    pub fn hosts(&self) -> Vec<RemoteHost> {
        self.remotes.iter().map(Remote::machine).chain(self.server.machine()).collect()
    }

    /// The executors of a run: that of this machine, and the connections, each of which knows its targets.
    pub fn into_fleet<'a>(self, local: Local<'a>, targets: &[Target]) -> Fleet<'a> {
        let numbered = self.remotes.into_iter().zip(1u32..);
        let remotes = numbered
            .map(|(mut remote, number)| {
                let there = targets.iter().filter(|target| target.host == number).cloned().collect();
                match self.clients.get(number as usize - 1) {
                    Some(client) => remote.measures(number, vec![client.clone()], true),
                    None => remote.measures(number, there, false),
                }
                remote
            })
            .collect();
        Fleet::new(local, remotes, self.server)
    }
}

/// How agents on other machines are started.
pub(super) struct Reach<'a> {
    roots: &'a Roots,
    /// What the user says of it.
    args: &'a ReachArgs,
    /// The program that is sent where there is none.
    program: Option<Vec<u8>>,
}

impl<'a> Reach<'a> {
    /// # Errors
    /// The program to send cannot be read.
    pub fn new(roots: &'a Roots, args: &'a ReachArgs) -> Result<Self, Failure> {
        let program = args.send_program.as_deref().map(program).transpose()?;
        Ok(Self { roots, args, program })
    }

    /// Starts the agent of a machine with this name, by a command of its own or over a connection.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn agent(
        &self,
        name: &str,
        connection: &Connection,
        own: Option<Vec<String>>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Remote, String> {
        let words = own.unwrap_or_else(|| connection.to_agent(&self.args.remote_program));
        let reached = match (Remote::connect(self.roots, name, &words, None, is_stopped), &self.program) {
            (Err(unreached), Some(program)) if unreached.is_absent => {
                let words = connection.to_sent_agent(program.len());
                Remote::connect(self.roots, name, &words, Some(program), is_stopped)
            }
            (reached, _) => reached,
        };
        reached.map_err(|unreached| unreached.why)
    }
}

/// The program that is sent: this one, or a file.
fn program(file: &OsStr) -> Result<Vec<u8>, Failure> {
    let file = Path::new(if file.is_empty() { OsStr::new("/proc/self/exe") } else { file });
    std::fs::read(file).map_err(|error| {
        Failure::usage(format!("cannot read the program to send, {}: {error}", file.display()))
            .because(&error)
    })
}

/// The targets that are named on the command line, `None` for one of this machine, and after them those of the inventory.
fn places(named: &[OsString], args: &RunArgs) -> Result<Vec<Option<Named>>, Failure> {
    let inventory = args.machines.inventory.as_deref().map(inventory).transpose()?;
    let mut places = Vec::new();
    for text in named {
        let Some(target) = RemotePath::parse(text).map_err(Failure::usage)? else {
            places.push(None);
            continue;
        };
        // A machine that an inventory lists is reached as it says.
        let listed = inventory.as_ref().and_then(|inventory| inventory.host(&target.machine.words()));
        let machine = listed.as_ref().map_or(target.machine, |listed| listed.machine.clone());
        places.push(Some(Named { target: RemotePath { machine, ..target }, listed }));
    }
    for limit in &args.machines.limit {
        let wrong = |why: String| Failure::usage(format!("--limit {limit}: {why}"));
        let (pattern, path) =
            limit.split_once(':').ok_or_else(|| wrong("write GROUP:PATH, such as web:/data".to_owned()))?;
        let matching = inventory.as_ref().map(|inventory| inventory.matching(pattern)).transpose();
        for listed in matching.map_err(wrong)?.into_iter().flatten() {
            let target = RemotePath { name: None, machine: listed.machine.clone(), path: path.to_owned() };
            places.push(Some(Named { target, listed: Some(listed) }));
        }
    }
    Ok(places)
}

/// An inventory: a file, standard input, or a list of machines.
fn inventory(named: &OsStr) -> Result<Inventory, Failure> {
    let path = Path::new(named);
    let listed =
        named.to_str().filter(|text| *text != input::STANDARD_INPUT && !text.contains('/') && !path.exists());
    let read = match listed {
        Some(list) => Inventory::of_list(list),
        None => {
            let cannot =
                |error| Failure::usage(format!("cannot read the inventory {}: {error}", path.display()));
            let (bytes, _) = input::read(path).map_err(cannot)?;
            Inventory::parse(&String::from_utf8_lossy(&bytes))
        }
    };
    read.map_err(|why| Failure::usage(format!("the inventory {}: {why}", path.display())))
}

/// The machines that these targets are on.
fn machines_of(places: &[Option<Named>]) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    for (position, place) in places.iter().enumerate() {
        let Some(Named { target, listed }) = place else { continue };
        let place = (position, target.name.clone(), target.path.clone());
        let is_it = |asked: &&mut Asked| asked.machine == target.machine && asked.listed == *listed;
        match asked.iter_mut().find(is_it) {
            Some(known) => known.places.push(place),
            None => asked.push(Asked {
                machine: target.machine.clone(),
                listed: listed.clone(),
                is_here: false,
                name: listed.as_ref().map(|listed| listed.name.clone()).unwrap_or_default(),
                places: vec![place],
                overwrite: Vec::new(),
            }),
        }
    }
    let mut hosts: BTreeMap<String, usize> = BTreeMap::new();
    asked.iter().for_each(|asked| *hosts.entry(asked.machine.host.clone()).or_default() += 1);
    for one in asked.iter_mut().filter(|one| one.name.is_empty()) {
        one.name = match (hosts[&one.machine.host], one.machine.port) {
            (1, _) => one.machine.host.clone(),
            (_, None) => one.machine.words(),
            (_, Some(port)) => format!("{}:{port}", one.machine.words()),
        };
    }
    asked
}

/// How many clients work together in each part of a run, in ascending order: all of them if nothing else is said.
fn counts(wanted: &[u32], targets: usize) -> Result<Vec<u32>, Failure> {
    let all = targets as u32;
    if targets < 2 {
        return Err(Failure::usage(
            "--together needs two targets or more, each of which is a client, such as a:/mnt/nfs b:/mnt/nfs",
        ));
    }
    if let Some(count) = wanted.iter().find(|count| **count > all) {
        return Err(Failure::usage(format!(
            "--clients {count}: there are only {all} targets, and each is a client"
        )));
    }
    let counts: BTreeSet<u32> = wanted.iter().copied().collect();
    Ok(if counts.is_empty() { vec![all] } else { counts.into_iter().collect() })
}

/// Each target with an agent of its own.
fn clients_of(host: &Host, named: &[OsString], places: &[Option<Named>]) -> Result<Vec<Asked>, Failure> {
    let mut asked = Vec::new();
    for (position, place) in places.iter().enumerate() {
        let (machine, listed, path) = match place {
            Some(Named { target, listed }) => (target.machine.clone(), listed.clone(), target.path.clone()),
            None => {
                let text = named.get(position).and_then(|text| text.to_str()).ok_or_else(|| {
                    Failure::usage("a client's path must be UTF-8, since it is sent to an agent")
                })?;
                (Machine { user: None, host: host.name.clone(), port: None }, None, text.to_owned())
            }
        };
        let name = listed.as_ref().map_or_else(|| machine.host.clone(), |listed| listed.name.clone());
        let (is_here, places) = (place.is_none(), vec![(position, None, path)]);
        asked.push(Asked { machine, listed, is_here, name, places, overwrite: Vec::new() });
    }
    // Several clients of one machine are told apart by their paths, and if these are the same by a number.
    for longer in [
        |asked: &Asked, _| format!("{}:{}", asked.name, asked.places[0].2),
        |asked: &Asked, number| format!("{}#{number}", asked.name),
    ] {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        asked.iter().for_each(|asked| *times.entry(asked.name.clone()).or_default() += 1);
        for (number, one) in (1..).zip(&mut asked).filter(|(_, one)| times[&one.name] > 1) {
            one.name = longer(one, number);
        }
    }
    Ok(asked)
}

/// The target of clients that work together: what all of them have in common.
fn shared(clients: &[Target]) -> Target {
    let first = &clients[0];
    let is_common = |name: &str, value: &str| {
        clients.iter().all(|client| client.labels.get(name).is_some_and(|other| other == value))
    };
    let mut labels = first.labels.clone();
    labels.retain(|name, value| is_common(name, value));
    let count = clients.len();
    labels.insert(CLIENTS.to_owned(), count.to_string());
    let is_alike = clients.iter().all(|client| client.stack_line() == first.stack_line());
    Target {
        name: format!("{count} client{}", if count == 1 { "" } else { "s" }),
        size_bytes: clients.iter().map(|client| client.size_bytes).min().unwrap_or(0),
        free_bytes: clients.iter().map(|client| client.free_bytes).min().unwrap_or(0),
        block_bytes: clients.iter().map(|client| client.block_bytes).max().unwrap_or(1),
        direct: clients.iter().all(|client| client.direct),
        writable: clients.iter().all(|client| client.writable),
        stack: if is_alike { first.stack.clone() } else { Vec::new() },
        labels,
        clients: clients.iter().map(|client| client.host).collect(),
        ..first.clone()
    }
}

/// The path of this program.
fn own_program() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|error| format!("cannot find its own program: {error}"))?;
    path.into_os_string()
        .into_string()
        .map_err(|path| format!("the program's path is not UTF-8: {}", path.display()))
}

/// Tells each machine what may be overwritten there.
fn overwrites(args: &RunArgs, asked: &mut [Asked]) -> Result<(), Failure> {
    for text in &args.overwrite {
        let Some(place) = RemotePath::parse(OsStr::new(text)).map_err(Failure::usage)? else { continue };
        let mut known: Vec<&mut Asked> =
            asked.iter_mut().filter(|asked| asked.machine == place.machine && !asked.is_here).collect();
        if known.is_empty() {
            return Err(Failure::usage(format!(
                "--overwrite {text}: no target is on the machine `{}`",
                place.machine.words()
            )));
        }
        known.iter_mut().for_each(|asked| asked.overwrite.push(place.path.clone()));
    }
    Ok(())
}

/// What may be overwritten on this machine.
pub(super) fn overwritten_here(args: &RunArgs) -> Vec<String> {
    let is_here = |text: &&String| matches!(RemotePath::parse(OsStr::new(text)), Ok(None));
    args.overwrite.iter().filter(is_here).cloned().collect()
}

/// All targets in the order in which they were named, with the numbers of their machines.
fn in_order(here: Vec<Target>, there: Vec<Vec<Target>>, asked: &[Asked], count: usize) -> Vec<Target> {
    let mut places: Vec<Option<Target>> = vec![None; count];
    for (number, (asked, found)) in (1u32..).zip(asked.iter().zip(there)) {
        for ((position, name, _), target) in asked.places.iter().zip(found) {
            let name = name.clone().unwrap_or_else(|| format!("{}:{}", asked.name, target.name));
            let labels = asked.listed.as_ref().map(|listed| listed.labels.clone()).unwrap_or_default();
            places[*position] = Some(Target { name, labels, host: number, ..target });
        }
    }
    let mut here = here.into_iter();
    places.into_iter().filter_map(|place| place.or_else(|| here.next())).collect()
}

fn unique(targets: &[Target]) -> Result<(), Failure> {
    let twice = (1..targets.len()).find(|i| targets[..*i].iter().any(|t| t.name == targets[*i].name));
    match twice {
        None => Ok(()),
        Some(i) => Err(Failure::usage(host::target::TargetError::SameName(targets[i].name.clone()))),
    }
}
