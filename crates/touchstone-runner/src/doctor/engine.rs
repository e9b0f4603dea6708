//! What an engine says of itself: its SQLite, whether that carries the WAL-reset fix, and which options move numbers.

/// Options that a default SQLite of today reports as well; they tell nothing.
const STOCK: [&str; 17] = [
    "DEFAULT_AUTOVACUUM",
    "DEFAULT_CACHE_SIZE=-2000",
    "DEFAULT_FILE_FORMAT=4",
    "DEFAULT_JOURNAL_SIZE_LIMIT=-1",
    "DEFAULT_MMAP_SIZE=0",
    "DEFAULT_PAGE_SIZE=4096",
    "DEFAULT_PCACHE_INITSZ=20",
    "DEFAULT_RECURSIVE_TRIGGERS",
    "DEFAULT_SECTOR_SIZE=4096",
    "DEFAULT_SYNCHRONOUS=2",
    "DEFAULT_WAL_AUTOCHECKPOINT=1000",
    "DEFAULT_WAL_SYNCHRONOUS=2",
    "DEFAULT_WORKER_THREADS=0",
    "MUTEX_PTHREADS",
    "SYSTEM_MALLOC",
    "TEMP_STORE=1",
    "THREADSAFE=1",
];

/// How those options begin that can move a number.
const TELLING: [&str; 13] = [
    "COMPILER=",
    "DEBUG",
    "DEFAULT_",
    "ENABLE_API_ARMOR",
    "ENABLE_EXPENSIVE_ASSERT",
    "ENABLE_SETLK_TIMEOUT",
    "ENABLE_STAT4",
    "ENABLE_STMT_SCANSTATUS",
    "HAS_CODEC",
    "MUTEX_",
    "SECURE_DELETE",
    "TEMP_STORE=",
    "THREADSAFE=",
];

/// The SQLite version in words such as `SQLite 3.54.1` or `SQLCipher 4.19.0 on SQLite 3.53.4`.
pub(super) fn sqlite_version(engine: &str) -> Option<&str> {
    let (_, after) = engine.split_once("SQLite ")?;
    after.split_whitespace().next()
}

/// Whether the linked SQLite carries the fix of the WAL-reset bug, which can damage a log that two connections
/// checkpoint at once; none when it is not SQLite.
pub(super) fn carries_wal_reset_fix(engine: &str) -> Option<bool> {
    touchstone::verdict::carries_wal_reset_fix(sqlite_version(engine)?)
}

/// Those of the compile options that can move a number and are not the default.
pub(super) fn telling(compile_options: &[String]) -> Vec<&str> {
    let telling =
        |option: &&str| TELLING.iter().any(|start| option.starts_with(start)) && !STOCK.contains(option);
    compile_options.iter().map(String::as_str).filter(telling).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_is_found_below_a_cipher() {
        assert_eq!(sqlite_version("SQLite 3.54.1"), Some("3.54.1"));
        assert_eq!(sqlite_version("SQLCipher 4.19.0 on SQLite 3.53.4"), Some("3.53.4"));
        assert_eq!(sqlite_version("redb 4.4.0"), None);
        assert_eq!(sqlite_version("SQLite "), None);
    }

    #[test]
    fn the_fix_is_looked_for_in_the_sqlite_that_is_linked() {
        assert_eq!(carries_wal_reset_fix("SQLite 3.54.1"), Some(true));
        assert_eq!(carries_wal_reset_fix("SQLCipher 4.12.0 on SQLite 3.51.1"), Some(false));
        assert_eq!(carries_wal_reset_fix("SQLite unknown"), None);
        assert_eq!(carries_wal_reset_fix("LMDB 0.9.33"), None);
    }

    #[test]
    fn only_options_that_move_numbers_are_told() {
        let options =
            ["COMPILER=gcc-12.2.0", "DEFAULT_CACHE_SIZE=-2000", "DEFAULT_WAL_SYNCHRONOUS=1", "ENABLE_FTS5"];
        let options: Vec<String> = options.map(String::from).into();
        assert_eq!(telling(&options), ["COMPILER=gcc-12.2.0", "DEFAULT_WAL_SYNCHRONOUS=1"]);
        assert!(telling(&[]).is_empty());
    }
}
