//! A board of tasks that follows what is written: one feed, a list of what comes next, a number, and a sum by SQL. Two
//! threads write, and a third shows what each transaction changed.
//!
//! `cargo run -p touchstone-store --example live`

use std::error::Error;
use std::thread;
use touchstone_store::dynamic::Value;
use touchstone_store::{Difference, Feed, Record, Shared, SqlRows, Store};

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
    owner: String,
    #[record(index)]
    due: Option<i64>,
    minutes: i64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::open(directory.path().join("board.db"))?;
    let task = |id, title: &str, owner: &str, due, minutes| Task {
        id,
        title: title.into(),
        owner: owner.into(),
        due,
        minutes,
    };
    store.insert_all(&[
        task(1, "Water the plants", "Ada", Some(3), 10),
        task(2, "Repair the bicycle", "Emma", Some(8), 90),
        task(3, "Learn the violin", "Ada", None, 6000),
    ])?;

    let feed = store.feed()?;
    let showing = thread::spawn(move || show(&feed).map_err(|error| error.to_string()));

    // Both threads write at the same time; transactions come one after the other all the same.
    let ada = thread::spawn({
        let store = store.clone();
        move || {
            store.insert(&task(4, "Write to Jane", "Ada", Some(1), 30))?;
            store.write(|transaction| transaction.update::<Task>(&1, |task| task.due = Some(10)))
        }
    });
    let emma = thread::spawn({
        let store = store.clone();
        move || store.remove::<Task>(&2)
    });
    ada.join().expect("it does not panic")?;
    emma.join().expect("it does not panic")?;
    // With this the last thing there is to show is written.
    store.insert(&task(5, "Go home", "Emma", Some(99), 1))?;

    for line in showing.join().expect("it does not panic")? {
        println!("{line}");
    }
    Ok(())
}

/// Shows what changes until somebody goes home, and then what there is.
fn show(feed: &Feed) -> Result<Vec<String>, Box<dyn Error>> {
    let mut next =
        feed.query::<Task>().filter(|task| task.due.lt(100)).order(|task| task.due.ascending()).watch()?;
    let all = feed.query::<Task>().watch_count()?;
    let minutes = feed.watch_sql("select owner, sum(minutes) from task group by owner order by owner", [])?;

    let mut shown = next.take_results().to_vec();
    let (mut count, mut sums) = (all.count(), minutes.rows().clone());
    let is_over = |shown: &[Shared<Task>], sums: &SqlRows| {
        let newest = shown.last().is_some_and(|task| task.title == "Go home");
        newest && sums.iter().any(|row| row == ["Emma".into(), 1.into()])
    };
    while !is_over(&shown, &sums) {
        let Some(batch) = feed.next()? else { break };
        for update in batch {
            if update.id() == next.id() {
                patch(&mut shown, update.diff()?);
            } else if update.id() == all.id() {
                count = update.count()?;
            } else {
                sums = update.sql_rows()?.clone();
            }
        }
    }

    let mut lines = vec![next.explain()?.to_string(), minutes.explain()?.to_string()];
    lines.push(format!("{count} tasks. Next:"));
    lines.extend(shown.iter().map(|task| format!("- {}, {}", task.title, task.owner)));
    for row in sums.iter() {
        if let [Value::Text(owner), Value::Integer(minutes)] = row {
            lines.push(format!("{owner} has work for {minutes} minutes."));
        }
    }
    Ok(lines)
}

/// Does to a list what the difference says: what goes is taken out from the end, then what comes is put in.
fn patch(shown: &mut Vec<Shared<Task>>, diff: Vec<Difference<Task>>) {
    for step in diff.iter().rev() {
        if let Difference::Removed { at } | Difference::Changed { old_at: at, .. } = step {
            shown.remove(*at);
        }
    }
    for step in diff {
        if let Difference::Inserted { at, record } | Difference::Changed { at, record, .. } = step {
            shown.insert(at, record);
        }
    }
}
