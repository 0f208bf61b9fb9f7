//! The module tree of a crate: its files, parsed, with what only tests compile taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A source file as a module.
pub(super) struct Module {
    /// Path of the module within its crate; empty for the root.
    pub path: Vec<String>,
    /// Path of the file below the repository's root.
    pub name: String,
    /// The file, without items that only tests compile.
    pub file: syn::File,
    /// Number of lines, without those items.
    pub lines: usize,
    /// Names that `use` brings in, and the path that each stands for.
    aliases: BTreeMap<String, Vec<String>>,
    /// Paths of which all names are brought in.
    globs: Vec<Vec<String>>,
}

/// The modules of a crate.
pub(super) struct Tree {
    pub modules: Vec<Module>,
    /// Files below `src` that no module declaration reaches.
    pub dead: Vec<PathBuf>,
    /// Files that cannot be parsed, with the parser's message.
    pub broken: Vec<(String, String)>,
}

impl Tree {
    /// Reads the crate in `directory`; `relative` gives the name of a file in complaints.
    pub fn read(directory: &Path, relative: &dyn Fn(&Path) -> String) -> Self {
        let source = directory.join("src");
        let mut tree = Self { modules: Vec::new(), dead: Vec::new(), broken: Vec::new() };
        let mut reached = BTreeSet::new();
        for root in ["lib.rs", "main.rs"] {
            let path = source.join(root);
            if path.is_file() {
                tree.add(&path, Vec::new(), &source, false, &mut reached, relative);
            }
        }
        tree.dead =
            super::files(&source, &["rs"]).into_iter().filter(|path| !reached.contains(path)).collect();
        tree
    }

    /// Adds a file and the files of the modules that it declares. Files that only tests compile are reached, but not kept.
    fn add(
        &mut self,
        path: &Path,
        module: Vec<String>,
        children: &Path,
        only_tests: bool,
        reached: &mut BTreeSet<PathBuf>,
        relative: &dyn Fn(&Path) -> String,
    ) {
        if !reached.insert(path.to_owned()) {
            return;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut file = match syn::parse_file(&text) {
            Ok(file) => file,
            Err(error) => {
                let at = error.span().start();
                self.broken.push((relative(path), format!("{}:{}: {error}", at.line, at.column + 1)));
                return;
            }
        };
        for item in &file.items {
            let Item::Mod(declared) = item else { continue };
            if declared.content.is_some() {
                continue;
            }
            let name = declared.ident.to_string();
            let tests = only_tests || only_for_tests(&declared.attrs);
            let [flat, nested] = match path_attribute(&declared.attrs) {
                Some(other) => {
                    let other = path.parent().unwrap_or(children).join(other);
                    [other.clone(), other]
                }
                None => [children.join(format!("{name}.rs")), children.join(&name).join("mod.rs")],
            };
            let child = if flat.is_file() { flat } else { nested };
            let below = if child.ends_with("mod.rs") {
                child.parent().unwrap_or(children).to_owned()
            } else {
                child.with_extension("")
            };
            let inner = module.iter().cloned().chain([name]).collect();
            self.add(&child, inner, &below, tests, reached, relative);
        }
        if only_tests {
            return;
        }
        let all = text.lines().count();
        let tests: usize =
            file.items.iter().filter(|item| only_for_tests(attributes(item))).map(lines_of).sum();
        file.items.retain(|item| !only_for_tests(attributes(item)));
        let (mut aliases, mut globs) = (BTreeMap::new(), Vec::new());
        for item in &file.items {
            if let Item::Use(item) = item {
                names_in(&item.tree, &mut Vec::new(), &mut aliases, &mut globs);
            }
        }
        let name = relative(path);
        self.modules.push(Module { path: module, name, file, lines: all - tests, aliases, globs });
    }

    /// The files that each file uses, by index. A file may use the module that declares it: that is no use of a sibling.
    pub fn edges(&self) -> Vec<BTreeSet<usize>> {
        let by_path: BTreeMap<&[String], usize> =
            self.modules.iter().enumerate().map(|(i, module)| (module.path.as_slice(), i)).collect();
        let mut edges = vec![BTreeSet::new(); self.modules.len()];
        for (from, module) in self.modules.iter().enumerate() {
            for path in module.paths() {
                let Some(to) = self.resolve(&by_path, from, &path, 8) else { continue };
                if to != from && !module.path.starts_with(&self.modules[to].path) {
                    edges[from].insert(to);
                }
            }
        }
        edges
    }

    /// The module in which the item of a path stands, followed through what other modules bring in; `None` outside of
    /// the crate.
    fn resolve(
        &self,
        by_path: &BTreeMap<&[String], usize>,
        from: usize,
        path: &[String],
        depth: u32,
    ) -> Option<usize> {
        let mut at = self.modules[from].path.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            // A module or name of this file, or another crate.
            first => {
                let child = [at.clone(), vec![first.to_owned()]].concat();
                let is_own = by_path.contains_key(child.as_slice());
                if !is_own && !self.modules[from].aliases.contains_key(first) {
                    return None;
                }
            }
        }
        while let Some(part) = rest.first() {
            at.push(part.clone());
            if by_path.contains_key(at.as_slice()) {
                rest = &rest[1..];
                continue;
            }
            at.pop();
            let here = *by_path.get(at.as_slice())?;
            let module = &self.modules[here];
            if let Some(alias) = module.aliases.get(part).filter(|_| depth > 0) {
                let whole = [alias.as_slice(), &rest[1..]].concat();
                return self
                    .resolve(by_path, here, &whole, depth - 1)
                    .or(Some(here).filter(|_| here != from));
            }
            return Some(here);
        }
        by_path.get(at.as_slice()).copied()
    }
}

impl Module {
    /// Whether `use` brings in this name.
    pub fn imports(&self, name: &str) -> bool {
        self.aliases.contains_key(name)
    }

    /// All paths that the code of this file names, and where the first word of each stands.
    pub fn paths_with_lines(&self) -> Vec<(Vec<String>, usize)> {
        let mut found = Vec::new();
        let tokens = quote::ToTokens::to_token_stream(&self.file);
        sequences(tokens, &mut found);
        for item in &self.file.items {
            if let Item::Use(item) = item {
                let line = item.use_token.span.start().line;
                let (mut aliases, mut globs) = (BTreeMap::new(), Vec::new());
                names_in(&item.tree, &mut Vec::new(), &mut aliases, &mut globs);
                found.extend(aliases.into_values().chain(globs).map(|path| (path, line)));
            }
        }
        found
    }

    fn paths(&self) -> impl Iterator<Item = Vec<String>> {
        let named = self.paths_with_lines().into_iter().map(|(path, _)| path);
        named.filter(|path| path.len() > 1).chain(self.globs.clone())
    }
}

/// Sequences of identifiers that `::` joins, in macros too.
fn sequences(tokens: TokenStream, found: &mut Vec<(Vec<String>, usize)>) {
    let mut current: Option<(Vec<String>, usize)> = None;
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => match &mut current {
                Some((path, _)) if colons == 2 => path.push(word(&ident)),
                _ => {
                    found.extend(current.take());
                    current = Some((vec![word(&ident)], ident.span().start().line));
                }
            },
            TokenTree::Punct(punct) if punct.as_char() == ':' && current.is_some() => {
                colons += 1;
                continue;
            }
            TokenTree::Group(group) => {
                found.extend(current.take());
                sequences(group.stream(), found);
            }
            _ => found.extend(current.take()),
        }
        colons = 0;
    }
    found.extend(current);
}

fn word(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// The names that a `use` brings in with the path of each, and the paths of which it brings in all names.
fn names_in(
    tree: &UseTree,
    before: &mut Vec<String>,
    aliases: &mut BTreeMap<String, Vec<String>>,
    globs: &mut Vec<Vec<String>>,
) {
    match tree {
        UseTree::Path(path) => {
            before.push(word(&path.ident));
            names_in(&path.tree, before, aliases, globs);
            before.pop();
        }
        UseTree::Name(name) => {
            let name = word(&name.ident);
            let path = if name == "self" { before.clone() } else { [&before[..], &[name]].concat() };
            aliases.insert(path.last().cloned().unwrap_or_default(), path);
        }
        UseTree::Rename(rename) => {
            let path = [&before[..], &[word(&rename.ident)]].concat();
            aliases.insert(word(&rename.rename), path);
        }
        UseTree::Glob(_) => globs.push(before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names_in(tree, before, aliases, globs)),
    }
}

/// Whether an item with these attributes is compiled for tests only.
pub(super) fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        attribute.path().is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
    })
}

/// The value of `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(literal) = &pair.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn lines_of(item: &Item) -> usize {
    let span = syn::spanned::Spanned::span(item);
    span.end().line + 1 - span.start().line
}

/// A function, where it stands and how many lines it has.
pub(super) struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// The functions and uses of `unsafe` of a file.
#[derive(Default)]
pub(super) struct Survey {
    pub functions: Vec<Function>,
    pub unsafe_lines: Vec<usize>,
}

impl Survey {
    pub fn of(file: &syn::File) -> Self {
        let mut survey = Self::default();
        survey.visit_file(file);
        survey
    }

    fn signature(&mut self, signature: &syn::Signature, last_line: usize) {
        let line = signature.fn_token.span.start().line;
        self.functions.push(Function { name: word(&signature.ident), line, lines: last_line + 1 - line });
        if let syn::Safety::Unsafe(token) = &signature.safety {
            self.unsafe_lines.push(syn::spanned::Spanned::span(token).start().line);
        }
    }
}

impl<'ast> Visit<'ast> for Survey {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.signature(&function.sig, function.block.brace_token.span.close().end().line);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.signature(&function.sig, function.block.brace_token.span.close().end().line);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(token) = &item.unsafety {
            self.unsafe_lines.push(token.span.start().line);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.unsafe_lines.push(block.unsafe_token.span.start().line);
        visit::visit_expr_unsafe(self, block);
    }
}
