//! Lent SQL cannot take the log from under the store, whatever it says.

use super::{Task, alone, fill, task, ways};

/// With one connection open, its SQL could give the log up, whose index the store then looked at: a crash.
#[test]
fn lent_sql_does_not_give_the_log_up() {
    const SAYINGS: [&str; 4] = [
        "commit; pragma journal_mode = delete",
        "commit; pragma journal_mode = off",
        "rollback; pragma journal_mode = memory; begin immediate",
        "commit; pragma locking_mode = exclusive; pragma journal_mode = truncate; begin",
    ];
    alone("lent::lent_sql_does_not_give_the_log_up", |directory| {
        for (number, options) in ways().into_iter().enumerate() {
            for (say, sql) in SAYINGS.iter().enumerate() {
                for writes in [false, true] {
                    let path = directory.join(format!("{number}{say}{writes}.db"));
                    fill(&path, &options, 3, "this");
                    let store = options.clone().open(&path).expect("it opens");
                    // It may be refused, and the transaction may have ended; that is for lent SQL's own tests.
                    let _ = if writes {
                        store.write(|transaction| transaction.sql(|lent| lent.execute_batch(sql)))
                    } else {
                        store.read(|snapshot| snapshot.sql(|lent| lent.execute_batch(sql)))
                    };
                    for _ in 0..20 {
                        assert_eq!(store.all::<Task>().expect("it is readable").len(), 3, "{sql}");
                    }
                    drop(store);
                    let again = options.clone().open(&path).expect("it opens");
                    again.insert(&task(9, "later")).expect("it is written");
                    assert!(again.check().records::<Task>().run().expect("it is readable").is_whole());
                }
            }
        }
    });
}
