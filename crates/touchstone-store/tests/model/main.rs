//! Random programs on a store, step by step beside a model in memory. `TOUCHSTONE_CASES` is how many of them,
//! `TOUCHSTONE_SEED` which.

mod change;
mod records;
mod stories;
mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use tempfile::TempDir;
use touchstone_store::{Durability, Error, ErrorKind, Options, Snapshot, Store, Transaction};
use world::{AnyAct, Model, any_act};

const CASES: u32 = 24;

/// How a transaction, or a part of one, ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Kept,
    Failed,
    Panicked,
}

/// What is done within a transaction.
#[derive(Clone, Debug)]
enum Part {
    Act(Box<AnyAct>),
    Savepoint(Vec<Part>, End),
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
enum How {
    Plain,
    Exclusive,
    Strict,
    ReadOnly,
    SmallLog,
}

/// What is done to a store.
#[derive(Clone, Debug)]
enum Step {
    Alone(AnyAct),
    Write(Vec<Part>, End),
    /// What is done while a snapshot is held.
    Holding(Vec<Step>),
    Reopen(How, AnyAct),
}

/// What the program panics with on purpose.
struct Deliberate;

fn end() -> impl Strategy<Value = End> {
    prop_oneof![5 => Just(End::Kept), 2 => Just(End::Failed), 1 => Just(End::Panicked)]
}

fn parts() -> BoxedStrategy<Vec<Part>> {
    let part = any_act().prop_map(|act| Part::Act(Box::new(act))).prop_recursive(3, 12, 4, |part| {
        (vec(part, 0..4), end()).prop_map(|(parts, end)| Part::Savepoint(parts, end))
    });
    vec(part, 0..5).boxed()
}

fn step() -> BoxedStrategy<Step> {
    let how =
        prop::sample::select(vec![How::Plain, How::Exclusive, How::Strict, How::ReadOnly, How::SmallLog]);
    let leaf = prop_oneof![
        4 => any_act().prop_map(Step::Alone),
        4 => (parts(), end()).prop_map(|(parts, end)| Step::Write(parts, end)),
    ]
    .boxed();
    prop_oneof![
        8 => leaf.clone(),
        1 => vec(leaf, 1..4).prop_map(Step::Holding),
        1 => (how, any_act()).prop_map(|(how, act)| Step::Reopen(how, act)),
    ]
    .boxed()
}

/// Snapshots that are held, each with what it must go on seeing.
struct Held<'h> {
    snapshot: &'h Snapshot,
    model: &'h Model,
    outer: Option<&'h Held<'h>>,
}

struct World {
    _directory: TempDir,
    path: PathBuf,
    store: Option<Store>,
    model: Model,
}

impl World {
    fn new(page_size: u32) -> World {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("model.db");
        let store = Options::new().page_size(page_size).open(&path).expect("the store opens");
        World { _directory: directory, path, store: Some(store), model: Model::default() }
    }

    fn reopen(&mut self, how: How, act: &AnyAct) {
        self.store = None;
        let options = match how {
            How::Plain => Options::new(),
            How::Exclusive => Options::new().exclusive(true),
            How::Strict => Options::new().durability(Durability::Strict),
            How::ReadOnly => Options::new().read_only(true),
            How::SmallLog => Options::new().checkpoint_pages(2).cache_bytes(20_000),
        };
        let store = options.open(&self.path).expect("the store opens");
        if let How::ReadOnly = how {
            let error = act.fails(&store).expect("nothing can be written");
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            store.read(|snapshot| self.model.is_seen(snapshot)).expect("it is read");
            drop(store);
            self.store = Some(Store::open(&self.path).expect("the store opens"));
        } else {
            self.store = Some(store);
        }
    }
}

fn run(store: &Store, model: &mut Model, step: &Step, held: Option<&Held<'_>>) {
    match step {
        Step::Alone(act) => act.alone(store, model),
        Step::Write(parts, end) => write(store, model, parts, *end),
        Step::Holding(steps) => {
            let before = model.clone();
            let snapshot = store.snapshot().expect("a snapshot is taken");
            let held = Held { snapshot: &snapshot, model: &before, outer: held };
            for step in steps {
                run(store, model, step, Some(&held));
            }
        }
        Step::Reopen(..) => unreachable!("a store is not reopened while a snapshot is held"),
    }
    store.read(|snapshot| model.is_seen(snapshot)).expect("it is read");
    let mut next = held;
    while let Some(held) = next {
        held.model.is_seen(held.snapshot).expect("the snapshot is read");
        next = held.outer;
    }
}

fn write(store: &Store, model: &mut Model, parts: &[Part], end: End) {
    let before = model.clone();
    let result = catch_unwind(AssertUnwindSafe(|| {
        store.write(|transaction| {
            all_parts(transaction, model, parts);
            ends(end)
        })
    }));
    finish(result, end);
    if end != End::Kept {
        *model = before;
    }
}

fn all_parts(transaction: &mut Transaction<'_>, model: &mut Model, parts: &[Part]) {
    for part in parts {
        match part {
            Part::Act(act) => act.within(transaction, model),
            Part::Savepoint(parts, end) => {
                let before = model.clone();
                let result = catch_unwind(AssertUnwindSafe(|| {
                    transaction.savepoint(|transaction| {
                        all_parts(transaction, model, parts);
                        ends(*end)
                    })
                }));
                finish(result, *end);
                if *end != End::Kept {
                    *model = before;
                }
            }
        }
    }
}

fn ends(end: End) -> Result<(), Error> {
    match end {
        End::Kept => Ok(()),
        End::Failed => Err(Error::new(ErrorKind::Invalid, "on purpose")),
        End::Panicked => resume_unwind(Box::new(Deliberate)),
    }
}

fn finish(result: std::thread::Result<Result<(), Error>>, end: End) {
    match result {
        Ok(result) => assert_eq!(result.map_err(|error| error.kind()), expected(end)),
        Err(panic) if panic.is::<Deliberate>() => assert_eq!(end, End::Panicked),
        Err(panic) => resume_unwind(panic),
    }
}

fn expected(end: End) -> Result<(), ErrorKind> {
    if end == End::Kept { Ok(()) } else { Err(ErrorKind::Invalid) }
}

/// The seed is fixed, so that a red test stays red until it is understood.
fn configured() -> ProptestConfig {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("TOUCHSTONE_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(CASES);
    let rng_seed = RngSeed::Fixed(number("TOUCHSTONE_SEED").unwrap_or(1));
    ProptestConfig { failure_persistence: None, rng_seed, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(configured())]

    #[test]
    fn a_store_is_what_its_model_is(
        page_size in prop::sample::select(vec![512u32, 512, 1024, 4096, 65_536]),
        steps in vec(step(), 1..14),
    ) {
        let mut world = World::new(page_size);
        for step in &steps {
            match (step, &world.store) {
                (Step::Reopen(how, act), _) => world.reopen(*how, act),
                (step, Some(store)) => run(store, &mut world.model, step, None),
                (_, None) => unreachable!("a store is open between steps"),
            }
            let store = world.store.as_ref().expect("a store is open between steps");
            store.read(|snapshot| world.model.is_seen(snapshot)).expect("it is read");
        }
    }
}
