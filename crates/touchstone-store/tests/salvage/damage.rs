//! Random damage: pages zeroed, bytes flipped, the end cut off.

use crate::{Contents, contents, doubtful, kinds, make, salvage};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;
use std::sync::OnceLock;
use touchstone_store::ErrorKind;

#[derive(Clone, Debug)]
enum Damage {
    /// A page is zeros.
    Zeroed(prop::sample::Index),
    /// A bit of a page is another.
    Flipped(prop::sample::Index, u16, u8),
    /// The file ends within a page.
    Cut(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => any::<prop::sample::Index>().prop_map(Damage::Zeroed),
        6 => (any::<prop::sample::Index>(), 0..4096u16, 0..8u8)
            .prop_map(|(page, at, bit)| Damage::Flipped(page, at, bit)),
        1 => any::<prop::sample::Index>().prop_map(Damage::Cut),
    ]
}

/// The file of each kind, and what is in it. Each is made once.
fn originals() -> &'static [(Vec<u8>, Contents); 3] {
    static ORIGINALS: OnceLock<[(Vec<u8>, Contents); 3]> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        kinds().map(|(_, options)| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            make(&path, &options);
            let contents = contents(&options.open(&path).unwrap());
            (fs::read(&path).unwrap(), contents)
        })
    })
}

/// Damages the file: how many bits were flipped, and whether the first page is another.
fn apply(bytes: &mut Vec<u8>, damages: &[Damage]) -> (usize, bool) {
    const PAGE: usize = 4096;
    let (mut flips, mut first) = (0, false);
    for damage in damages {
        let pages = bytes.len() / PAGE;
        match damage {
            Damage::Zeroed(page) => {
                let page = page.index(pages);
                bytes[page * PAGE..(page + 1) * PAGE].fill(0);
                first |= page == 0;
            }
            Damage::Flipped(page, at, bit) => {
                let page = page.index(pages);
                bytes[page * PAGE + usize::from(*at)] ^= 1 << bit;
                flips += 1;
                first |= page == 0;
            }
            Damage::Cut(page) => {
                // The first page stays, or there would be nothing to salvage.
                let page = page.index(pages).max(1);
                bytes.truncate(page * PAGE + 100);
                bytes.truncate(bytes.len().max(PAGE));
            }
        }
    }
    (flips, first)
}

fn check(kind: usize, damages: &[Damage]) -> Result<(), TestCaseError> {
    let (original, before) = &originals()[kind];
    let (name, options) = &kinds()[kind];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let mut bytes = original.clone();
    let (flips, first) = apply(&mut bytes, damages);
    fs::write(&path, bytes).unwrap();
    let (report, saved) = match salvage(&path, options) {
        Ok(saved) => saved,
        Err(error) => {
            // Only the first page is needed, or a table as its SQL has it.
            prop_assert!(first, "{name}: {error}");
            prop_assert!(
                matches!(
                    error.kind(),
                    ErrorKind::Damaged
                        | ErrorKind::Foreign
                        | ErrorKind::WrongKey
                        | ErrorKind::Newer
                        | ErrorKind::Mismatch
                ),
                "{name}: {error:?}"
            );
            return Ok(());
        }
    };
    let other = saved.iter().filter(|(key, value)| before.get(*key) != Some(value)).count();
    if *name == "plain" && first && flips > 0 {
        // A flipped letter of a table's SQL is another table.
        return Ok(());
    }
    // Without authentication a flipped bit of a value, or of a row's number, is another value; one bit is of one row.
    let allowed = if *name == "plain" { flips + doubtful(&report) } else { 0 };
    prop_assert!(other <= allowed, "{name}: {other} records differ after {flips} flips");
    Ok(())
}

/// The same cases each time, unless others are asked for: a run that fails must fail again.
fn config() -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    ProptestConfig {
        cases: number("TOUCHSTONE_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(24),
        rng_seed: RngSeed::Fixed(number("TOUCHSTONE_SEED").unwrap_or(1)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_plain_store_gives_nothing_that_was_not_there(damages in prop::collection::vec(damage(), 1..12)) {
        check(0, &damages)?;
    }

    #[test]
    fn an_aegis_store_gives_only_what_was_written(damages in prop::collection::vec(damage(), 1..12)) {
        check(1, &damages)?;
    }

    #[test]
    fn a_sqlcipher_store_gives_only_what_was_written(damages in prop::collection::vec(damage(), 1..12)) {
        check(2, &damages)?;
    }
}
