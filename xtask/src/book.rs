//! The book and the documents at the root: every relative link leads to a file and a heading that exist, every page
//! is in the table of contents, no page of the book links out of it, no output is missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const BOOK: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages that are data and not part of the book.
const DATA: &str = "docs/data";
/// Marks the line where the output of a real run is still missing.
const MISSING_OUTPUT: &str = concat!("<!-- out", "put:");

/// A Markdown document, or one that another page includes.
struct Document {
    /// Path from the root, `/` between its parts.
    name: String,
    /// Every link and image with its line.
    links: Vec<(usize, String)>,
    /// What `#…` can lead to.
    anchors: BTreeSet<String>,
    /// The line of the first missing output.
    missing_output: Option<usize>,
}

/// Everything that is wrong with links and the table of contents, one line each. `documents` are the Markdown files.
pub fn complaints(root: &Path, documents: &[PathBuf]) -> Vec<String> {
    let documents: BTreeMap<String, Document> = documents
        .iter()
        .filter_map(|path| path.strip_prefix(root).ok())
        .map(|relative| {
            let name = relative.to_string_lossy().into_owned();
            (name.clone(), Document::read(root, name))
        })
        .collect();
    let mut found = Vec::new();
    let mut pages_in_html = HashMap::new();
    for document in documents.values() {
        for (line, link) in &document.links {
            if let Err(reason) = lead(root, &documents, document, link, &mut pages_in_html) {
                found.push(format!("{}:{line}: {reason}", document.name));
            }
        }
        if let Some(line) = document.missing_output.filter(|_| document.is_page()) {
            found.push(format!("{}:{line}: the output of a real run is missing", document.name));
        }
    }
    contents(&documents, &mut found);
    found
}

/// Every page of the book must be in the table of contents.
fn contents(documents: &BTreeMap<String, Document>, found: &mut Vec<String>) {
    let Some(summary) = documents.get(SUMMARY) else { return };
    let listed: BTreeSet<String> =
        summary.links.iter().filter_map(|(_, link)| join(BOOK, path_of(link))).collect();
    for document in documents.values().filter(|document| document.is_page()) {
        if !listed.contains(&document.name) {
            found.push(format!("{}: is not in {SUMMARY}", document.name));
        }
    }
}

/// Follows a link, or explains why it leads nowhere.
fn lead(
    root: &Path,
    documents: &BTreeMap<String, Document>,
    from: &Document,
    link: &str,
    html: &mut HashMap<String, String>,
) -> Result<(), String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let target = match path_of(link) {
        "" => from.name.clone(),
        path => {
            join(from.directory(), path).ok_or_else(|| format!("the link to {path} leads out of the tree"))?
        }
    };
    if !root.join(&target).exists() {
        return Err(format!("the link to {} is dead", path_of(link)));
    }
    if from.is_page() && !target.starts_with("docs/") {
        return Err(format!("the link to {target} leads out of the book"));
    }
    let Some((_, anchor)) = link.split_once('#') else { return Ok(()) };
    let exists = match documents.get(&target) {
        Some(document) => document.anchors.contains(anchor),
        None => {
            let text = html
                .entry(target.clone())
                .or_insert_with(|| fs::read_to_string(root.join(&target)).unwrap_or_default());
            text.contains(&format!("id=\"{anchor}\""))
        }
    };
    if exists { Ok(()) } else { Err(format!("the link to {link} is dead: {target} has no such heading")) }
}

fn path_of(link: &str) -> &str {
    link.split('#').next().unwrap_or_default()
}

/// The path that a link from a page in `directory` means; none if it is above the root.
fn join(directory: &str, link: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in Path::new(directory).join(link).components() {
        match part {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(parts.join("/"))
}

impl Document {
    fn read(root: &Path, name: String) -> Self {
        let text = fs::read_to_string(root.join(&name)).unwrap_or_default();
        let missing_output = text.lines().position(|line| line.contains(MISSING_OUTPUT)).map(|line| line + 1);
        let text = included(root, &name, &text);
        let (links, anchors) = parse(&text);
        Self { name, links, anchors, missing_output }
    }

    fn directory(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    fn is_page(&self) -> bool {
        let path = Path::new(&self.name);
        path.starts_with(BOOK) && !path.starts_with(DATA) && self.name != SUMMARY
    }
}

/// The text of a page with the files that it includes, as mdBook does: `{{#include FILE}}`, the whole line.
fn included(root: &Path, name: &str, text: &str) -> String {
    let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut whole = String::new();
    for line in text.lines() {
        let file = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        match file.and_then(|file| join(directory, file)) {
            Some(file) => whole.push_str(&fs::read_to_string(root.join(file)).unwrap_or_default()),
            None => whole.push_str(line),
        }
        whole.push('\n');
    }
    whole
}

/// The links of a Markdown text with their lines, and the anchors of its headings.
fn parse(text: &str) -> (Vec<(usize, String)>, BTreeSet<String>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let mut links = Vec::new();
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((1 + starts.partition_point(|at| *at < range.start), dest_url.into_string()));
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let repeated = (1..).map(|n| format!("{anchor}-{n}"));
                let free = std::iter::once(anchor.clone()).chain(repeated).find(|a| !anchors.contains(a));
                anchors.extend(free);
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    (links, anchors)
}

/// The identifier that mdBook and code hosts give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_of_headings() {
        let (links, anchors) = parse(
            "# A run, 2 × `--size`\n\n## Twice\n\n## Twice\n\nsee [a\nlink](b.md#c) ![p](d.svg)\n\n    [code](e.md)\n",
        );
        assert_eq!(links, [(7, "b.md#c".to_owned()), (8, "d.svg".to_owned())]);
        assert_eq!(anchors, ["a-run-2----size", "twice", "twice-1"].map(str::to_owned).into());
    }

    #[test]
    fn links_are_relative_to_their_page() {
        assert_eq!(join("docs/tour", "../method/repeat.md"), Some("docs/method/repeat.md".to_owned()));
        assert_eq!(join("", "docs/./README.md"), Some("docs/README.md".to_owned()));
        assert_eq!(join("docs", "../../elsewhere"), None);
    }
}
