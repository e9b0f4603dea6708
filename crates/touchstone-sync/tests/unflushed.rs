//! A disk that fails to flush: nothing is acknowledged any more, the service ends and says why, and the next one has all that was.
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Device, Service, place, program};

/// The operating system refused.
const IO: i32 = 74;

/// A library that is loaded before the system's: `fsync` and `fdatasync` fail once the file is there that the variable names.
fn failing_flushes(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("flush.c"), folder.join("flush.so"));
    let words = r#"
        #include <errno.h>
        #include <stdlib.h>
        #include <unistd.h>
        static int flush(void) {
            if (access(getenv("FAILS_WITH"), F_OK) != 0) return 0;
            errno = EIO;
            return -1;
        }
        int fsync(int file) { (void)file; return flush(); }
        int fdatasync(int file) { (void)file; return flush(); }
    "#;
    std::fs::write(&source, words).expect("there is room");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("a C compiler is there, as for the engine").success());
    library
}

fn upload(device: &Device<'_>, id: u64) -> (u16, serde_json::Value) {
    let name = id.to_string();
    device.post("/v1/sync/delta", &json!({"changes": [{"id": name, "change": name, "data": "milk"}]}))
}

/// A strict service flushes before it answers, a consistent one when it copies its log: it ends by itself some uploads later.
fn a_failed_flush_ends(class: &str) {
    /// More than are needed for the log to be copied.
    const MANY: u64 = 100_000;
    let (folder, store) = place();
    let fails = folder.path().join("fails");
    let mut serve = program();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--durability", class, "--store"]).arg(&store);
    serve.env("LD_PRELOAD", failing_flushes(folder.path())).env("FAILS_WITH", &fails);
    let child = serve.stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut service = Service::of(child, &store);
    let token = service.token("ada");
    let acknowledged = {
        let phone = service.device(&token, "phone");
        assert_eq!(upload(&phone, 0).0, 200);
        std::fs::write(&fails, "").expect("there is room");
        let refused = (1..MANY).map(|id| (id, upload(&phone, id))).find(|(_, (status, _))| *status != 200);
        let (id, (status, problem)) = refused.expect("the service acknowledges what it cannot flush");
        assert_eq!((status, &problem["type"]), (503, &json!("/problems/away")), "{problem}");
        id
    };
    let ended = service.child.wait().expect("it ends by itself");
    assert_eq!(ended.code(), Some(IO), "{class}");

    let again = Service::start(&store, &["--durability", class]);
    let laptop = again.device(&token, "laptop");
    let seen: Vec<_> = laptop.follow(0).iter().map(|change| change["id"].clone()).collect();
    let expected: Vec<_> = (0..acknowledged).map(|id| json!(id.to_string())).collect();
    assert!(seen.starts_with(&expected), "{class}: {} of {acknowledged} are there", seen.len());
    assert!(seen.len() as u64 <= acknowledged + 1, "no more than were sent");
}

#[test]
fn a_strict_service_whose_disk_fails_to_flush_ends() {
    a_failed_flush_ends("strict");
}

#[test]
fn a_consistent_service_whose_disk_fails_to_flush_ends() {
    a_failed_flush_ends("consistent");
}
