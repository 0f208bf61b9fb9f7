//! The machines of a run: which targets are on which, and the connections to the others.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use host::Roots;
use model::{EngineKind, Host, RemoteHost, Target};
use plan::Environment;
use record::input;

use super::engines::Engines;
use crate::cli::RunArgs;
use crate::failure::{Failure, INTERRUPTED};
use crate::fleet::address::{Connections, Machine, RemoteTarget};
use crate::fleet::inventory::{Inventory, Listed};
use crate::fleet::protocol::Request;
use crate::fleet::remote::Remote;

/// The label that tells targets of several machines apart.
const HOST: &str = "host";

/// The machines of a run besides this one, in the order in which they are first named.
#[derive(Default)]
pub(super) struct Machines {
    remotes: Vec<Remote>,
    /// The engines that work on each, the best first.
    engines: Vec<Vec<EngineKind>>,
}

/// A target on another machine, which an inventory may list.
struct Named {
    target: RemoteTarget,
    listed: Option<Listed>,
}

/// A machine and what is asked of it.
struct Asked {
    machine: Machine,
    listed: Option<Listed>,
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
        let own: Vec<&OsStr> =
            named.iter().zip(&places).filter(|(_, p)| p.is_none()).map(|(n, _)| n.as_os_str()).collect();
        let mut asked = machines_of(&places);
        if asked.is_empty() {
            if !args.connect.is_empty() || args.inventory.is_some() {
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
        let connections = Connections::new(&args.connect);
        for name in connections.named() {
            if !asked.iter().any(|asked| asked.machine.words() == name) {
                return Err(Failure::usage(format!(
                    "--connect {name}=…: no target is on a machine `{name}`"
                )));
            }
        }
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

    fn connect(
        roots: &Roots,
        asked: &[Asked],
        connections: &Connections,
        args: &RunArgs,
        interrupt: &AtomicBool,
    ) -> Result<(Self, Vec<Vec<Target>>), Failure> {
        let is_stopped = || interrupt.load(Ordering::Relaxed);
        let program = args.send_program.as_deref().map(program).transpose()?;
        let one = |asked: &Asked| {
            let listed = asked.listed.as_ref().and_then(|listed| listed.connection.as_deref());
            let connection = connections.to(&asked.machine, listed);
            let words = connection.to_agent(&args.remote_program);
            let reached = Remote::connect(roots, &asked.name, &words, None, &is_stopped);
            let reached = match (reached, &program) {
                (Err(unreached), Some(program)) if unreached.is_absent => {
                    let words = connection.to_sent_agent(program.len());
                    Remote::connect(roots, &asked.name, &words, Some(program), &is_stopped)
                }
                (reached, _) => reached,
            };
            let mut remote = reached.map_err(|unreached| unreached.why)?;
            let paths = asked.places.iter().map(|(.., path)| if path.is_empty() { "." } else { path });
            let request = Request::Inspect {
                targets: paths.map(str::to_owned).collect(),
                overwrite: asked.overwrite.clone(),
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
        let memories = self.hosts().into_iter().map(|host| host.machine.memory_bytes);
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
        self.remotes.iter().map(Remote::machine).collect()
    }

    /// The connections, each of which knows its targets.
    pub fn into_remotes(self, targets: &[Target]) -> Vec<Remote> {
        let numbered = self.remotes.into_iter().zip(1u32..);
        numbered
            .map(|(mut remote, number)| {
                let there = targets.iter().filter(|target| target.host == number).cloned().collect();
                remote.measures(number, there);
                remote
            })
            .collect()
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
    let inventory = args.inventory.as_deref().map(inventory).transpose()?;
    let mut places = Vec::new();
    for text in named {
        let Some(target) = RemoteTarget::parse(text).map_err(Failure::usage)? else {
            places.push(None);
            continue;
        };
        // A machine that an inventory lists is reached as it says.
        let listed = inventory.as_ref().and_then(|inventory| inventory.host(&target.machine.words()));
        let machine = listed.as_ref().map_or(target.machine, |listed| listed.machine.clone());
        places.push(Some(Named { target: RemoteTarget { machine, ..target }, listed }));
    }
    for limit in &args.limit {
        let wrong = |why: String| Failure::usage(format!("--limit {limit}: {why}"));
        let (pattern, path) =
            limit.split_once(':').ok_or_else(|| wrong("write GROUP:PATH, such as web:/data".to_owned()))?;
        let matching = inventory.as_ref().map(|inventory| inventory.matching(pattern)).transpose();
        for listed in matching.map_err(wrong)?.into_iter().flatten() {
            let target = RemoteTarget { name: None, machine: listed.machine.clone(), path: path.to_owned() };
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

/// Tells each machine what may be overwritten there.
fn overwrites(args: &RunArgs, asked: &mut [Asked]) -> Result<(), Failure> {
    for text in &args.overwrite {
        let Some(place) = RemoteTarget::parse(OsStr::new(text)).map_err(Failure::usage)? else { continue };
        match asked.iter_mut().find(|asked| asked.machine == place.machine) {
            Some(known) => known.overwrite.push(place.path),
            None => {
                return Err(Failure::usage(format!(
                    "--overwrite {text}: no target is on the machine `{}`",
                    place.machine.words()
                )));
            }
        }
    }
    Ok(())
}

/// What may be overwritten on this machine.
pub(super) fn overwritten_here(args: &RunArgs) -> Vec<String> {
    let is_here = |text: &&String| matches!(RemoteTarget::parse(OsStr::new(text)), Ok(None));
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
