//! The Grafana dashboard in packaging/grafana: its structure, and all of its queries on a real PostgreSQL.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::*;
use crate::push::{AFTER, BEFORE, SUITE, import_durations, measure_suite, server};

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/lodestone.json");
const ALWAYS: [&str; 2] = ["2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"];
const NEVER: [&str; 2] = ["1990-01-01T00:00:00Z", "1991-01-01T00:00:00Z"];
/// A requirement that is met and one that is missed.
const REQUIREMENTS: &str = r#"
[[require]]
step = "reads"
operation = "read"
metric = "iops"
at_least = "0.001"
source = "The test, 2026"

[[require]]
step = "reads"
operation = "read"
metric = "iops"
at_least = "1000000000"
source = "The test, 2026"
"#;

/// A variable as Grafana fills it: one that allows several values becomes a list of literals, any other its bare value.
struct Variable {
    name: String,
    is_list: bool,
    values: Vec<String>,
}

impl Variable {
    fn text(&self) -> String {
        let escaped = |value: &String| value.replace('\'', "''");
        if self.is_list {
            let literals: Vec<String> = self.values.iter().map(|v| format!("'{}'", escaped(v))).collect();
            literals.join(",")
        } else {
            self.values.first().map(escaped).unwrap_or_default()
        }
    }
}

/// The statement that Grafana sends for a query.
fn replaced(query: &str, variables: &[Variable], [from, to]: [&str; 2]) -> String {
    let mut out = String::new();
    let mut rest = query;
    while let Some((before, after)) = rest.split_once("$__timeFilter(") {
        let (column, after) = after.split_once(')').unwrap();
        out.push_str(&format!("{before}{column} BETWEEN '{from}' AND '{to}'"));
        rest = after;
    }
    out.push_str(rest);
    for variable in variables {
        out = out.replace(&format!("${}", variable.name), &variable.text());
    }
    assert!(!out.contains('$'), "a macro or variable that is unknown or not filled yet: {out}");
    out
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a Vec<Value> {
    value.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no list {pointer}"))
}

fn string<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no text {pointer}: {value}"))
}

#[test]
fn the_dashboard_has_what_grafana_needs() {
    let board: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(board["schemaVersion"].as_u64().unwrap() >= 39);
    assert_eq!((string(&board, "/uid"), board.get("id")), ("lodestone", None));
    let is_source = |value: &Value| {
        let source = value.get("datasource");
        source == Some(&serde_json::json!({"type": "grafana-postgresql-datasource", "uid": "${source}"}))
    };
    let mut cells = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in list(&board, "/panels") {
        assert!(["timeseries", "table"].contains(&string(panel, "/type")), "{panel}");
        assert!(!string(panel, "/title").is_empty() && !string(panel, "/description").is_empty(), "{panel}");
        assert!(is_source(panel) && ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(w > 0 && h > 0 && x + w <= 24, "{panel}");
        let new = (x..x + w).all(|x| (y..y + h).all(|y| cells.insert((x, y))));
        assert!(new, "two panels overlap: {panel}");
        for target in list(panel, "/targets") {
            assert!(is_source(target) && !string(target, "/refId").is_empty(), "{target}");
            assert!(["time_series", "table"].contains(&string(target, "/format")), "{target}");
            assert!(string(target, "/rawSql").starts_with("SELECT "), "{target}");
        }
    }
    assert_eq!(string(&board["templating"]["list"][0], "/type"), "datasource");
    assert!(list(&board, "/templating/list")[1..].iter().all(is_source));
    assert!(list(&board, "/annotations/list").iter().all(is_source));
}

/// Makes the database `dashboard`, with everything that the dashboard shows.
fn filled(server: &PostgreSql) {
    let bench = Bench::new();
    import_durations(&bench, &BEFORE);
    import_durations(&bench, &AFTER);
    let run = measure_suite(&bench, "--require", &format!("{SUITE}{REQUIREMENTS}"), &[]);
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    bench.ok(&["push", "--to", &server.database("dashboard")]);
    // Whether a run has a warning depends on the machine.
    let made = "INSERT INTO lodestone.finding (run, severity, rule, message) \
                SELECT checksum, 'warning', 'made', 'a made one' FROM lodestone.run WHERE id = (SELECT min(id) FROM lodestone.run)";
    server.sql("dashboard", made);
}

/// The variables but that of the data source, each with all of its values, or with the first if it allows only one.
fn variables(board: &Value, rows: &dyn Fn(&str) -> Vec<String>) -> Vec<Variable> {
    let mut filled: Vec<Variable> = Vec::new();
    for variable in &list(board, "/templating/list")[1..] {
        let name = string(variable, "/name").to_owned();
        let values: Vec<String> = rows(&replaced(string(variable, "/query"), &filled, ALWAYS));
        assert!(!values.is_empty(), "the variable {name} has no values");
        let is_list = variable["multi"] == true || variable["includeAll"] == true;
        // psql separates columns by this; the first is Grafana's __value.
        let of = |row: &String| row.split('|').next().unwrap().to_owned();
        filled.push(Variable { name, is_list, values: values.iter().map(of).collect() });
    }
    filled
}

#[test]
fn every_query_of_the_dashboard_has_rows() {
    let Some(server) = server() else { return };
    filled(&server);
    let board: Value = serde_json::from_str(DASHBOARD).unwrap();
    let rows = |statement: &str| -> Vec<String> {
        server.sql("dashboard", statement).lines().map(str::to_owned).collect()
    };
    let count = |statement: &str| rows(&format!("SELECT count(*) FROM ({statement}) q"))[0].clone();
    let columns = |statement: &str| -> BTreeSet<String> {
        let keys = format!("SELECT DISTINCT k FROM ({statement}) q, jsonb_object_keys(to_jsonb(q)) k");
        rows(&keys).into_iter().collect()
    };
    let mut variables = variables(&board, &rows);
    let checked = |query: &str, variables: &[Variable], what: &str| {
        let statement = replaced(query, variables, ALWAYS);
        assert_ne!(count(&statement), "0", "{what}: {statement}");
        if query.contains("$__timeFilter") {
            assert_eq!(
                count(&replaced(query, variables, NEVER)),
                "0",
                "{what} ignores the time: {statement}"
            );
        }
        columns(&statement)
    };
    for annotation in list(&board, "/annotations/list") {
        let columns = checked(string(annotation, "/target/rawSql"), &variables, "an annotation");
        assert!(["tags", "text", "time"].iter().all(|name| columns.contains(*name)), "{columns:?}");
    }
    for panel in list(&board, "/panels") {
        let title = string(panel, "/title");
        // A panel that is repeated has one value in each copy.
        let repeated = panel.get("repeat").map(|name| {
            let at = variables.iter().position(|v| v.name == name.as_str().unwrap()).unwrap();
            (at, variables[at].values.clone())
        });
        let copies = repeated.as_ref().map_or(1, |(_, values)| values.len());
        for copy in 0..copies {
            if let Some((at, values)) = &repeated {
                variables[*at].values = vec![values[copy].clone()];
            }
            let mut shown = BTreeSet::new();
            for target in list(panel, "/targets") {
                let query = string(target, "/rawSql");
                let columns = checked(query, &variables, title);
                assert!(target["format"] == "table" || columns.contains("time"), "{title}: {columns:?}");
                shown.extend(columns);
            }
            for over in list(panel, "/fieldConfig/overrides") {
                let name = string(over, "/matcher/options");
                assert!(shown.contains(name), "{title}: no column {name}");
            }
        }
        if let Some((at, values)) = repeated {
            variables[at].values = values;
        }
    }
}
