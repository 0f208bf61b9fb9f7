//! A fio job file as sections of lines; no meaning yet.

use std::ops::Range;

use super::Surroundings;

/// `key=value`, or a key alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub key: String,
    pub value: String,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// One `[section]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub name: String,
    pub lines: Vec<Line>,
    pub span: Range<usize>,
}

/// An error in a line.
pub(super) type Wrong = (Range<usize>, String);

/// Splits a job file into its sections. `[global]` is one of them; there may be several.
pub(super) fn sections(text: &str, around: &Surroundings) -> (Vec<Section>, Vec<Wrong>) {
    let (mut sections, mut wrong): (Vec<Section>, Vec<Wrong>) = (Vec::new(), Vec::new());
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let start = at + (whole.len() - whole.trim_start().len()).min(whole.trim_end().len());
        at += whole.len();
        let line = without_comment(whole.trim());
        let span = start..start + line.len();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            match name.rsplit_once(']') {
                Some((name, rest)) if rest.trim().is_empty() && !name.is_empty() => {
                    let (name, lines) = (name.to_owned(), Vec::new());
                    sections.push(Section { name, lines, span });
                }
                _ => wrong.push((span, format!("`{line}` is not a section such as [job1]"))),
            }
            continue;
        }
        let Some(section) = sections.last_mut() else {
            wrong.push((span, "an option before the first section".into()));
            continue;
        };
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match filled_in(value.trim(), around) {
            Ok(value) => section.lines.push(Line { key: key.trim().to_owned(), value, span }),
            Err(message) => wrong.push((span, message)),
        }
    }
    (sections, wrong)
}

/// A line up to its comment; `#` or `;` begins one anywhere.
fn without_comment(line: &str) -> &str {
    line.find(['#', ';']).map_or(line, |at| line[..at].trim_end())
}

/// A value with `${NAME}` replaced from the environment and fio's keywords from the machine.
fn filled_in(value: &str, around: &Surroundings) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else {
            return Err(format!("`{value}` has a ${{ without its }}"));
        };
        let Some((_, found)) = around.environment.iter().find(|(key, _)| key == name) else {
            return Err(format!(
                "the environment variable {name} is not set; set it as in {name}=… lodestone run …"
            ));
        };
        filled.push_str(before);
        filled.push_str(found);
        rest = tail;
    }
    filled.push_str(rest);
    for (word, number) in [
        ("$pagesize", around.page_bytes),
        ("$mb_memory", around.memory_bytes >> 20),
        ("$ncpus", u64::from(around.processors)),
    ] {
        filled = filled.replace(word, &number.to_string());
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Section>, Vec<Wrong>) {
        let around = Surroundings {
            environment: vec![("BS".into(), "4k".into())],
            page_bytes: 4096,
            memory_bytes: 8 << 30,
            processors: 2,
        };
        sections(text, &around)
    }

    #[test]
    fn comments_variables_and_bare_keys_parse_with_spans() {
        let text = "; fio\n# job\n[global]\n bs=${BS} # block\nsize=2*$pagesize\n\n[job 1]\nstonewall\nfilename=/a:b\n";
        let (found, wrong) = read(text);
        assert_eq!(wrong, []);
        let line = |section: usize, line: usize| {
            let line = &found[section].lines[line];
            (line.key.as_str(), line.value.as_str(), &text[line.span.clone()])
        };
        assert_eq!((found.len(), found[1].name.as_str()), (2, "job 1"));
        assert_eq!(line(0, 0), ("bs", "4k", "bs=${BS}"));
        assert_eq!(line(0, 1), ("size", "2*4096", "size=2*$pagesize"));
        assert_eq!(line(1, 0), ("stonewall", "", "stonewall"));
        assert_eq!(line(1, 1), ("filename", "/a:b", "filename=/a:b"));
    }

    #[test]
    fn parse_errors_have_a_span() {
        let text = "rw=read\n[job\n[a]\nbs=${NOT_SET}\nsize=${X\n";
        let (_, wrong) = read(text);
        let errors: Vec<(&str, &str)> =
            wrong.iter().map(|(span, message)| (&text[span.clone()], message.as_str())).collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert_eq!(errors[0], ("rw=read", "an option before the first section"));
        assert!(errors[1].1.contains("not a section") && errors[2].1.contains("NOT_SET is not set"));
        assert!(errors[3].1.contains("without its"));
    }
}
