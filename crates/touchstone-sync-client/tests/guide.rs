//! The guide: its snippets stand here to the letter, as parts of what is run, and its commands are run as they are.

#[path = "../../touchstone-store/tests/built/mod.rs"]
mod built;
mod support;

use built::example;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Hosted;
use touchstone_sync_client::{Replica, Service};

/// A service, where it is, and a path: what the guide's snippets begin with.
fn place(hosted: &Hosted) -> (Service, PathBuf) {
    (hosted.service(), hosted.path("guide"))
}

#[test]
fn a_copy() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let (service, path) = place(&hosted);
    use touchstone_sync_client::Options;

    let replica = Options::new(service).device("phone").open(&path)?;
    replica.put("note/1", "milk")?;
    replica.put("note/2", "bread")?;
    replica.delete("note/2")?;
    assert_eq!(replica.get("note/1")?.as_deref(), Some("milk"));
    assert_eq!(replica.list()?.len(), 1);
    assert_eq!(replica.pending()?, 2);

    let synced = replica.sync()?;
    assert_eq!((synced.sent, replica.pending()?), (2, 0));
    Ok(())
}

#[test]
fn what_an_object_says() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let replica = hosted.copy("guide");
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Stock {
        quantity: i64,
        // Added: older texts have none.
        #[serde(default)]
        unit: Option<String>,
        // What a newer program has added. Without this field it would be gone when this program writes.
        #[serde(flatten)]
        rest: serde_json::Map<String, serde_json::Value>,
    }

    fn taken(data: Option<&str>, number: i64) -> Result<Option<String>, Box<dyn Error>> {
        let mut stock: Stock = serde_json::from_str(data.ok_or("there is none")?)?;
        stock.quantity -= number;
        Ok(Some(serde_json::to_string(&stock)?))
    }

    replica.put("stock/milk", r#"{"quantity":5,"unit":"litre","shelf":3}"#)?;
    replica.try_update("stock/milk", |data| taken(data, 2))?;
    assert_eq!(replica.get("stock/milk")?.as_deref(), Some(r#"{"quantity":3,"unit":"litre","shelf":3}"#));
    Ok(())
}

#[test]
fn a_number_of_each_device() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    use serde::{Deserialize, Serialize};
    use touchstone_sync_client::{Conflict, Resolution};

    fn merged(conflict: &Conflict) -> Resolution {
        panic!("both have counted: {conflict:?}")
    }

    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize, Default)]
    struct Counted {
        // What each device has put in, less what it has taken out.
        by: BTreeMap<String, i64>,
    }

    fn counted(conflict: &Conflict) -> Resolution {
        let read = |data: &Option<String>| {
            data.as_deref().and_then(|data| serde_json::from_str::<Counted>(data).ok())
        };
        let (Some(mine), Some(mut theirs)) = (read(&conflict.mine), read(&conflict.theirs)) else {
            return merged(conflict);
        };
        let base = read(&conflict.base).unwrap_or_default();
        for (device, count) in mine.by {
            if base.by.get(&device) != Some(&count) {
                theirs.by.insert(device, count);
            }
        }
        Resolution::Merged(serde_json::to_string(&theirs).ok())
    }

    let [phone, laptop] = ["phone", "laptop"]
        .map(|name| hosted.options().on_conflict(counted).open(hosted.path(name)).expect("it is opened"));
    for round in 1..=3 {
        for (name, device) in [("phone", &phone), ("laptop", &laptop)] {
            device.try_update("milk", |data| -> Result<_, Box<dyn Error>> {
                let mut counted: Counted = data.map_or(Ok(Counted::default()), serde_json::from_str)?;
                *counted.by.entry(name.to_owned()).or_default() -= 1;
                Ok(Some(serde_json::to_string(&counted)?))
            })?;
        }
        for device in [&phone, &laptop, &phone] {
            device.sync()?;
        }
        for device in [&phone, &laptop] {
            let counted: Counted = serde_json::from_str(&device.get("milk")?.expect("it is there"))?;
            assert_eq!(counted.by.values().sum::<i64>(), -2 * round);
        }
    }
    Ok(())
}

/// Lets the replica and another device edit one object apart. What it becomes.
fn in_conflict(hosted: &Hosted, replica: &Replica) -> Result<Option<String>, Box<dyn Error>> {
    let other = hosted.copy("other");
    other.put("note/1", "theirs")?;
    other.sync()?;
    replica.put("note/1", "mine")?;
    replica.sync()?;
    Ok(replica.get("note/1")?)
}

#[test]
fn a_conflict_that_the_last_writer_wins() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let (service, path) = place(&hosted);
    use touchstone_sync_client::{Displaced, Options};

    let replica = Options::new(service)
        .on_displaced(|displaced| match displaced {
            Displaced::Overwritten { id, data } => println!("overwritten: {id} was {data:?}"),
            Displaced::Refused { id, why, .. } => println!("not taken: {id}, because {why}"),
            other => println!("{other:?}"),
        })
        .open(&path)?;
    assert_eq!(in_conflict(&hosted, &replica)?.as_deref(), Some("mine"));
    Ok(())
}

#[test]
fn a_conflict_that_the_program_decides() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let (service, path) = place(&hosted);
    use touchstone_sync_client::{Conflict, Options, Resolution};

    fn merged(conflict: &Conflict) -> Resolution {
        match (&conflict.mine, &conflict.theirs) {
            (Some(mine), Some(theirs)) => Resolution::Merged(Some(format!("{theirs} and {mine}"))),
            // What one device has deleted and the other has changed stays.
            (None, _) => Resolution::Theirs,
            (_, None) => Resolution::Mine,
        }
    }

    let replica = Options::new(service).on_conflict(merged).open(&path)?;
    assert_eq!(in_conflict(&hosted, &replica)?.as_deref(), Some("theirs and mine"));
    Ok(())
}

#[test]
fn staying_in_step() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let replica = hosted.copy("guide");
    use touchstone_sync_client::Event;

    let watching = replica.watch(|event| match event {
        Event::Synced(synced) => println!("in step, {} fetched", synced.fetched),
        Event::Away(error) => println!("{error}; it is asked again"),
        Event::Ended(error) => println!("{error}; the copy is no longer kept in step"),
        _ => {}
    })?;
    replica.put("note/1", "milk")?;
    watching.stop()?;
    Ok(())
}

#[test]
fn a_live_query_of_a_copy() -> Result<(), Box<dyn Error>> {
    let hosted = Hosted::start();
    let replica = hosted.copy("guide");
    use touchstone_sync_client::Item;

    let feed = replica.store().feed()?;
    let notes = feed
        .query::<Item>()
        .filter(|item| item.id.starts_with("note/").and(item.data.is_not_null()))
        .watch()?;
    replica.put("note/2", "bread")?;
    let batch = feed.next()?.expect("the feed goes on");
    assert_eq!(batch.get(notes.id()).expect("it has changed").results::<Item>()?.len(), 1);
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn guide() -> String {
    std::fs::read_to_string(root().join("docs/guide-sync-client.md")).expect("the guide is there")
}

/// The guide's fenced blocks in a language.
fn blocks<'g>(guide: &'g str, language: &str) -> Vec<&'g str> {
    let begin = format!("```{language}\n");
    guide.split(&*begin).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_snippet_of_the_guide_stands_here() {
    let here = include_str!("guide.rs");
    let guide = guide();
    let snippets = blocks(&guide, "rust");
    assert!(snippets.len() >= 5, "only {} snippets were found", snippets.len());
    // Where a line is broken is for the formatter of Rust to say.
    let words = |text: &str| text.split_whitespace().collect::<String>();
    let here = words(here);
    for snippet in snippets {
        assert!(here.contains(&words(snippet)), "this is run by no test:\n{snippet}");
    }
}

#[test]
fn the_guides_commands_print_what_it_says() {
    let hosted = Hosted::start();
    let guide = guide();
    let [commands, printed] = blocks(&guide, "text")[..] else {
        panic!("the guide has its commands and what they print")
    };
    let run = "cargo run --quiet -p touchstone-sync-client --example todo_list --";
    assert!(commands.contains(run), "{commands}");
    let commands = commands.replace(run, &example("todo_list").display().to_string());
    let commands = commands.replace("target/try/touchstone-sync token create --user ada", "printenv TOKEN");
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", &commands]).current_dir(&folder);
    let output =
        shell.env("TOKEN", &hosted.token).env("TOUCHSTONE_SYNC_URL", &hosted.address).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.lines().last(),
        printed.lines().next(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What a program can be told, it must be able to look up.
#[test]
fn the_guide_says_of_every_kind_of_error_what_to_do() {
    let source = std::fs::read_to_string(root().join("crates/touchstone-sync-client/src/error.rs")).unwrap();
    let kinds = source.split_once("pub enum ErrorKind {").and_then(|(_, rest)| rest.split_once("\n}"));
    let kinds = kinds.expect("it is there").0.lines().filter_map(|line| line.trim().strip_suffix(','));
    let kinds: Vec<&str> = kinds.filter(|line| line.chars().all(char::is_alphanumeric)).collect();
    assert!(kinds.len() >= 8, "{kinds:?}");
    let guide = guide();
    for kind in kinds {
        assert!(guide.contains(&format!("\n| `{kind}` |")), "`{kind}` is not in the guide's table");
    }
}
