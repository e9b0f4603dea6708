//! Plays the golden conversation of services against the drivers.

#[path = "../../../drivers/tests/conversation/mod.rs"]
mod conversation;
#[path = "../../../drivers/tests/lab/mod.rs"]
mod lab;

use std::io::Write;

#[test]
fn the_service_speaks_the_golden_conversations() {
    conversation::play_all(env!("CARGO_BIN_EXE_touchstone-sync"), 1);
}

#[test]
fn the_service_before_postgresql_speaks_them_where_that_is_installed() {
    let program = env!("CARGO_BIN_EXE_touchstone-sync-postgresql");
    let engine = lab::Session::start(program, &[]).hello().engine;
    if engine.contains("not installed") {
        // To the stream itself: what a test prints that passes is not shown.
        let skipped = "not tested: PostgreSQL is not installed (Debian: apt-get install postgresql)";
        let _ = writeln!(std::io::stderr(), "{skipped}");
        return;
    }
    conversation::play_all(program, 1);
}
