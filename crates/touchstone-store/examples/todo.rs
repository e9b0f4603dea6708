//! A to-do list: a model with a nested value, queries, named lists, and a second version of the program that finds the
//! rows of the first.
//!
//! `cargo run -p touchstone-store --example todo`

use std::error::Error;
use std::path::Path;
use touchstone_store::{Nested, Record, Result, Store};

/// The program as it was first.
mod first {
    use touchstone_store::Record;

    #[derive(Record, Clone, Debug, PartialEq)]
    pub struct Task {
        #[record(key)]
        pub id: i64,
        pub name: String,
        pub done: bool,
    }
}

/// The program as it is now: a field was renamed, three were added, and rows that were written before are read.
#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    #[record(key)]
    id: i64,
    #[record(column = "name")]
    title: String,
    done: bool,
    #[record(index)]
    due: Option<i64>,
    #[record(default = 3)]
    priority: u8,
    #[record(default)]
    steps: Vec<Step>,
}

/// What lies inside a column of a task.
#[derive(Nested, Clone, Debug, PartialEq)]
struct Step {
    #[tag(1)]
    text: String,
    #[tag(2)]
    done: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("todo.db");
    as_it_was_first(&path)?;
    let store = Store::open(&path)?;
    evolve(&store)?;
    ask(&store)?;
    keep_lists(&store)?;
    Ok(())
}

fn as_it_was_first(path: &Path) -> Result<()> {
    let store = Store::open(path)?;
    let names = ["Write the guide", "Read it aloud", "Water the plants"];
    let tasks: Vec<first::Task> =
        (1..).zip(names).map(|(id, name)| first::Task { id, name: name.to_owned(), done: id == 3 }).collect();
    let count = store.insert_all(&tasks)?;
    println!("The first version wrote {count} tasks.");
    Ok(())
}

fn evolve(store: &Store) -> Result<()> {
    let task = store.get::<Task>(&1)?.expect("the first version wrote it");
    assert_eq!((task.title.as_str(), task.priority, task.due), ("Write the guide", 3, None));
    println!("The second version reads them: {:?}, priority {}.", task.title, task.priority);
    // No row was rewritten so far; with the first write the table gets its new columns.
    store.write(|transaction| {
        let mut tasks = transaction.of::<Task>();
        tasks.update(&1, |task| {
            task.due = Some(20);
            task.steps.push(Step { text: "an outline".to_owned(), done: true });
            task.steps.push(Step { text: "examples".to_owned(), done: false });
        })?;
        tasks.update(&2, |task| (task.due, task.priority) = (Some(25), 1))
    })?;
    assert_eq!(
        store.all::<first::Task>()?.len(),
        3,
        "the first version can still read what the second wrote"
    );
    Ok(())
}

fn ask(store: &Store) -> Result<()> {
    let snapshot = store.snapshot()?;
    let open = snapshot.query::<Task>().filter(|task| task.done.eq(false));
    for task in open.order(|task| task.priority.ascending()).order(|task| task.due.ascending()).all()? {
        let steps = task.steps.iter().filter(|step| step.done).count();
        println!("{} (priority {}, {steps} of {} steps)", task.title, task.priority, task.steps.len());
    }
    // Whether a task without a date is late is unknown, so it is not among them.
    let late = snapshot.query::<Task>().filter(|task| task.due.lt(30).and(task.done.eq(false)));
    assert_eq!(late.count()?, 2);
    let plan = snapshot.query::<Task>().filter(|task| task.due.lt(30)).explain()?;
    println!("How it is found: {}", plan.plan.join("; "));
    assert!(plan.plan[0].contains("USING INDEX"));
    Ok(())
}

fn keep_lists(store: &Store) -> Result<()> {
    let task = |id, title: &str| Task {
        id,
        title: title.to_owned(),
        done: false,
        due: None,
        priority: 3,
        steps: Vec::new(),
    };
    store.write(|transaction| {
        transaction.collection("home")?.insert(&task(1, "Bake bread"))?;
        transaction.collection("work")?.insert(&task(1, "Answer letters"))
    })?;
    for name in ["home", "work", "elsewhere"] {
        let tasks = store.read(|snapshot| snapshot.collection::<Task>(name)?.all())?;
        println!("List {name}: {} tasks", tasks.len());
        assert_eq!(tasks.len(), usize::from(name != "elsewhere"));
    }
    Ok(())
}
