//! The values of `is_in`. A hash table, not a scan, finds whether a value is in the list.

use crate::types::value::Raw;
use crate::types::value::Value;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::{Arc, OnceLock};

/// Values to look for, shared by the clones of a condition.
#[derive(Clone)]
pub(crate) struct List(Arc<ListValues>);

struct ListValues {
    values: Vec<Value>,
    /// Built when the first row is compared: a query that an index answers does not need it.
    found: OnceLock<Positions>,
}

/// A hash table of the positions of a list's values.
struct Positions {
    places: HashTable<usize>,
    hashes: RandomState,
    /// Whether the list has a NULL: then it is unknown whether the list contains a value that is not found.
    has_null: bool,
}

/// A value in the form that is equal for values that SQLite compares as equal: an integer and a real number can be.
#[derive(Hash, PartialEq, Eq)]
enum Same<'v> {
    Integer(i64),
    /// The bits of a number that is not an integer.
    Real(u64),
    Text(&'v [u8]),
    Blob(&'v [u8]),
}

impl<'v> Same<'v> {
    /// `None` for NULL and for NaN, which SQLite stores as NULL.
    fn of(value: Raw<'v>) -> Option<Same<'v>> {
        match value {
            Raw::Null | Raw::Absent => None,
            Raw::Integer(value) => Some(Same::Integer(value)),
            Raw::Real(value) if value.is_nan() => None,
            Raw::Real(value) => Some(whole(value).map_or(Same::Real(value.to_bits()), Same::Integer)),
            Raw::Text(text) => Some(Same::Text(text)),
            Raw::Blob(bytes) => Some(Same::Blob(bytes)),
        }
    }
}

/// The integer that is exactly this number.
fn whole(value: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and lies within the range")]
    (value.fract() == 0.0 && (-END..END).contains(&value)).then_some(value as i64)
}

impl List {
    pub(crate) fn values(&self) -> &[Value] {
        &self.0.values
    }

    /// Whether the value is in the list, in SQL's logic: unknown if that depends on a NULL.
    pub(crate) fn has(&self, value: Raw<'_>) -> Option<bool> {
        if self.0.values.is_empty() {
            // Nothing is in an empty list, not even NULL.
            return Some(false);
        }
        let sought = Same::of(value)?;
        let found = self.0.found.get_or_init(|| Positions::of(&self.0.values));
        let is_it =
            |place: &usize| Same::of(self.0.values[*place].raw()).is_some_and(|other| other == sought);
        match found.places.find(found.hashes.hash_one(&sought), is_it) {
            Some(_) => Some(true),
            None => (!found.has_null).then_some(false),
        }
    }
}

impl Positions {
    fn of(values: &[Value]) -> Positions {
        let hashes = RandomState::default();
        let hash = |place: &usize| Same::of(values[*place].raw()).map_or(0, |same| hashes.hash_one(same));
        let mut places = HashTable::with_capacity(values.len());
        let mut has_null = false;
        for (place, value) in values.iter().enumerate() {
            match Same::of(value.raw()) {
                Some(same) => {
                    let is_it = |other: &usize| Same::of(values[*other].raw()).as_ref() == Some(&same);
                    places.entry(hashes.hash_one(&same), is_it, hash).or_insert(place);
                }
                None => has_null = true,
            }
        }
        Positions { places, hashes, has_null }
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> List {
        let values = values.into_iter().collect();
        List(Arc::new(ListValues { values, found: OnceLock::new() }))
    }
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.values == other.0.values
    }
}

impl fmt::Debug for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(&self.0.values).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::types;

    /// Numbers close to each other, and at the limits of each kind.
    fn stored() -> impl Strategy<Value = Value> {
        const WHOLE: [i64; 9] =
            [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, i64::MAX - 512, -(1 << 53) - 1];
        const BROKEN: [f64; 7] = [0.5, -0.0, f64::INFINITY, f64::NEG_INFINITY, 9.3e18, f64::NAN, 1e-300];
        #[expect(clippy::cast_precision_loss, reason = "it is to lose some")]
        let near = prop::sample::select(&WHOLE[..]).prop_map(|whole| Value::Real(whole as f64));
        let words = || prop::sample::select(vec!["", "a", "A", "b", "0", "1"]);
        prop_oneof![
            Just(Value::Null),
            prop::sample::select(&WHOLE[..]).prop_map(Value::Integer),
            near,
            prop::sample::select(&BROKEN[..]).prop_map(Value::Real),
            words().prop_map(|text| Value::Text(text.to_owned())),
            words().prop_map(|bytes| Value::Blob(bytes.into())),
        ]
    }

    fn bound(value: &Value) -> types::Value {
        match value {
            Value::Null => types::Value::Null,
            Value::Integer(value) => types::Value::Integer(*value),
            Value::Real(value) => types::Value::Real(*value),
            Value::Text(text) => types::Value::Text(text.clone()),
            Value::Blob(bytes) => types::Value::Blob(bytes.clone()),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        #[test]
        fn a_value_is_in_a_list_where_sqlite_says_so(
            value in stored(),
            values in prop::collection::vec(stored(), 0..12),
        ) {
            thread_local!(static SQLITE: rusqlite::Connection =
                rusqlite::Connection::open_in_memory().expect("it opens"));
            let places = (2..values.len() + 2).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
            let parameters = std::iter::once(&value).chain(&values).map(bound);
            let by_sqlite: Option<bool> = SQLITE.with(|sqlite| {
                let mut statement = sqlite.prepare(&format!("select ?1 in ({places})"))?;
                statement.query_row(rusqlite::params_from_iter(parameters), |row| row.get(0))
            }).expect("it is asked");
            let list: List = values.into_iter().collect();
            prop_assert_eq!(list.has(value.raw()), by_sqlite);
        }
    }
}
