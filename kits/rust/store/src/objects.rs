//! The verbs on objects, the same for each of their types: the library's types of columns are those of a type.

use crate::records::Doc;
use crate::typed::{DocV2, DocV3, DocV4};
use crate::{Columns, Driven, Error, Played};
use touchstone_kit::Verb;
use touchstone_store::{Explanation, Reading, Record};

/// A type of object.
pub trait Object: Record {
    /// How a verb that was played finds its objects.
    fn explain(driven: &Driven, played: Played) -> Result<Explanation, Error>;
}

macro_rules! object {
    ($object:ty) => {
        impl Object for $object {
            fn explain(driven: &Driven, played: Played) -> Result<Explanation, Error> {
                match played {
                    Played::Keys => driven
                        .read(|docs| docs.query().filter(|doc: Columns<$object>| doc.title.eq("")).explain()),
                    Played::Above(above) => driven.read(|docs| {
                        docs.query().filter(|doc: Columns<$object>| doc.priority.gt(above)).explain()
                    }),
                    Played::None | Played::All => {
                        driven.read(|docs: Reading<'_, $object>| docs.query().explain())
                    }
                }
            }
        }

        impl touchstone_kit::Store<$object> for Driven {
            const VERBS: &'static [Verb] = &Verb::OF_OBJECTS;
            const TABLES: bool = true;

            fn get(&mut self, key: &String) -> Result<Option<$object>, Error> {
                self.played = Played::Keys;
                match (&self.held, &self.collection) {
                    (None, None) => Ok(self.store.get(key)?),
                    _ => self.read(|records| records.get(key)),
                }
            }

            fn read_all(&mut self) -> Result<Vec<$object>, Error> {
                self.played = Played::All;
                self.read(|records| records.all())
            }

            fn insert_one(&mut self, record: &$object) -> Result<(), Error> {
                self.played = Played::None;
                match self.collection {
                    None => Ok(self.store.insert(record)?),
                    Some(_) => self.write(|mut records| records.insert(record)),
                }
            }

            fn insert_many(&mut self, records: &[&$object]) -> Result<(), Error> {
                self.played = Played::None;
                self.write(|mut table| table.insert_all(records.iter().copied()).map(drop))
            }

            fn first(&mut self) -> Result<Option<$object>, Error> {
                self.read(|records| records.query().first())
            }

            fn find(&mut self, above: i64) -> Result<Vec<$object>, Error> {
                self.played = Played::Above(above);
                self.read(|docs| docs.query().filter(|doc: Columns<$object>| doc.priority.gt(above)).all())
            }

            fn update_one(&mut self, state: &$object) -> Result<bool, Error> {
                self.played = Played::Keys;
                match self.collection {
                    None => Ok(self.store.replace(state)?),
                    Some(_) => self.write(|mut docs| docs.replace(state)),
                }
            }

            fn update_many(&mut self, states: &[&$object]) -> Result<Vec<$object>, Error> {
                self.played = Played::All;
                self.write(|mut docs| {
                    let fetched = docs.all()?;
                    docs.put_all(states.iter().copied())?;
                    Ok(fetched)
                })
            }

            fn delete_many(&mut self) -> Result<Vec<$object>, Error> {
                self.played = Played::All;
                self.write(|mut docs| {
                    let fetched: Vec<$object> = docs.all()?;
                    for doc in &fetched {
                        docs.remove(&doc.title)?;
                    }
                    Ok(fetched)
                })
            }
        }
    };
}

object!(Doc);
object!(DocV2);
object!(DocV3);
object!(DocV4);
