//! `cargo xtask docs` writes the generated documentation; `cargo xtask tidy` is the structure test,
//! which `cargo test` also runs; `cargo xtask dist` makes what a release hands out.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::{Command, ExitCode};

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
        // In the shell, because it only starts other programs.
        Some("dist") => {
            let made = Command::new(root.join("scripts/dist")).args(std::env::args_os().skip(2)).status();
            let code = made.ok().and_then(|status| u8::try_from(status.code()?).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        _ => {
            eprintln!("usage: cargo xtask docs | tidy | dist [PROCESSOR…]");
            ExitCode::from(2)
        }
    }
}
