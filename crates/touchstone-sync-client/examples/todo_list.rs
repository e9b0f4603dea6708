//! A to-do list that is kept on several devices, and edited where there is no network.
//!
//! ```text
//! cargo run -p touchstone-sync-client --example todo_list -- --device phone add milk
//! cargo run -p touchstone-sync-client --example todo_list -- --device phone sync
//! cargo run -p touchstone-sync-client --example todo_list -- --device laptop watch
//! ```
//!
//! A device is a file of this folder, `todo-phone.db`. What both devices change of a task at once is merged field by field. The page
//! `todo_list.html` beside this file shows the same list in a browser.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use touchstone_sync_client::{Conflict, Displaced, Event, Options, Replica, Resolution, Service};

/// A to-do list on several devices
#[derive(Parser)]
struct Todo {
    /// This device
    #[arg(long, default_value = "device")]
    device: String,
    /// The file of its list; `todo-<device>.db`, unless said
    #[arg(long)]
    file: Option<PathBuf>,
    /// The sync service
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "TOUCHSTONE_SYNC_URL")]
    url: String,
    /// The user's token, as `touchstone-sync token create` prints it
    #[arg(long, env = "TOUCHSTONE_SYNC_TOKEN", hide_env_values = true)]
    token: String,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add a task
    Add { words: Vec<String> },
    /// Mark a task as done
    Done { words: Vec<String> },
    /// Remove a task
    Remove { words: Vec<String> },
    /// Print the list of this device
    List,
    /// Send what was edited here, and fetch what was edited elsewhere
    Sync,
    /// Stay in step, and print the list whenever it changes
    Watch,
}

/// A task, as the service keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Task {
    text: String,
    done: bool,
}

impl Task {
    fn read(data: &str) -> Option<Task> {
        serde_json::from_str(data).ok()
    }

    fn write(&self) -> String {
        serde_json::to_string(self).expect("texts and truths are JSON")
    }
}

fn main() -> Result<()> {
    let todo = Todo::parse();
    let file = todo.file.unwrap_or_else(|| format!("todo-{}.db", todo.device).into());
    let replica = Options::new(Service::new(todo.url, todo.token))
        .device(todo.device)
        .on_conflict(merged)
        .on_displaced(|displaced| {
            if let Displaced::Refused { data, why, .. } = displaced {
                eprintln!("the service does not take {}: {why}", data.unwrap_or_default());
            }
        })
        .open(file)?;
    match todo.verb {
        Verb::Add { words } => add(&replica, words.join(" ")),
        Verb::Done { words } => {
            let (id, _) = find(&replica, &words.join(" "))?;
            replica.update(&id, |data| data.map(done))?;
            Ok(())
        }
        Verb::Remove { words } => Ok(replica.delete(&find(&replica, &words.join(" "))?.0)?),
        Verb::List => {
            print!("{}", listed(&replica)?);
            Ok(())
        }
        Verb::Sync => {
            let synced = replica.sync()?;
            println!("sent {}, fetched {}", synced.sent, synced.fetched);
            Ok(())
        }
        Verb::Watch => watch(&replica),
    }
}

/// Two devices that add the same task have added two: each has a name that no other has.
fn add(replica: &Replica, text: String) -> Result<()> {
    if text.is_empty() {
        bail!("a task has no words: say what is to be done, as in `add milk`");
    }
    let id = getrandom::u64().context("the system gives no random bytes")?;
    Ok(replica.put(&format!("task/{id:016x}"), &Task { text, done: false }.write())?)
}

/// Tasks by their names, in the order of their words.
fn tasks(replica: &Replica) -> Result<Vec<(String, Task)>> {
    let tasks = replica.list()?.into_iter();
    let mut tasks: Vec<_> = tasks.filter_map(|item| Some((item.id, Task::read(&item.data?)?))).collect();
    tasks.sort_by(|(_, one), (_, other)| (&one.text, one.done).cmp(&(&other.text, other.done)));
    Ok(tasks)
}

/// The same task, done. What is no task stays as it is.
fn done(data: &str) -> String {
    Task::read(data).map_or_else(|| data.to_owned(), |task| Task { done: true, ..task }.write())
}

fn find(replica: &Replica, words: &str) -> Result<(String, Task)> {
    let found = tasks(replica)?.into_iter().find(|(_, task)| task.text == words);
    found.with_context(|| format!("there is no task `{words}` here: `list` prints those that there are"))
}

fn listed(replica: &Replica) -> Result<String> {
    let line = |(_, task): (String, Task)| format!("[{}] {}\n", if task.done { 'x' } else { ' ' }, task.text);
    Ok(tasks(replica)?.into_iter().map(line).collect())
}

fn watch(replica: &Replica) -> Result<()> {
    let (copy, mut shown) = (replica.clone(), None);
    let watching = replica.watch(move |event| match (event, listed(&copy)) {
        (Event::Synced(_), Ok(list)) if shown.as_ref() != Some(&list) => {
            println!("{list}---");
            shown = Some(list);
        }
        (Event::Away(error), _) => eprintln!("{error}"),
        // Whoever waits for the watch is told of it.
        (Event::Ended(_), _) => {}
        (_, Err(error)) => eprintln!("{error:#}"),
        _ => {}
    })?;
    Ok(watching.wait()?)
}

/// Each field as the one has it who has changed it; where both have, the words are this device's, and a task is done that one has done.
/// A task that one device has deleted and the other has changed stays.
fn merged(conflict: &Conflict) -> Resolution {
    let [base, mine, theirs] =
        [&conflict.base, &conflict.mine, &conflict.theirs].map(|data| data.as_deref().and_then(Task::read));
    let (mine, theirs) = match (mine, theirs) {
        (Some(mine), Some(theirs)) => (mine, theirs),
        (Some(_), None) => return Resolution::Mine,
        (None, _) => return Resolution::Theirs,
    };
    let has_my_words = base.is_none_or(|base| base.text != mine.text);
    let text = if has_my_words { mine.text } else { theirs.text };
    Resolution::Merged(Some(Task { text, done: mine.done || theirs.done }.write()))
}
