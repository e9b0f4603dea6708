//! What a store leaves on the disk: in its files while it is open and after, in copies, in the folder for temporary
//! files. The plain store must be found by the same search, or the search would prove nothing.
//!
//! The folder for temporary files is an environment variable's, so each search runs in a process of its own: this
//! test program again, told by another variable what to do.

use crate::{MARK, Secret, kinds, marked, secrets};
use std::path::Path;
use std::process::Command;
use touchstone_store::{Options, Result};

/// Which store the process makes, and where.
const ORDERS: &str = "TOUCHSTONE_TRACES_OF";

fn options(name: &str) -> Options {
    kinds().into_iter().find(|(kind, _)| *kind == name).map_or(Options::new(), |(_, options)| options)
}

/// Everything that may write a record somewhere.
fn work(folder: &Path, options: Options) -> Result<()> {
    let path = folder.join("store.db");
    // The log is never emptied, and the cache so small that transactions and sorts spill.
    let options = options.checkpoint_pages(u32::MAX).cache_bytes(20_000);
    let store = options.open(&path)?;
    store.insert_all(&secrets(20_000))?;
    store.read(|snapshot| {
        snapshot.sql(|sql| {
            // No index has this order: all rows are sorted.
            let mut sorted = sql.prepare("select * from secret order by body || title desc")?;
            let mut rows = sorted.query(())?;
            while rows.next()?.is_some() {}
            Ok(())
        })?;
        assert_eq!(snapshot.query::<Secret>().order(|secret| secret.title.descending()).all()?.len(), 20_000);
        Ok(())
    })?;
    store.write(|transaction| {
        transaction.sql(|sql| {
            sql.execute_batch(
                "create index by_body on secret (body, title);
                 create temporary table sorted as select * from secret order by body;
                 drop table sorted",
            )
        })?;
        transaction.of::<Secret>().remove_where(|secret| secret.id.eq(7)).map(drop)
    })?;
    store.backup(folder.join("backup"))?;
    // While the store is open its log is there; after, the file alone.
    std::fs::create_dir(folder.join("open")).unwrap();
    for ending in ["", "-wal", "-shm"] {
        let name = format!("store.db{ending}");
        std::fs::copy(folder.join(&name), folder.join("open").join(&name)).unwrap();
    }
    Ok(())
}

#[test]
fn nothing_in_the_clear_is_left_anywhere() {
    if let Ok(orders) = std::env::var(ORDERS) {
        let (name, folder) = orders.split_once(' ').unwrap();
        work(Path::new(folder), options(name)).unwrap();
        return;
    }
    for name in ["plain", "aegis", "sqlcipher"] {
        let directory = tempfile::tempdir().unwrap();
        let temporary = directory.path().join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "traces::nothing_in_the_clear_is_left_anywhere"])
            .env(ORDERS, format!("{name} {}", directory.path().display()))
            .env("TMPDIR", &temporary)
            .env("SQLITE_TMPDIR", &temporary)
            .output()
            .unwrap();
        assert!(status.status.success(), "{name}: {}", String::from_utf8_lossy(&status.stderr));
        let found = marked(directory.path());
        if name == "plain" {
            assert_eq!(found, ["backup", "store.db", "store.db-wal"], "the search finds {MARK} where it is");
        } else {
            assert_eq!(found, Vec::<String>::new(), "{name}");
        }
    }
}

/// A store has a log and no rollback journal; but a program of somebody else's may take the log away.
#[test]
fn a_rollback_journal_is_encrypted_too() {
    let scheme = |name: &str| match name {
        "aegis" => "pragma cipher = 'aegis'; pragma algorithm = 'aegis-256x2';",
        "sqlcipher" => "pragma cipher = 'sqlcipher'; pragma legacy = 4;",
        _ => "",
    };
    for (name, options) in [("plain", Options::new())].into_iter().chain(kinds()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        options.open(&path).unwrap().insert_all(&secrets(1000)).unwrap();
        let sql = rusqlite::Connection::open(&path).unwrap();
        if name != "plain" {
            let hex = "07".repeat(32);
            sql.execute_batch(&format!("{} pragma key = 'raw:{hex}'", scheme(name))).unwrap();
        }
        // Old pages go into the journal before they are written over, and with this cache they are soon.
        sql.execute_batch(
            "pragma journal_mode = delete; pragma cache_size = 5; begin immediate; update secret set body = x'00'",
        )
        .unwrap();
        let found = marked(directory.path());
        assert!(directory.path().join("store.db-journal").exists(), "{name}");
        assert_eq!(found.contains(&"store.db-journal".to_owned()), name == "plain", "{name}: {found:?}");
        assert_eq!(found.is_empty(), name != "plain", "{name}: {found:?}");
    }
}
