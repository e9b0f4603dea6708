//! Objects of JSON, and nothing else: a struct is read from an array too where it is derived, and the document says object.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A struct that is written as an object.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

struct OfMap<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(OfMap(PhantomData))
    }
}
