//! One row per repeat and metric, for spreadsheets (RFC 4180).

use model::{Measurement, Run};

/// All measured values of a run as CSV, with a heading line.
pub fn csv(run: &Run, measurements: &[Measurement]) -> String {
    let mut out = String::from("run,host,target,step,operation,metric,unit,round,value\r\n");
    for m in measurements {
        for (round, value) in &m.values {
            let fields = [
                run.started.id.as_str(),
                run.started.machine_of(&m.target),
                &m.target,
                &m.step,
                m.operation.name(),
                m.metric.name(),
                m.metric.unit(),
                &round.to_string(),
                &value.to_string(),
            ];
            out.push_str(&row(&fields));
        }
    }
    out
}

/// One line with its line end.
pub(crate) fn row(fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|f| quoted(f)).collect();
    fields.join(",") + "\r\n"
}

/// Quoted if necessary. A text that a spreadsheet would take for a formula gets an apostrophe.
fn quoted(field: &str) -> String {
    let numeric = field.parse::<f64>().is_ok();
    let guarded = if !numeric && field.starts_with(['=', '+', '-', '@']) {
        format!("'{field}")
    } else {
        field.to_owned()
    };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_made_harmless() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("-1.5"), "-1.5");
    }
}
