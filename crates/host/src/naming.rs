//! How the user names what may be overwritten, and how a message quotes these names for the shell.

use std::fs;
use std::path::{Path, PathBuf};

use crate::object::Object;
use crate::occupants::Occupant;

/// The names in the values of `--overwrite`. A value that is an existing path is one name; any other is a list
/// separated by commas, in which `\,` stands for a comma within a name and `\\` for a backslash.
pub fn named(values: &[String]) -> Vec<String> {
    values
        .iter()
        .flat_map(|value| if Path::new(value).exists() { vec![value.clone()] } else { split(value) })
        .collect()
}

fn split(value: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => name.push(rest.next_if(|next| [',', '\\'].contains(next)).unwrap_or(c)),
            ',' => names.push(std::mem::take(&mut name)),
            _ => name.push(c),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// A value of `--overwrite` with all these names, quoted for a shell.
pub fn typed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let escaped: Vec<String> =
        names.into_iter().map(|name| name.replace('\\', r"\\").replace(',', r"\,")).collect();
    let value = escaped.join(",");
    let is_plain = |c: char| c.is_alphanumeric() || "_./,:=@%+-".contains(c);
    if value.chars().all(is_plain) { value } else { format!("'{}'", value.replace('\'', r"'\''")) }
}

/// The same for another machine: what a path there begins with, such as `nas:`, stands before the whole value.
pub fn typed_on<'a>(machine: Option<&str>, names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    if let (Some(machine), Some(first)) = (machine, names.first_mut()) {
        first.insert_str(0, machine);
    }
    typed(names.iter().map(String::as_str))
}

/// Something that the user gave with `--overwrite`.
pub(crate) struct Named<'a> {
    text: &'a str,
    /// The canonical path, if the name is a path.
    path: Option<PathBuf>,
    pub object: Option<Object>,
}

impl<'a> Named<'a> {
    pub fn new(text: &'a str) -> Self {
        let object = Object::at(text);
        // If the path leads through another mount namespace, its canonical form names something in this one.
        let path = fs::canonicalize(text).ok().filter(|path| Object::at(path) == object);
        Self { text, path, object }
    }

    /// True if this names the occupant: by its name, by any node of its device, or by any path to its mount point.
    pub fn means(&self, occupant: &Occupant) -> bool {
        self.text == occupant.name
            || occupant.device.is_some_and(|number| self.object == Some(Object::Device(number)))
            || self.path.as_deref() == Some(Path::new(&occupant.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Vec<String> {
        named(&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>())
    }

    /// `--overwrite` used to be split at every comma, so a file with a comma in its name could not be named.
    #[test]
    fn a_name_with_a_comma_is_a_whole_path_or_is_escaped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a,b");
        fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(of(&[path]), [path]);
        assert_eq!(of(&[path, "/dev/no-such,ext2/3/4"]), [path, "/dev/no-such", "ext2/3/4"]);
        assert_eq!(of(&[&format!("{},swap", path.replace(',', r"\,"))]), [path, "swap"]);
        assert_eq!(of(&[r"x\y,z\\,,"]), [r"x\y", r"z\"]);
    }

    #[test]
    fn a_typed_value_survives_the_shell() {
        let names = [r"/no/a,b", r"/no/it's", r"/no/back\slash", r"/no/end\", "/no/sp ace$HOME", "swap"];
        let shell = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", typed(names))])
            .output()
            .unwrap();
        let value = String::from_utf8(shell.stdout).unwrap();
        assert_eq!(of(&[&value]), names);
        assert_eq!(typed(["/dev/sda", "ext2/3/4"]), "/dev/sda,ext2/3/4");
        assert_eq!(typed_on(Some("nas:"), ["/dev/sda", "swap"]), "nas:/dev/sda,swap");
        assert_eq!(typed_on(Some("nas:"), ["/a b"]), "'nas:/a b'");
    }
}
