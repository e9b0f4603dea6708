//! A driver that is started where an older one has just died: its server ends behind it, and takes its time.

#[path = "../../../drivers/tests/lab/mod.rs"]
mod lab;

use lab::Session;
use std::io::Write;
use touchstone_protocol::{Reply, Request, Settings};

/// Found by an attacker: the second server found the first one's file of its process, and the driver failed at once.
#[test]
fn a_server_that_is_ending_is_waited_for() {
    let program = env!("CARGO_BIN_EXE_touchstone-sync-postgresql");
    if Session::start(program, &[]).hello().engine.contains("not installed") {
        // To the stream itself: what a test prints that passes is not shown.
        let skipped = "not tested: PostgreSQL is not installed (Debian: apt-get install postgresql)";
        let _ = writeln!(std::io::stderr(), "{skipped}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let mut session = Session::start(program, &[]);
        session.hello();
        let directory = folder.path().to_owned();
        let reply = session.ask(&Request::Serve { directory, port: 0, settings: Settings::new() });
        assert!(matches!(reply, Reply::Serve(_)), "{round}: {reply:?}");
        // It is killed here, and its server is told to end.
    }
}
