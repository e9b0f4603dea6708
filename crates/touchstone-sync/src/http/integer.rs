//! Integers in requests, and what is told of those that are none: `7.0` and `1e3` are numbers of JSON, and no revisions here.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::fmt::{self, Display, Formatter};

/// A revision in a body of JSON.
pub(super) fn revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Revision::deserialize(deserializer).map(|Revision(revision)| revision)
}

/// A revision in a body of JSON, or `null`.
pub(super) fn revision_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Revision>::deserialize(deserializer)?.map(|Revision(revision)| revision))
}

/// An integer of a query, where everything is text.
pub(super) fn in_query<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format_args!("it is `{text}`, and has to be {}", Wanted)))
}

struct Revision(u64);

/// What is wanted.
struct Wanted;

impl Display for Wanted {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "an integer from 0 to {}, written as `7` and not as `7.0` or `7e0`", u64::MAX)
    }
}

struct OfNumber;

impl Visitor<'_> for OfNumber {
    type Value = Revision;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Wanted.fmt(formatter)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Revision, E> {
        Ok(Revision(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Revision, E> {
        number.try_into().map(Revision).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Revision, D::Error> {
        deserializer.deserialize_u64(OfNumber)
    }
}
