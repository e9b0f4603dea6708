//! Devices that edit offline, whose requests and answers get lost, and whose programs end and begin again, come to the same state.

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use support::{Fault, Hosted, Stored, shown};
use touchstone_sync_client::{Displaced, Options, Replica, Resolution};

const DEVICES: usize = 3;
const OBJECTS: usize = 3;

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Put {
        device: usize,
        object: usize,
    },
    Delete {
        device: usize,
        object: usize,
    },
    /// A sync, and what the network does to its requests.
    Sync {
        device: usize,
        faults: Vec<Fault>,
    },
    /// The program ends and begins again.
    Reopen {
        device: usize,
    },
    /// The service forgets deletions.
    Forget,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::None),
        2 => Just(Fault::LosesAnswer),
        1 => Just(Fault::LosesRequest),
        1 => Just(Fault::Busy),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..DEVICES, 0..OBJECTS).prop_map(|(device, object)| Step::Put { device, object }),
        2 => (0..DEVICES, 0..OBJECTS).prop_map(|(device, object)| Step::Delete { device, object }),
        6 => (0..DEVICES, vec(fault(), 0..4)).prop_map(|(device, faults)| Step::Sync { device, faults }),
        2 => (0..DEVICES).prop_map(|device| Step::Reopen { device }),
        1 => Just(Step::Forget),
    ];
    vec(step, 1..60)
}

/// Steps that delete nothing.
fn steps_that_keep() -> impl Strategy<Value = Vec<Step>> {
    let kept = |step| match step {
        Step::Delete { device, object } => Step::Put { device, object },
        other => other,
    };
    steps().prop_map(move |steps| steps.into_iter().map(kept).collect())
}

/// How a device is opened.
type Opening = Box<dyn Fn(Options, usize) -> Options>;

/// Devices of one user.
struct World {
    hosted: Hosted,
    opening: Opening,
    devices: Vec<Option<Replica>>,
    /// Whether an answer to a device was lost, so that it cannot know what was stored.
    doubts: [bool; DEVICES],
    values: Cell<u32>,
    /// The last edit of an object by a device.
    last: BTreeMap<(usize, usize), Option<String>>,
    /// What a device showed where it put a value.
    made_on: HashMap<String, Option<String>>,
}

impl World {
    fn new(opening: impl Fn(Options, usize) -> Options + 'static) -> World {
        let mut world = World {
            hosted: Hosted::start(),
            opening: Box::new(opening),
            devices: Vec::new(),
            doubts: [false; DEVICES],
            values: Cell::new(0),
            last: BTreeMap::new(),
            made_on: HashMap::new(),
        };
        world.devices = (0..DEVICES).map(|device| Some(world.open(device))).collect();
        world
    }

    fn open(&self, device: usize) -> Replica {
        let name = name_of(device);
        (self.opening)(self.hosted.options().device(&name), device).open(self.hosted.path(&name)).unwrap()
    }

    fn replica(&self, device: usize) -> &Replica {
        self.devices[device].as_ref().expect("it is open")
    }

    /// A value that nobody else makes.
    fn value(&self) -> String {
        self.values.set(self.values.get() + 1);
        self.values.get().to_string()
    }

    fn edit(&mut self, device: usize, object: usize, data: Option<String>) {
        let id = format!("o{object}");
        let replica = self.replica(device);
        let before = replica.get(&id).unwrap();
        match &data {
            Some(data) => replica.put(&id, data).unwrap(),
            None => replica.delete(&id).unwrap(),
        }
        assert_eq!(replica.get(&id).unwrap(), data, "an edit shows at once");
        self.made_on.extend(data.clone().map(|data| (data, before)));
        self.last.insert((device, object), data);
    }

    fn sync(&mut self, device: usize, faults: &[Fault]) {
        self.hosted.faults(faults);
        match self.replica(device).sync() {
            Ok(_) => self.doubts[device] = false,
            Err(error) => {
                assert!(error.passes(), "{error}");
                self.doubts[device] = true;
            }
        }
        self.hosted.faults(&[]);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Put { device, object } => {
                let value = self.value();
                self.edit(device, object, Some(value));
            }
            Step::Delete { device, object } => self.edit(device, object, None),
            Step::Sync { device, faults } => self.sync(device, &faults),
            Step::Reopen { device } => {
                self.devices[device] = None;
                self.devices[device] = Some(self.open(device));
            }
            // The names of changes are forgotten too: a service remembers them for longer than anybody is in doubt.
            Step::Forget if !self.doubts.contains(&true) => self.hosted.forget(),
            Step::Forget => {}
        }
    }

    /// Lets every device sync until nobody has anything to say, and checks that all of them show what a new device shows.
    fn settle(&mut self) -> Result<BTreeMap<String, String>, TestCaseError> {
        for _ in 0..3 {
            for device in 0..DEVICES {
                prop_assert!(self.replica(device).sync().is_ok());
            }
        }
        let fresh = self.hosted.copy("fresh");
        fresh.sync().unwrap();
        for device in 0..DEVICES {
            prop_assert_eq!(self.replica(device).pending().unwrap(), 0);
            prop_assert_eq!(shown(self.replica(device)), shown(&fresh), "{}", name_of(device));
        }
        Ok(shown(&fresh))
    }
}

fn name_of(device: usize) -> String {
    format!("device{device}")
}

/// Checks that every edit was stored at most once, and the last one of each device on each object was.
fn check_once(world: &World, stored: &[Stored]) -> Result<(), TestCaseError> {
    let mut names: HashMap<&str, u64> = HashMap::new();
    let mut values: HashMap<&str, &str> = HashMap::new();
    for Stored { name, revision, data, .. } in stored {
        prop_assert_eq!(names.entry(name).or_insert(*revision), revision, "{}", name);
        if let Some(data) = data {
            prop_assert_eq!(*values.entry(data).or_insert(name), name.as_str(), "{} has two names", data);
        }
    }
    for ((device, object), last) in &world.last {
        let of_device = |stored: &&Stored| {
            stored.client.starts_with(&name_of(*device)) && stored.id == format!("o{object}")
        };
        let newest = stored.iter().rfind(of_device);
        prop_assert_eq!(
            newest.map(|stored| &stored.data),
            Some(last),
            "the last edit of o{} by {}",
            object,
            device
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn devices_converge_and_no_edit_is_lost_or_stored_twice(steps in steps()) {
        let mut world = World::new(|options, _| options);
        for step in steps {
            world.take(step);
        }
        let shown = world.settle()?;
        let stored = world.hosted.stored();
        check_once(&world, &stored)?;
        let last: BTreeMap<_, _> = stored.into_iter().map(|stored| (stored.id, stored.data)).collect();
        let last: BTreeMap<_, _> = last.into_iter().filter_map(|(id, data)| Some((id, data?))).collect();
        prop_assert_eq!(shown, last, "the last writer wins");
    }

    #[test]
    fn what_is_overwritten_unseen_is_told_of_and_nothing_else(steps in steps_that_keep()) {
        let told: Arc<Mutex<BTreeSet<(usize, String)>>> = Arc::default();
        let telling = Arc::clone(&told);
        let mut world = World::new(move |options, device| {
            let told = Arc::clone(&telling);
            options.on_displaced(move |displaced| {
                let told_of = match displaced {
                    Displaced::Overwritten { data: Some(data), .. } => data,
                    other => format!("{other:?}"),
                };
                told.lock().unwrap().insert((device, told_of));
            })
        });
        for step in steps {
            world.take(step);
        }
        world.settle()?;
        let expected = overwritten_unseen(&world);
        prop_assert_eq!(&*told.lock().unwrap(), &expected);
    }

    /// Each edit adds a word to what its device shows, and a conflict is merged: in the end each word is there.
    #[test]
    fn devices_that_merge_lose_no_word(steps in steps_that_keep()) {
        let mut world = World::new(|options, _| options.on_conflict(|conflict| {
            let both = [&conflict.mine, &conflict.theirs].map(|data| words(data.as_deref()));
            Resolution::Merged(Some(joined(both.into_iter().flatten().collect())))
        }));
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for step in steps {
            let Step::Put { device, object } = step else {
                world.take(step);
                continue;
            };
            let (id, word) = (format!("o{object}"), world.value());
            let mut there = words(world.replica(device).get(&id).unwrap().as_deref());
            there.insert(word.clone());
            world.replica(device).put(&id, &joined(there)).unwrap();
            all.entry(id).or_default().insert(word);
        }
        let shown = world.settle()?;
        let shown: BTreeMap<_, _> = shown.into_iter().map(|(id, data)| (id, words(Some(&data)))).collect();
        prop_assert_eq!(shown, all);
    }
}

fn words(data: Option<&str>) -> BTreeSet<String> {
    data.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn joined(words: BTreeSet<String>) -> String {
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// By whom which values were overwritten that the device had not seen where it made its own.
fn overwritten_unseen(world: &World) -> BTreeSet<(usize, String)> {
    let mut stored = world.hosted.stored();
    stored.dedup_by(|one, other| one.revision == other.revision);
    let values: BTreeSet<&str> = stored.iter().filter_map(|stored| stored.data.as_deref()).collect();
    let device_of =
        |stored: &Stored| (0..DEVICES).find(|device| stored.client.starts_with(&name_of(*device)));
    let mut expected = BTreeSet::new();
    for object in 0..OBJECTS {
        let versions: Vec<&Stored> =
            stored.iter().filter(|stored| stored.id == format!("o{object}")).collect();
        for pair in versions.windows(2) {
            let [older, newer] =
                [pair[0], pair[1]].map(|stored| stored.data.clone().expect("nothing is deleted"));
            // An edit that was never sent has left what it was made on to the next one.
            let mut seen = world.made_on[&newer].clone();
            while let Some(unsent) = seen.clone().filter(|seen| !values.contains(seen.as_str())) {
                seen = world.made_on[&unsent].clone();
            }
            if pair[0].client != pair[1].client && seen.as_ref() != Some(&older) {
                expected.insert((device_of(pair[1]).expect("it is one of them"), older));
            }
        }
    }
    expected
}
