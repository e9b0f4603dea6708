//! The library as the lab uses it: loaded before a program's own libraries.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Cargo builds a library of this kind for nobody's tests: it is asked to.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", env!("CARGO_PKG_NAME")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(build.expect("cargo has built this test").success());
    let own = std::env::current_exe().expect("a test knows its program");
    let profile = own.ancestors().nth(2).expect("it lies in `deps`, within a profile's folder");
    profile.with_file_name("debug").join("libtouchstone_flush.so")
});

/// Writes a file with `dd`, which flushes it in the end.
fn flush(how: &str, length_us: Option<&str>) -> Duration {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = format!("of={}", folder.path().join("file").display());
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=1", "count=1", &file, how]).env("LD_PRELOAD", &*LIBRARY);
    length_us.map(|us| dd.env("TOUCHSTONE_FLUSH_US", us));
    let begins = Instant::now();
    let output = dd.output().expect("there is dd");
    assert!(
        output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("preload"),
        "{output:?}"
    );
    begins.elapsed()
}

#[test]
fn a_flush_takes_as_long_as_it_is_told_to() {
    for how in ["conv=fsync", "conv=fdatasync"] {
        let took = flush(how, Some("400000"));
        assert!(took >= Duration::from_millis(400), "{how} took {took:?}");
    }
}

/// What is no length makes no flush fail.
#[test]
fn a_length_that_is_none_is_none() {
    for length in [None, Some(""), Some("-1"), Some("soon"), Some("99999999999999999999")] {
        flush("conv=fsync", length);
    }
}
