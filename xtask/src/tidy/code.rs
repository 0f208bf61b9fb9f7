//! What must hold in each source file, and between the files of a crate.

use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use super::layers::LAYERS;
use super::relative;
use super::tree::{Module, Survey, Tree};

/// Crates that open no file, start no process and read no clock.
const PURE: [&str; 5] = ["model", "plan", "analyse", "schedule", "report"];
const IMPURE_PATHS: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
];
const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];

const LONGEST_FUNCTION: usize = 80;
const LONGEST_FILE: usize = 900;
/// Files that may be longer than that, each with the reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// Checks a crate of the workspace.
pub(super) fn check(root: &Path, directory: &Path, found: &mut Vec<String>) {
    let krate = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tree = Tree::read(directory, &|path| relative(root, path));
    for (name, error) in &tree.broken {
        found.push(format!("{name}:{error}"));
    }
    for path in &tree.dead {
        found.push(format!("{}: no module declares this file", relative(root, path)));
    }
    for module in &tree.modules {
        authority(&krate, module, found);
        size(module, found);
    }
    circles(&tree, found);
}

/// What a crate may do.
fn authority(krate: &str, module: &Module, found: &mut Vec<String>) {
    let name = &module.name;
    if krate != "engine" {
        for line in Survey::of(&module.file).unsafe_lines {
            found.push(format!("{name}:{line}: unsafe code belongs to the engine"));
        }
    }
    let may_start = matches!(name.as_str(), "crates/host/src/programs.rs" | "crates/host/src/testing.rs")
        || matches!(krate, "attempts" | "benches" | "browser" | "testing" | "xtask");
    let may_print = matches!(krate, "attempts" | "benches" | "browser" | "lodestone" | "xtask");
    let siblings = LAYERS.iter().find(|(layer, _)| *layer == krate).map(|(_, allowed)| *allowed);
    for (path, line) in module.paths_with_lines() {
        let text = path.join("::");
        let names =
            |words: &str| text == words || text.starts_with(&format!("{words}::")) || text.ends_with(words);
        if !may_start && (names("process::Command") || text.ends_with("Command::new")) {
            found.push(format!("{name}:{line}: other programs are started only in host's programs.rs"));
        }
        if !may_print && PRINTING.contains(&text.as_str()) && is_called(module, line, &text) {
            found.push(format!("{name}:{line}: only the binary prints"));
        }
        if PURE.contains(&krate) {
            for words in IMPURE_PATHS.into_iter().filter(|words| names(words)) {
                found
                    .push(format!("{name}:{line}: {words} in a crate that opens no file and reads no clock"));
            }
        }
        let first = path.first().map_or("", String::as_str);
        let is_crate = path.len() > 1 && LAYERS.iter().any(|(layer, _)| *layer == first);
        if is_crate
            && siblings.is_some_and(|allowed| first != krate && !allowed.contains(&first))
            && !is_local(module, first)
        {
            found.push(format!("{name}:{line}: {krate} uses {first}, which its layer must not know"));
        }
    }
}

/// Whether a name is a module or an import of the file itself instead of a crate.
fn is_local(module: &Module, name: &str) -> bool {
    module.file.items.iter().any(|item| match item {
        syn::Item::Mod(item) => item.ident == name,
        _ => false,
    }) || module.imports(name)
}

/// Whether a macro of this name is called on this line, rather than a function or a field.
fn is_called(module: &Module, line: usize, name: &str) -> bool {
    struct Macros<'a>(usize, &'a str, bool);
    impl<'ast> syn::visit::Visit<'ast> for Macros<'_> {
        fn visit_macro(&mut self, called: &'ast syn::Macro) {
            let at = called.bang_token.span.start().line;
            self.2 |= at == self.0 && called.path.is_ident(self.1);
            syn::visit::visit_macro(self, called);
        }
    }
    let mut macros = Macros(line, name, false);
    syn::visit::Visit::visit_file(&mut macros, &module.file);
    macros.2
}

fn size(module: &Module, found: &mut Vec<String>) {
    let name = &module.name;
    if module.lines > LONGEST_FILE && !LONG_FILES.iter().any(|(long, _)| long == name) {
        found.push(format!("{name}: {} lines without tests; at most {LONGEST_FILE}", module.lines));
    }
    if !module.file.attrs.iter().any(|attribute| attribute.path().is_ident("doc")) {
        found.push(format!("{name}: no module documentation at the top"));
    }
    for function in Survey::of(&module.file).functions {
        if function.lines > LONGEST_FUNCTION {
            found.push(format!(
                "{name}:{}: `{}` has {} lines; at most {LONGEST_FUNCTION}",
                function.line, function.name, function.lines
            ));
        }
    }
}

/// Files that use each other, directly or by way of others.
fn circles(tree: &Tree, found: &mut Vec<String>) {
    let mut graph = DiGraph::<usize, ()>::new();
    let nodes: Vec<_> = (0..tree.modules.len()).map(|i| graph.add_node(i)).collect();
    for (from, used) in tree.edges().into_iter().enumerate() {
        for to in used {
            graph.add_edge(nodes[from], nodes[to], ());
        }
    }
    for circle in tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1) {
        let mut names: Vec<&str> =
            circle.iter().map(|node| tree.modules[graph[*node]].name.as_str()).collect();
        names.sort_unstable();
        found.push(format!("{} use each other", names.join(" and ")));
    }
}
