//! The subject `page-file`: pages of a file, each read from the system.

use pool::disk::Disk;
use pool::reader;
use std::process::ExitCode;

fn main() -> ExitCode {
    reader::main_of::<Disk>("page-file")
}
