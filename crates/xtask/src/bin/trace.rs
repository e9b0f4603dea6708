//! Makes a trace for an order of the kind `trace` from what strace told of a program: docs/traces.md says how it is recorded.

use clap::Parser;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use xtask::reads;

/// Prints the pages of a file that a program read, as a trace.
#[derive(Parser)]
#[command(name = "trace", after_help = "Example:\n  trace reads.log --file app.db > app.trace")]
struct Options {
    /// What `strace -f -y -s 0 -e trace=pread64 -o LOG PROGRAM` wrote.
    log: PathBuf,
    /// How the path of the program's file ends.
    #[arg(long)]
    file: String,
    /// How many bytes its pages have.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    page_bytes: u64,
    /// How many gets the trace has at most.
    #[arg(long, default_value_t = 20_000)]
    gets: usize,
    /// What the trace says of how it was made; may be given again.
    #[arg(long)]
    remark: Vec<String>,
}

fn main() -> ExitCode {
    match traced(&Options::parse()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn traced(options: &Options) -> Result<String, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", options.log.display());
    let log = fs::read_to_string(&options.log).map_err(|error| at(&error))?;
    let mut pages = reads::pages(&log, &options.file, options.page_bytes).map_err(|error| at(&error))?;
    if pages.is_empty() {
        return Err(at(&format_args!(
            "no read of {} bytes of a file that ends in {}: name its pages' size and its path, and keep its program from mapping it",
            options.page_bytes, options.file
        )));
    }
    pages.truncate(options.gets);
    Ok(reads::trace(&pages, &options.remark))
}
