//! The canary `page-pool-scan`: the same pool, whose lists are searched from their front for every page.

use pool::reader;
use std::process::ExitCode;

fn main() -> ExitCode {
    reader::main("page-pool-scan")
}
