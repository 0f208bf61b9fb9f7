//! `cargo xtask docs` writes the generated documentation; `cargo xtask tidy` is the structure test,
//! which `cargo test` also runs.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    match std::env::args().nth(1).as_deref() {
        Some("docs") => {
            for (path, text) in xtask::docs::generated() {
                let path = root.join(path);
                let directory = path.parent().expect("generated files are in directories");
                let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text));
                if let Err(error) = written {
                    eprintln!("cannot write {}: {error}", path.display());
                    return ExitCode::FAILURE;
                }
            }
            ExitCode::SUCCESS
        }
        Some("tidy") => {
            let complaints = xtask::tidy::complaints(&root);
            complaints.iter().for_each(|c| eprintln!("{c}"));
            println!("{} complaint(s)", complaints.len());
            if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => {
            eprintln!("usage: cargo xtask docs | tidy");
            ExitCode::from(2)
        }
    }
}
