//! The other side of `test_interop.py`: reads what Python wrote, and writes a record that Python reads.

use std::error::Error;
use touchstone_store::{Nested, Record, Store};

#[derive(Nested, Clone, Debug, PartialEq)]
enum Door {
    #[tag(0)]
    Open,
    #[tag(1)]
    Locked {
        #[tag(1)]
        keys: Vec<String>,
    },
}

#[derive(Nested, Clone, Debug, PartialEq)]
struct Room {
    #[tag(1)]
    name: String,
    #[tag(2)]
    doors: Vec<Door>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct House {
    #[record(key)]
    street: String,
    #[record(key)]
    number: u32,
    rooms: Vec<Room>,
    #[record(index)]
    colour: Option<String>,
    #[record(default = 2)]
    storeys: u8,
    pairs: Vec<(String, i32)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("interop FILE")?;
    let store = Store::open(path)?;
    let keys = vec!["front".to_owned(), "back".to_owned()];
    let hall = Room { name: "hall".into(), doors: vec![Door::Open, Door::Locked { keys }] };
    let expected = [
        House {
            street: "Elm".into(),
            number: 1,
            rooms: vec![hall],
            colour: Some("red".into()),
            storeys: 3,
            pairs: vec![("trees".into(), 2), ("cats".into(), -1)],
        },
        House {
            street: "Elm".into(),
            number: 2,
            rooms: Vec::new(),
            colour: None,
            storeys: 2,
            pairs: Vec::new(),
        },
    ];
    let found = store.all::<House>()?;
    if found != expected {
        return Err(format!("{found:?} was found where {expected:?} was expected").into());
    }
    let attic = Room { name: "attic".into(), doors: vec![Door::Locked { keys: Vec::new() }] };
    store.insert(&House {
        street: "Oak".into(),
        number: 3,
        rooms: vec![attic],
        colour: None,
        storeys: 1,
        pairs: vec![("mice".into(), 7)],
    })?;
    Ok(())
}
