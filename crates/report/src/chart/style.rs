//! The style of charts: colours of the light and the dark theme, and the rules that use them.
//!
//! Pages and standalone charts have the colours as custom properties, so that they follow the reader's theme. The
//! PNG renderer supports neither these nor media queries, so the colours are written into the rules for it.

const RULES: &str = include_str!("chart.css");

/// Number of target colours before they repeat.
pub(super) const TARGETS: usize = 8;

/// Name of each colour, light and dark. Targets are c0 to c7: Okabe's and Ito's blue, vermillion, bluish green,
/// reddish purple, orange, sky blue, grey instead of their black, yellow. Each has a contrast of at least 3 with its
/// page, for which the last five except grey are darkened in the light theme, and all but orange are changed in the dark one.
const COLOURS: [(&str, &str, &str); 15] = [
    ("fg", "#1b1f24", "#e6edf3"),
    ("soft", "#57606a", "#9da7b3"),
    ("line", "#d8dee4", "#30363d"),
    ("back", "#fff", "#0d1117"),
    ("ramp", "#c9d1d9", "#3d444d"),
    ("measure", "#f0f3f6", "#161b22"),
    ("flag", "#b3261e", "#ff7b72"),
    ("c0", "#0072b2", "#3d9bd9"),
    ("c1", "#d55e00", "#e8752a"),
    ("c2", "#009e73", "#1fb98d"),
    ("c3", "#b8648f", "#d98cb8"),
    ("c4", "#b07a00", "#e69f00"),
    ("c5", "#3391cf", "#7cc6f0"),
    ("c6", "#6e6e6e", "#a0a0a0"),
    ("c7", "#8a7a00", "#c9b62f"),
];

/// The theme of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on black.
    Dark,
}

fn colour((_, light, dark): &(&str, &'static str, &'static str), theme: Theme) -> &'static str {
    if theme == Theme::Light { light } else { dark }
}

/// A style that follows the reader's theme, and is light on paper.
pub(crate) fn style() -> String {
    let properties = |theme: Theme| -> String {
        COLOURS.iter().map(|c| format!("--{}:{};", c.0, colour(c, theme))).collect()
    };
    let (light, dark) = (properties(Theme::Light), properties(Theme::Dark));
    let targets: String = (0..TARGETS).map(|i| format!(".c{i}{{--c:var(--c{i})}}")).collect();
    format!(
        ".chart{{{light}}}\n@media (prefers-color-scheme:dark){{.chart{{{dark}}}}}\n@media print{{.chart{{{light}}}}}\n\
         {targets}.chart .neutral{{--c:var(--soft)}}\n{RULES}"
    )
}

/// The same style for one theme, with every colour resolved: a rule with the target's colour becomes a rule per
/// target.
#[cfg(feature = "png")]
pub(super) fn fixed_style(theme: Theme) -> String {
    let mut out = String::new();
    for rule in RULES.split_inclusive('}') {
        let Some((selectors, body)) = rule.trim().split_once('{') else { continue };
        if body.contains("var(--c)") {
            let colours = (0..TARGETS)
                .map(|i| (format!("c{i}"), format!("c{i}")))
                .chain([("neutral".into(), "soft".into())]);
            for (class, name) in colours {
                let selectors: Vec<String> =
                    selectors.split(',').map(|s| format!("{}.{class}", s.trim())).collect();
                out.push_str(&format!(
                    "{}{{{}\n",
                    selectors.join(","),
                    body.replace("var(--c)", &format!("var(--{name})"))
                ));
            }
        } else {
            out.push_str(&format!("{selectors}{{{body}\n"));
        }
    }
    COLOURS.iter().fold(out, |css, c| css.replace(&format!("var(--{})", c.0), colour(c, theme)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "png")]
    #[test]
    fn a_fixed_style_resolves_every_property_and_target_colour() {
        for theme in [Theme::Light, Theme::Dark] {
            let css = fixed_style(theme);
            assert!(!css.contains("var(") && !css.contains('@'), "{css}");
            let blue = if theme == Theme::Light { "#0072b2" } else { "#3d9bd9" };
            assert!(css.contains(&format!(".chart .bar.c0{{fill:{blue};")), "{css}");
            assert_eq!(css.matches('{').count(), css.matches('}').count());
        }
    }

    #[test]
    fn every_colour_that_a_rule_uses_is_in_the_table() {
        for used in RULES.split("var(--").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(used == "c" || COLOURS.iter().any(|c| c.0 == used), "{used}");
        }
    }
}
