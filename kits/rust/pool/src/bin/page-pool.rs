//! The subject `page-pool`: pages of a file, read through a buffer pool.

use pool::reader;
use std::process::ExitCode;

fn main() -> ExitCode {
    reader::main("page-pool")
}
