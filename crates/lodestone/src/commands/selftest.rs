//! `lodestone selftest`: the limits of the load generator on this machine.

use std::process::ExitCode;

use engine::selftest::{Floor, clock_cost_ns, clock_tick_ns, floor, timer_lateness_ns};
use host::Roots;
use model::EngineKind;
use report::{Align, Cell, Column, Table, TerminalText, display_iops, display_ns, table_text};

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;

/// Bytes of the file in memory; it stays in the processor's caches.
const FILE_BYTES: u64 = 1 << 20;
const TIME_NS: u64 = 500_000_000;
const PERIOD_NS: u64 = 1_000_000;
const WAITS: usize = 300;

/// The cases: a name, an engine, a depth.
const FLOORS: [(&str, EngineKind, u32); 5] = [
    ("io_uring, no-op requests, depth 1", EngineKind::Noop, 1),
    ("io_uring, no-op requests, depth 32", EngineKind::Noop, 32),
    ("libaio, a file in memory, depth 32", EngineKind::Libaio, 32),
    ("psync, a file in memory", EngineKind::Psync, 1),
    ("mmap, a file in memory", EngineKind::Mmap, 1),
];

/// Measures the generator without storage and prints the result.
///
/// # Errors
/// There is no memory for the test file.
pub fn selftest(cli: &Cli) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let source = host::clock_source(&roots).unwrap_or_else(|| "unknown".to_owned());
    let (clock_ns, library_ns) = clock_cost_ns();
    let tick = clock_tick_ns().map(|ns| format!(", a tick {ns:.1} ns")).unwrap_or_default();
    let late = timer_lateness_ns(WAITS, PERIOD_NS);
    let at = |share: f64| display_ns(late[((late.len() - 1) as f64 * share) as usize] as f64);
    let mut rows = Vec::new();
    for (name, engine, iodepth) in FLOORS {
        let file = host::testfiles::in_memory(FILE_BYTES)
            .map_err(|e| Failure::failed(format!("cannot create a file in memory: {e}")).because(&e))?;
        rows.push(row(name, floor(engine, iodepth, file, FILE_BYTES, TIME_NS)));
    }
    let columns = vec![
        Column::new("driven by one job", Align::Left),
        Column::new("IOPS", Align::Right),
        Column::new("user", Align::Right),
        Column::new("kernel", Align::Right),
    ];
    let title = "The highest rates of one job on this machine, with the processor time per operation";
    let table = Table { title: title.to_owned(), columns, stub: 1, rows };
    let mut text = TerminalText::from(format!(
        "clock    {source}; one reading takes {clock_ns:.1} ns, through the C library {library_ns:.1} ns{tick}\n\
         timers   a wait of {} ends {} late (p50), {} (p99), {} (max)\n\n",
        display_ns(PERIOD_NS as f64),
        at(0.5),
        at(0.99),
        at(1.0),
    ));
    text.push(table_text(&table, output::style(cli.color)));
    text.push(
        "\nStorage that comes near one of these rates is limited by the load generator. The run then has the finding\n\
         `generator-saturated`.\n",
    );
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, floor: Result<Floor, engine::EngineError>) -> Vec<Cell> {
    let mut row = vec![Cell::text(name)];
    match floor {
        Ok(floor) => {
            row.push(Cell::text(display_iops(floor.rate)));
            row.push(Cell::text(display_ns(floor.user_ns)));
            row.push(Cell::text(display_ns(floor.system_ns)));
        }
        Err(error) => row.extend([Cell::text(format!("{error}")), Cell::default(), Cell::default()]),
    }
    row
}
