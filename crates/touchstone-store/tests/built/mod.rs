//! Examples as programs.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::Command;

/// The program of an example. Cargo has compiled it already where the whole workspace is tested, and else does so now. It is asked for
/// the workspace's, because the features of one package alone are others: the store and its engine would be compiled again for it.
pub fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a test is a program");
    // A test lies in `<target>/<profile>/deps`.
    let profile = test.ancestors().nth(2).expect("it lies in a profile's folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--quiet", "--locked", "--workspace"]);
    cargo.args(["--example", name, "--target-dir"]).arg(profile.with_file_name(""));
    // Cargo tells a test about its package in variables. Build scripts of dependencies look at some of these, and would be run again.
    for (name, _) in env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            cargo.env_remove(name);
        }
    }
    // `make test` lints what it compiles: by the compiler alone the store would be compiled again.
    if env::var_os("CLIPPY_ARGS").is_some() {
        cargo.env("CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.output().expect("cargo can be started");
    assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
    profile.join("examples").join(format!("{name}{EXE_SUFFIX}"))
}
