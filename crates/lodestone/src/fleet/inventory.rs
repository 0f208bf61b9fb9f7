//! Inventories: which machines there are, in which groups, and what is known of them. Ansible's (INI, YAML, and the JSON of
//! `ansible-inventory --list`), plain lists, and node lists of Slurm.

use std::collections::{BTreeMap, BTreeSet};

use saphyr::{LoadableYamlNode, Yaml};

use super::address::Machine;

/// The group of all machines, and that of those without a group: neither tells machines apart.
const ALL: &str = "all";
const UNGROUPED: &str = "ungrouped";
/// The most machines of an inventory: ranges such as `n[1:999999999]` must not fill the memory.
const MOST_MACHINES: usize = 10_000;
/// Groups in groups, at most.
const DEEPEST: usize = 32;

/// The machines of an inventory.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// By name, in the order in which they are first named.
    hosts: Vec<(String, Variables)>,
    groups: BTreeMap<String, Group>,
}

type Variables = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Group {
    hosts: Vec<String>,
    children: Vec<String>,
    variables: Variables,
}

/// A machine of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its name there.
    pub name: String,
    /// How it is reached.
    pub machine: Machine,
    /// The command that connects to it, if it is not reached by ssh.
    pub connection: Option<String>,
    /// Its groups and variables.
    pub labels: BTreeMap<String, String>,
}

impl Inventory {
    /// Reads an inventory in any of its forms.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut inventory = Self::default();
        let first =
            text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        let is_yaml = first.is_some_and(|line| line.starts_with('{') || line == "---" || line.ends_with(':'));
        if is_yaml {
            inventory.read_yaml(text)?
        } else {
            inventory.read_ini(text)?
        }
        match inventory.hosts.is_empty() {
            true => Err("it names no machine".to_owned()),
            false => Ok(inventory),
        }
    }

    /// Machines separated by commas, with ranges, as Slurm lists nodes: `pi1,node[01-40,50]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_list(text: &str) -> Result<Self, String> {
        let mut inventory = Self::default();
        let mut depth = 0;
        let at_comma = |c: char| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ',' && depth == 0
        };
        for word in text.split(at_comma).map(str::trim).filter(|word| !word.is_empty()) {
            for name in expanded(word)? {
                inventory.add(&name, None)?;
            }
        }
        match inventory.hosts.is_empty() {
            true => Err("it names no machine".to_owned()),
            false => Ok(inventory),
        }
    }

    /// The machine with a name.
    pub fn host(&self, name: &str) -> Option<Listed> {
        self.hosts.iter().any(|(known, _)| known == name).then(|| self.listed(name).ok()).flatten()
    }

    /// The machines of a pattern: names of machines or groups, with `*`, separated by commas; `!NAME` leaves out.
    ///
    /// # Errors
    /// Nothing has a name of the pattern.
    pub fn matching(&self, pattern: &str) -> Result<Vec<Listed>, String> {
        let (mut taken, mut left_out) = (BTreeSet::new(), BTreeSet::new());
        let words = pattern.split(',').map(str::trim).filter(|word| !word.is_empty());
        for word in words {
            let (name, to) = match word.strip_prefix('!') {
                Some(name) => (name, &mut left_out),
                None => (word, &mut taken),
            };
            let found = self.named(name);
            if found.is_empty() {
                let names: Vec<&str> = self.groups.keys().map(String::as_str).take(8).collect();
                return Err(format!(
                    "no machine or group is named `{name}`; there are the groups {}",
                    names.join(", ")
                ));
            }
            to.extend(found);
        }
        if taken.is_empty() {
            taken.extend(self.named(ALL));
        }
        let is_meant = |(name, _): &&(String, Variables)| taken.contains(name) && !left_out.contains(name);
        self.hosts.iter().filter(is_meant).map(|(name, _)| self.listed(name)).collect()
    }

    /// The machines with a name, or in groups with it.
    fn named(&self, pattern: &str) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = self
            .hosts
            .iter()
            .map(|(name, _)| name.clone())
            .filter(|name| pattern == ALL || fits(pattern, name))
            .collect();
        for group in self.groups.keys().filter(|name| fits(pattern, name)) {
            self.members(group, 0, &mut found);
        }
        found
    }

    fn members(&self, name: &str, depth: usize, found: &mut BTreeSet<String>) {
        let Some(group) = self.groups.get(name).filter(|_| depth < DEEPEST) else { return };
        found.extend(group.hosts.iter().cloned());
        group.children.iter().for_each(|child| self.members(child, depth + 1, found));
    }

    /// The groups of a machine with how far they are above it, the nearest first.
    fn groups_of(&self, host: &str) -> Vec<(&str, usize)> {
        let mut found: Vec<(&str, usize)> = Vec::new();
        let directly = self.groups.iter().filter(|(_, group)| group.hosts.iter().any(|own| own == host));
        let mut next: Vec<(&str, usize)> = directly.map(|(name, _)| (name.as_str(), 0)).collect();
        while let Some((name, depth)) = next.pop() {
            if found.iter().any(|(known, _)| *known == name) || depth > DEEPEST {
                continue;
            }
            found.push((name, depth));
            let above =
                self.groups.iter().filter(|(_, group)| group.children.iter().any(|child| child == name));
            next.extend(above.map(|(parent, _)| (parent.as_str(), depth + 1)));
        }
        found.sort_by_key(|(name, depth)| (*depth, *name));
        found
    }

    fn listed(&self, name: &str) -> Result<Listed, String> {
        let groups = self.groups_of(name);
        let mut variables = Variables::new();
        // What is nearer takes precedence, and the machine's own most of all.
        let of_groups = groups.iter().rev().filter_map(|(group, _)| self.groups.get(*group));
        let all = self.groups.get(ALL).filter(|_| !groups.iter().any(|(group, _)| *group == ALL));
        let own = self.hosts.iter().find(|(host, _)| host == name).map(|(_, own)| own);
        for known in all.into_iter().chain(of_groups).map(|group| &group.variables).chain(own) {
            variables.extend(known.clone());
        }
        let mut take =
            |key: &str| variables.remove(&format!("ansible_{key}")).filter(|value| !value.is_empty());
        let (address, port, user) = (take("host"), take("port"), take("user"));
        let (key, connection) = (take("ssh_private_key_file"), take("connection"));
        let options = [take("ssh_common_args"), take("ssh_extra_args")];
        let (host, port_of_name) = match address.as_deref().unwrap_or(name).rsplit_once(':') {
            Some((host, port)) if address.is_none() && !host.contains(':') => {
                (host.to_owned(), Some(port.to_owned()))
            }
            _ => (address.unwrap_or_else(|| name.to_owned()), None),
        };
        let (user_of_name, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host.to_owned()),
            None => (None, host),
        };
        let port = port
            .or(port_of_name)
            .map(|port| port.parse().map_err(|_| format!("{name}: `{port}` is no port")));
        let machine = Machine { user: user.or(user_of_name), host, port: port.transpose()? };
        if !machine.is_plain() {
            return Err(format!("{name}: `{}` does not name a machine", machine.words()));
        }
        let connection =
            connection_of(connection.as_deref(), key, &options).map_err(|why| format!("{name}: {why}"))?;
        let mut labels: BTreeMap<String, String> = variables
            .into_iter()
            .filter(|(key, value)| !key.starts_with("ansible_") && !value.is_empty())
            .collect();
        let nearest: Vec<&str> = groups
            .iter()
            .filter(|(group, depth)| *depth == 0 && ![ALL, UNGROUPED].contains(group))
            .map(|(group, _)| *group)
            .collect();
        if !nearest.is_empty() {
            labels.entry("group".to_owned()).or_insert_with(|| nearest.join("+"));
        }
        Ok(Listed { name: name.to_owned(), machine, connection, labels })
    }

    /// Takes a machine into account, and the group that it is in.
    fn add(&mut self, name: &str, group: Option<&str>) -> Result<&mut Variables, String> {
        if let Some(group) = group {
            let hosts = &mut self.groups.entry(group.to_owned()).or_default().hosts;
            if !hosts.iter().any(|known| known == name) {
                hosts.push(name.to_owned());
            }
        }
        let index = match self.hosts.iter().position(|(known, _)| known == name) {
            Some(index) => index,
            None if self.hosts.len() >= MOST_MACHINES => {
                return Err(format!("more than {MOST_MACHINES} machines"));
            }
            None => {
                self.hosts.push((name.to_owned(), Variables::new()));
                self.hosts.len() - 1
            }
        };
        Ok(&mut self.hosts[index].1)
    }

    fn read_ini(&mut self, text: &str) -> Result<(), String> {
        let mut section = (UNGROUPED.to_owned(), String::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let wrong = |why: String| format!("line {number}: {why}");
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let (name, kind) = heading.split_once(':').unwrap_or((heading, ""));
                section = (name.trim().to_owned(), kind.trim().to_owned());
                self.groups.entry(section.0.clone()).or_default();
                continue;
            }
            let group = self.groups.entry(section.0.clone()).or_default();
            match section.1.as_str() {
                "" => {
                    let words = shlex::split(line).ok_or_else(|| wrong("unclosed quote".to_owned()))?;
                    let words: Vec<&String> =
                        words.iter().take_while(|word| !word.starts_with('#')).collect();
                    let Some((name, variables)) = words.split_first() else { continue };
                    for name in expanded(name).map_err(wrong)? {
                        let own = self.add(&name, Some(&section.0)).map_err(wrong)?;
                        for variable in variables {
                            let (key, value) = variable.split_once('=').ok_or_else(|| {
                                wrong(format!("`{variable}` has no value; write NAME=VALUE"))
                            })?;
                            own.insert(key.to_owned(), value.to_owned());
                        }
                    }
                }
                "vars" => {
                    let (key, value) = line
                        .split_once('=')
                        .ok_or_else(|| wrong(format!("`{line}` has no value; write NAME=VALUE")))?;
                    let value = value.trim().trim_matches(['\'', '"']);
                    group.variables.insert(key.trim().to_owned(), value.to_owned());
                }
                "children" => group.children.push(line.to_owned()),
                other => return Err(wrong(format!("`:{other}` is neither :vars nor :children"))),
            }
        }
        Ok(())
    }

    fn read_yaml(&mut self, text: &str) -> Result<(), String> {
        let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
        let whole = documents.first().and_then(Yaml::as_mapping).ok_or("it is no mapping of groups")?;
        for (name, group) in whole {
            match text_of(name).as_deref() {
                Some("_meta") => self.read_host_variables(group)?,
                Some(name) => self.read_group(name, group, 0)?,
                None => {}
            }
        }
        Ok(())
    }

    /// What `ansible-inventory --list` says of machines.
    fn read_host_variables(&mut self, meta: &Yaml<'_>) -> Result<(), String> {
        let all = meta.as_mapping_get("hostvars").and_then(Yaml::as_mapping);
        for (host, variables) in all.into_iter().flatten() {
            let Some(host) = text_of(host) else { continue };
            let own = self.add(&host, None)?;
            own.extend(variables_of(variables));
        }
        Ok(())
    }

    fn read_group(&mut self, name: &str, group: &Yaml<'_>, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("groups are nested more than {DEEPEST} deep"));
        }
        self.groups.entry(name.to_owned()).or_default();
        match group.as_mapping_get("hosts") {
            // The JSON has a list of names, YAML a mapping with the variables of each.
            Some(Yaml::Sequence(hosts)) => {
                for host in hosts.iter().filter_map(text_of) {
                    self.add(&host, Some(name))?;
                }
            }
            Some(Yaml::Mapping(hosts)) => {
                for (host, variables) in hosts {
                    for host in expanded(&text_of(host).unwrap_or_default())? {
                        self.add(&host, Some(name))?.extend(variables_of(variables));
                    }
                }
            }
            _ => {}
        }
        let children: Vec<(String, Option<&Yaml<'_>>)> = match group.as_mapping_get("children") {
            Some(Yaml::Sequence(names)) => {
                names.iter().filter_map(text_of).map(|name| (name, None)).collect()
            }
            Some(Yaml::Mapping(children)) => {
                children.iter().filter_map(|(name, child)| Some((text_of(name)?, Some(child)))).collect()
            }
            _ => Vec::new(),
        };
        for (child, content) in children {
            if let Some(content) = content {
                self.read_group(&child, content, depth + 1)?;
            }
            let own = self.groups.entry(name.to_owned()).or_default();
            own.children.push(child);
        }
        let variables = group.as_mapping_get("vars").map(variables_of).unwrap_or_default();
        self.groups.entry(name.to_owned()).or_default().variables.extend(variables);
        Ok(())
    }
}

/// The command that reaches a machine, if its inventory says more than its address.
fn connection_of(
    kind: Option<&str>,
    key: Option<String>,
    options: &[Option<String>],
) -> Result<Option<String>, String> {
    match kind {
        None | Some("ssh" | "smart" | "paramiko") => {
            let mut words: Vec<String> = key.into_iter().flat_map(|key| ["-i".to_owned(), key]).collect();
            for text in options.iter().flatten() {
                words.extend(shlex::split(text).ok_or("the ssh options have an unclosed quote")?);
            }
            match words.iter().find(|word| word.contains(char::is_whitespace)) {
                Some(word) => Err(format!(
                    "a word with a blank among the options of ssh: `{word}`; set it in ~/.ssh/config"
                )),
                None if words.is_empty() => Ok(None),
                None => Ok(Some(format!("ssh {}", words.join(" ")))),
            }
        }
        Some("local") => Ok(Some("env".to_owned())),
        Some(other) => match super::address::CONNECTIONS.iter().find(|(name, _)| other.ends_with(name)) {
            Some((name, _)) => Ok(Some((*name).to_owned())),
            None => Err(format!(
                "ansible_connection={other} is unknown here; say how it is reached with --connect"
            )),
        },
    }
}

fn text_of(yaml: &Yaml<'_>) -> Option<String> {
    yaml.as_str()
        .map(str::to_owned)
        .or_else(|| yaml.as_integer().map(|number| number.to_string()))
        .or_else(|| yaml.as_floating_point().map(|number| number.to_string()))
        .or_else(|| yaml.as_bool().map(|truth| truth.to_string()))
}

/// The variables that are one word or number.
fn variables_of(mapping: &Yaml<'_>) -> Variables {
    let all = mapping.as_mapping().into_iter().flatten();
    all.filter_map(|(key, value)| Some((text_of(key)?, text_of(value)?))).collect()
}

/// True if a name fits a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.into_iter().any(|at| fits(after, &rest[at..]))
        }
    }
}

/// The names of a range: `n[01:40]` of Ansible, `n[01-40,50]` of Slurm. Other names are themselves.
fn expanded(word: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = word.split_once('[') else { return Ok(vec![word.to_owned()]) };
    let (inner, after) = rest.split_once(']').ok_or_else(|| format!("`{word}`: unclosed bracket"))?;
    let mut names = Vec::new();
    for part in inner.split(',') {
        let (first, last) = part.split_once([':', '-']).unwrap_or((part, part));
        let (last, stride) = last.split_once(':').unwrap_or((last, "1"));
        for middle in range(first, last, stride).ok_or_else(|| format!("`{word}`: `{part}` is no range"))? {
            for tail in expanded(after)? {
                if names.len() >= MOST_MACHINES {
                    return Err(format!("`{word}` names more than {MOST_MACHINES} machines"));
                }
                names.push(format!("{before}{middle}{tail}"));
            }
        }
    }
    Ok(names)
}

/// Numbers, as wide as the first, or letters; at most one more than an inventory may have.
fn range(first: &str, last: &str, stride: &str) -> Option<Vec<String>> {
    let stride: usize = stride.parse().ok().filter(|stride| *stride > 0)?;
    if let (Ok(from), Ok(to)) = (first.parse::<u64>(), last.parse::<u64>()) {
        let width = if first.starts_with('0') { first.len() } else { 0 };
        return Some(
            (from..=to).step_by(stride).take(MOST_MACHINES + 1).map(|n| format!("{n:0width$}")).collect(),
        );
    }
    let letter = |text: &str| <[char; 1]>::try_from(text.chars().collect::<Vec<_>>()).ok().map(|[c]| c);
    let (from, to) = (letter(first)?, letter(last)?);
    let both = |is: fn(&char) -> bool| is(&from) && is(&to);
    if !both(char::is_ascii_lowercase) && !both(char::is_ascii_uppercase) {
        return None;
    }
    Some((from..=to).step_by(stride).take(MOST_MACHINES + 1).map(|c| c.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inventory: &Inventory, pattern: &str) -> Vec<String> {
        inventory.matching(pattern).unwrap().into_iter().map(|listed| listed.name).collect()
    }

    const INI: &str = "\
lonely
# a comment
[web]
web[01:03] model=m5 # another
me@old:2222 note='two words'
[db]
db-[a:c].example ansible_host=10.0.0.7 ansible_user=postgres
[site:children]
web
db
[site:vars]
region = eu
ansible_ssh_common_args='-o StrictHostKeyChecking=no'
";

    #[test]
    fn an_ini_inventory_has_groups_ranges_and_variables() {
        let inventory = Inventory::parse(INI).unwrap();
        assert_eq!(names(&inventory, "web"), ["web01", "web02", "web03", "me@old:2222"]);
        assert_eq!(names(&inventory, "site,!web0*,!db-b*"), ["me@old:2222", "db-a.example", "db-c.example"]);
        assert_eq!(names(&inventory, "all").len(), 8);
        let [first, _, _, old] = &inventory.matching("web").unwrap()[..] else { panic!() };
        let label = |listed: &Listed, key: &str| listed.labels.get(key).cloned().unwrap_or_default();
        assert_eq!(["region", "model", "group"].map(|key| label(first, key)), ["eu", "m5", "web"]);
        assert_eq!(first.connection.as_deref(), Some("ssh -o StrictHostKeyChecking=no"));
        assert_eq!((old.machine.words(), old.machine.port), ("me@old".to_owned(), Some(2222)));
        assert_eq!(label(old, "note"), "two words");
        let db = &inventory.matching("db-a.example").unwrap()[0];
        assert_eq!(db.machine.words(), "postgres@10.0.0.7");
        let lonely = &inventory.matching("lonely").unwrap()[0];
        assert!(lonely.labels.is_empty() && lonely.connection.is_none(), "{lonely:?}");
    }

    const YAML: &str = "\
all:
  children:
    clouds:
      vars: {model: m5}
      children:
        a: {hosts: {'a[1:2]': {}, a3: {model: m6, ansible_port: 2022}}}
        b: {hosts: {b1: }}
    here:
      hosts:
        laptop: {ansible_connection: local}
        box: {ansible_connection: community.docker.docker}
";

    #[test]
    fn yaml_and_the_list_of_ansible_say_the_same() {
        let yaml = Inventory::parse(YAML).unwrap();
        let json = r#"{"_meta": {"hostvars": {"a1": {"model": "m5"}, "a2": {"model": "m5"}, "b1": {"model": "m5"},
            "a3": {"model": "m6", "ansible_port": 2022}, "laptop": {"ansible_connection": "local"},
            "box": {"ansible_connection": "community.docker.docker"}}},
            "all": {"children": ["ungrouped", "clouds", "here"]}, "clouds": {"children": ["a", "b"]},
            "a": {"hosts": ["a1", "a2", "a3"]}, "b": {"hosts": ["b1"]}, "here": {"hosts": ["laptop", "box"]}}"#;
        let json = Inventory::parse(json).unwrap();
        for pattern in ["clouds", "a", "here", "b1"] {
            let sorted = |inventory: &Inventory| {
                let mut found = inventory.matching(pattern).unwrap();
                found.sort_by(|a, b| a.name.cmp(&b.name));
                found
            };
            assert_eq!(sorted(&yaml), sorted(&json), "{pattern}");
        }
        let found = yaml.matching("all").unwrap();
        let of = |name: &str| found.iter().find(|listed| listed.name == name).unwrap();
        assert_eq!((of("a3").machine.port, of("a3").labels["model"].as_str()), (Some(2022), "m6"));
        assert_eq!(of("a1").labels["model"], "m5");
        assert_eq!(of("laptop").connection.as_deref(), Some("env"));
        assert_eq!(of("box").connection.as_deref(), Some("docker"));
    }

    #[test]
    fn lists_have_ranges() {
        let listed = |text: &str| names(&Inventory::of_list(text).unwrap(), "all");
        assert_eq!(listed("pi1, me@pi2"), ["pi1", "me@pi2"]);
        assert_eq!(listed("node[08-10,12],login"), ["node08", "node09", "node10", "node12", "login"]);
        assert_eq!(listed("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(names(&Inventory::parse("pi1\n\npi2\n").unwrap(), "all"), ["pi1", "pi2"]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |text: &str| Inventory::parse(text).unwrap_err();
        assert_eq!(wrong("# nothing\n"), "it names no machine");
        assert_eq!(wrong("[a]\nx y"), "line 2: `y` has no value; write NAME=VALUE");
        assert_eq!(wrong("[a:b]\nx"), "line 2: `:b` is neither :vars nor :children");
        assert_eq!(wrong("x[1:3"), "line 1: `x[1:3`: unclosed bracket");
        assert_eq!(wrong("x[3:y]"), "line 1: `x[3:y]`: `3:y` is no range");
        assert!(wrong("x[1:99999999999]").contains("more than 10000 machines"));
        assert!(Inventory::of_list("x[1-200]y[1-200]").is_err());
        assert!(wrong("all: [1, 2").contains("line"), "{}", wrong("all: [1, 2"));
        let inventory = Inventory::parse(INI).unwrap();
        assert!(inventory.matching("nosuch").unwrap_err().contains("there are the groups db, site, "));
        let evil = Inventory::parse("x ansible_host=-oProxyCommand=id").unwrap();
        assert!(evil.matching("x").unwrap_err().contains("does not name a machine"));
        // Groups that contain each other.
        let circle = Inventory::parse("[a:children]\nb\n[b:children]\na\n[b]\nx").unwrap();
        assert_eq!(names(&circle, "a"), ["x"]);
    }
}
