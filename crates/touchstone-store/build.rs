//! Compiles the engine: SQLite3 Multiple Ciphers, which is SQLite with encrypted pages, with the options of this store.

/// A file without a key is a plain SQLite file, so one build serves both.
const OPTIONS: [&str; 25] = [
    // One thread at a time uses a connection, and connections share only the file.
    "SQLITE_THREADSAFE=2",
    "SQLITE_DEFAULT_MEMSTATUS=0",
    "SQLITE_OMIT_SHARED_CACHE",
    // With a write-ahead log (WAL), the store itself flushes commits, if its class asks for it.
    "SQLITE_DEFAULT_WAL_SYNCHRONOUS=1",
    // On Apple's systems copied pages reach the disk itself, and not only its cache, before the log restarts.
    "SQLITE_DEFAULT_CKPTFULLFSYNC=1",
    "SQLITE_DQS=0",
    "SQLITE_LIKE_DOESNT_MATCH_BLOBS",
    "SQLITE_OMIT_DEPRECATED",
    "SQLITE_USE_ALLOCA",
    "SQLITE_DEFAULT_FOREIGN_KEYS=1",
    // Sorts and temporary tables stay in memory: an encrypted store leaves no plaintext in a temporary file.
    "SQLITE_TEMP_STORE=3",
    // Pages as rows, for tests and for a driver of the lab: the store itself does not use them.
    "SQLITE_ENABLE_DBPAGE_VTAB",
    "SQLITE_ENABLE_PREUPDATE_HOOK",
    "SQLITE_ENABLE_STAT4",
    "SQLITE_ENABLE_FTS5",
    "SQLITE_ENABLE_RTREE",
    "SQLITE_ENABLE_MATH_FUNCTIONS",
    "SQLITE_ENABLE_COLUMN_METADATA",
    "HAVE_ISNAN",
    // Of the ciphers, the two that a store can be opened with; the engine wants one of them as its default.
    "HAVE_CIPHER_AES_128_CBC=0",
    "HAVE_CIPHER_AES_256_CBC=0",
    "HAVE_CIPHER_CHACHA20=0",
    "HAVE_CIPHER_RC4=0",
    "HAVE_CIPHER_ASCON128=0",
    "CODEC_TYPE=CODEC_TYPE_AEGIS",
];

/// Turns off the engine's own allocators: they hand out parts of one block, in which a sanitizer sees no mistakes.
const OWN_ALLOCATORS_OFF: [&str; 2] = ["SQLITE_DEFAULT_LOOKASIDE=0,0", "SQLITE_DEFAULT_PCACHE_INITSZ=0"];

/// The engine's source with this store's additions.
const UNIT: &str = "src/engine/engine.c";
/// Part of the unit if the canary is asked for.
const CANARY: &str = "src/engine/canary.c";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={UNIT}");
    println!("cargo:rerun-if-changed={CANARY}");
    println!("cargo:rustc-check-cfg=cfg(shuttle)");
    println!("cargo:rustc-check-cfg=cfg(touchstone_canary)");
    let directory = sqlite3mc_src::source_dir();
    let mut build = cc::Build::new();
    build.file(UNIT).include(directory).warnings(false);
    // Without any optimisation a passphrase takes seconds and a page of AES a hundred microseconds, in every test.
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        build.opt_level(1);
    }
    OPTIONS.iter().for_each(|option| define(&mut build, option));
    sanitize(&mut build);
    // A flush of the log need not flush its time of change. On Apple's systems it must reach the disk itself.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd") => build.define("HAVE_FDATASYNC", "1"),
        Ok("macos" | "ios") => build.define("HAVE_FULLFSYNC", "1"),
        _ => &mut build,
    };
    build.compile("touchstone_sqlite");
}

fn define(build: &mut cc::Build, option: &str) {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    build.define(name, value);
}

/// Instruments the engine like the library, for `make sanitize`. The two functions that read and write the index header
/// without a lock are left out: SQLite marks them itself for clang, unless `SQLITE_NO_TSAN` is defined.
fn sanitize(build: &mut cc::Build) {
    let asked = |name: &str| std::env::var(name).ok();
    for sanitizer in asked("CARGO_CFG_SANITIZE").iter().flat_map(|names| names.split(',')) {
        build.flag(format!("-fsanitize={sanitizer}")).flag("-fno-omit-frame-pointer").debug(true);
        OWN_ALLOCATORS_OFF.iter().for_each(|option| define(build, option));
    }
    if asked("CARGO_CFG_TOUCHSTONE_CANARY").is_some() {
        build.define("TOUCHSTONE_CANARY", None);
    }
}
