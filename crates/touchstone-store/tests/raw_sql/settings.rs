//! Settings of a connection: what a program changes for its own SQL is gone with the call, whatever it is, and whether the
//! transaction has ended by then or not.

use super::{Place, run};
use touchstone_store::rusqlite::types::Value;
use touchstone_store::rusqlite::{self, Connection};
use touchstone_store::{Error, ErrorKind, Result};

/// What every setting is given, one after the other.
const VALUES: [&str; 6] = ["on", "1", "2", "100", "off", "0"];

/// No transaction is left after it.
const ENDS: &str = "insert or rollback into task(id, title) values (1, 'there')";

/// Temporary tables are in memory, whatever it says.
const WITHOUT_EFFECT: &str = "temp_store";

/// A way to have a connection lent; the same one each time.
type Lends = fn(&Place, &dyn Fn(&Connection) -> rusqlite::Result<()>) -> Result<()>;

const WAYS: [Lends; 2] = [
    |place, work| place.store.write(|transaction| transaction.sql(|sql| work(sql))),
    |place, work| place.store.read(|snapshot| snapshot.sql(|sql| work(sql))),
];

/// What the connection says of itself, setting by setting: of each pragma that answers with one value.
fn settings(sql: &Connection) -> rusqlite::Result<Vec<(String, Value)>> {
    let mut names =
        sql.prepare("select name from pragma_pragma_list where name not like '%check' order by name")?;
    let names = names.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let value = |name: &String| sql.query_row(&format!("pragma {name}"), (), |row| row.get(0)).ok();
    Ok(names.into_iter().filter_map(|name| value(&name).map(|value| (name, value))).collect())
}

/// The settings as the next one finds them to whom the connection is lent.
fn found(place: &Place, lends: Lends) -> Vec<(String, Value)> {
    let (told, tells) = std::sync::mpsc::channel();
    let asked = lends(place, &|sql| {
        told.send(settings(sql)?).expect("it is taken");
        let likes = sql.query_row("select 'a' like 'A'", (), |row| row.get(0))?;
        told.send(vec![("like".into(), likes)]).expect("it is taken");
        Ok(())
    });
    asked.expect("it is readable");
    tells.try_iter().flatten().collect()
}

/// `recursive_triggers` and others stayed set for every later transaction that got the connection, and so did
/// `foreign_keys`, where SQLite had ended the transaction.
#[test]
fn what_sql_sets_is_as_it_was_for_whoever_comes_next() {
    for lends in WAYS {
        for ending in ["", ENDS] {
            let place = Place::new();
            let before = found(&place, lends);
            assert!(before.iter().any(|(name, _)| name == "foreign_keys") && before.len() > 40, "{before:?}");
            for (name, _) in before.iter().filter(|(name, _)| name != WITHOUT_EFFECT) {
                for value in VALUES {
                    let set = format!("pragma {name} = {value}");
                    let _ = lends(&place, &|sql| {
                        let _ = run(sql, ending);
                        run(sql, &set)
                    });
                    assert_eq!(found(&place, lends), before, "{set} {ending}");
                }
            }
            let _ = lends(&place, &|sql| run(sql, "pragma case_sensitive_like = on"));
            assert_eq!(found(&place, lends), before);
        }
    }
}

/// It was on for the next transaction, which nobody had told.
#[test]
fn references_are_checked_late_until_the_transaction_ends() -> Result<()> {
    const IS_LATE: &str = "pragma defer_foreign_keys";
    let place = Place::new();
    let is_late = |sql: &Connection| sql.query_row(IS_LATE, (), |row| row.get::<_, bool>(0));
    let seen = place.store.write(|transaction| {
        transaction.sql(|sql| run(sql, "pragma defer_foreign_keys = on"))?;
        transaction.sql(is_late)
    })?;
    assert!(seen, "it is the transaction's");
    assert!(!place.store.write(|transaction| transaction.sql(is_late))?);
    let ended: Result<()> = place.store.write(|transaction| {
        let _ = transaction.sql(|sql| run(sql, ENDS));
        Err(Error::new(ErrorKind::Invalid, "never mind"))
    });
    assert!(ended.is_err());
    let late: Result<()> = place.store.write(|transaction| {
        transaction.sql(|sql| {
            let _ = run(sql, ENDS);
            run(sql, "pragma defer_foreign_keys = on")
        })
    });
    assert_eq!(late.expect_err("there is no transaction").kind(), ErrorKind::Refused);
    assert!(!place.store.write(|transaction| transaction.sql(is_late))?);
    Ok(())
}

/// A setting holds for the call that has made it, also where that asks for SQL within its SQL.
#[test]
fn what_sql_sets_holds_until_the_call_returns() -> Result<()> {
    let place = Place::new();
    let recurses =
        |sql: &Connection| sql.query_row("pragma recursive_triggers", (), |row| row.get::<_, bool>(0));
    place.store.read(|snapshot| {
        snapshot.sql(|sql| {
            run(sql, "pragma recursive_triggers = on")?;
            assert!(snapshot.sql(recurses).expect("it is readable"));
            assert!(recurses(sql)?);
            Ok(())
        })?;
        assert!(!snapshot.sql(recurses)?);
        Ok(())
    })
}
