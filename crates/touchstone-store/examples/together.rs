//! A to-do list that several processes change and watch at the same time, each of them in its own language: start it
//! twice with the same file, or once beside `python/examples/together.py`.
//!
//!     cargo run --example together -- tasks.db
//!
//! It reads commands, a line each: `add TITLE`, `done NUMBER`, `drop NUMBER`, `quit`. Whenever the open tasks are other than
//! before, whoever changed them, they are printed.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use touchstone_store::{Record, Results, Store};

/// One thing to do.
#[derive(Record, Clone, Debug)]
struct Task {
    #[record(key)]
    id: i64,
    title: String,
    done: bool,
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("which file? Say: together tasks.db");
        return ExitCode::from(64);
    };
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &str) -> Result<(), Box<dyn Error>> {
    let store = Store::open(path)?;
    let feed = store.feed()?;
    let mut open =
        feed.query::<Task>().filter(|task| task.done.eq(false)).order(|task| task.id.ascending()).watch()?;
    show(&open.take_results())?;

    // Its thread prints while this one waits for what is typed.
    let _listener = feed.listen(|batch| {
        for update in batch {
            match update.results::<Task>() {
                // Nobody reads any more: then nobody misses it.
                Ok(tasks) => drop(show(&tasks)),
                Err(error) => eprintln!("what was printed may be old: {error}"),
            }
        }
    })?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (command, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match command {
            "quit" => break,
            "" => {}
            command => {
                if let Err(error) = obey(&store, command, rest) {
                    eprintln!("{error}");
                }
            }
        }
    }
    Ok(())
}

fn obey(store: &Store, command: &str, rest: &str) -> Result<(), Box<dyn Error>> {
    match command {
        "add" if !rest.is_empty() => Ok(store.write(|transaction| {
            let last = transaction.query::<Task>().order(|task| task.id.descending()).first()?;
            let id = last.map_or(1, |task| task.id + 1);
            transaction.insert(&Task { id, title: rest.to_owned(), done: false })
        })?),
        "done" => {
            let id: i64 = rest.parse()?;
            let there =
                store.write(|transaction| transaction.update::<Task>(&id, |task| task.done = true))?;
            if there { Ok(()) } else { Err(format!("there is no task {id}").into()) }
        }
        "drop" => {
            let id: i64 = rest.parse()?;
            if store.remove::<Task>(&id)? { Ok(()) } else { Err(format!("there is no task {id}").into()) }
        }
        _ => Err("say `add TITLE`, `done NUMBER`, `drop NUMBER` or `quit`".into()),
    }
}

/// Prints the tasks at once: whoever reads along may be a program.
fn show(tasks: &Results<Task>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "to do: {}", tasks.len())?;
    for task in tasks {
        writeln!(out, "  {} {}", task.id, task.title)?;
    }
    out.flush()
}
