//! What a copy keeps in its store, and how an edit is noted there.
//!
//! An [`Item`] is what this device shows. While edits of an object wait to be stored by the service, an [`UnderRow`] keeps what lies
//! under them: the version that was edited, and the newest one that the service is known to have. When the last edit has been stored,
//! the newest of both becomes the item, in the service's order; so it does not matter in which order answers come, nor how often.

use crate::{Error, ErrorKind, Result};
use touchstone_store::{Record, Transaction};

/// Bytes of an object's name at most, as the service has it.
const ID_BYTES_MAX: usize = 256;

/// Bytes of an object's data at most, as the service has it.
const DATA_BYTES_MAX: usize = 1 << 20;

/// An object on this device.
#[derive(Record, Clone, Debug, PartialEq, Eq)]
#[record(name = "sync_item")]
pub struct Item {
    /// The object.
    #[record(key)]
    pub id: String,
    /// Its state; none while a deletion by this device waits to be stored.
    pub data: Option<String>,
    /// The revision that the service has given it, 0 while an edit of this device waits.
    pub revision: u64,
}

/// An edit that the service is not known to have stored. Of an object there are two at most: one that may have reached the service, and
/// one that has not.
#[derive(Record, Clone, Debug, PartialEq, Eq)]
#[record(name = "sync_outgoing")]
pub(crate) struct OutgoingRow {
    /// Its place in the outbox.
    #[record(key)]
    pub(crate) number: u64,
    #[record(index)]
    pub(crate) object: String,
    pub(crate) data: Option<String>,
    /// What the service knows it by: however often it is sent, it is stored once.
    pub(crate) name: String,
    /// Whether it may have reached the service: then it stays as it is.
    pub(crate) is_sent: bool,
}

/// What lies under the edits of an object that wait.
#[derive(Record, Clone, Debug, Default, PartialEq, Eq)]
#[record(name = "sync_under")]
pub(crate) struct UnderRow {
    #[record(key)]
    pub(crate) object: String,
    /// The version that the first of them was made on; revision 0 where there was none.
    pub(crate) base: u64,
    pub(crate) base_data: Option<String>,
    /// The newest version that the service is known to have.
    pub(crate) revision: u64,
    pub(crate) data: Option<String>,
}

/// A state of an object that is nowhere else any more, until the program has been told of it.
#[derive(Record, Clone, Debug, PartialEq, Eq)]
#[record(name = "sync_displaced")]
pub(crate) struct DisplacedRow {
    #[record(key)]
    pub(crate) number: u64,
    pub(crate) object: String,
    pub(crate) data: Option<String>,
    /// Why the service refused it; none where an edit of this device has taken its place.
    pub(crate) refusal: Option<String>,
}

/// Where the copy stands. There is one.
#[derive(Record, Clone, Debug, PartialEq, Eq)]
#[record(name = "sync_state")]
pub(crate) struct StateRow {
    #[record(key)]
    pub(crate) id: u64,
    /// The name that the copy is registered by.
    pub(crate) client: String,
    /// Which history the revisions here are of; none where they are of none that the service has.
    pub(crate) history: Option<String>,
    /// Up to which revision the copy has what others have made.
    pub(crate) cursor: u64,
    /// Whether it has what was made before the cursor; else everything has to be fetched.
    pub(crate) is_whole: bool,
    /// Whose copy it is; none before the service has told.
    pub(crate) user: Option<String>,
}

/// A name that nobody else makes: 128 random bits.
pub(crate) fn unique_name() -> Result<String> {
    let random = || getrandom::u64().map_err(|error| Error::system("it gives no random bytes", error));
    Ok(format!("{:016x}{:016x}", random()?, random()?))
}

/// Refuses here, where the program can still do something about it, what every service would refuse.
pub(crate) fn check(id: &str, data: Option<&str>) -> Result<()> {
    let refuse = |text: String| Err(Error::new(ErrorKind::Edit, text));
    if !(1..=ID_BYTES_MAX).contains(&id.len()) {
        return refuse(format!(
            "the object's name has {} bytes, and 1 to {ID_BYTES_MAX} are taken",
            id.len()
        ));
    }
    if id.contains('\0') {
        return refuse("the object's name has the character U+0000: leave it out".into());
    }
    match data.map(str::len).filter(|bytes| *bytes > DATA_BYTES_MAX) {
        Some(bytes) => refuse(format!(
            "the data of `{id}` has {bytes} bytes, and {DATA_BYTES_MAX} are taken: make several objects of it"
        )),
        None => Ok(()),
    }
}

/// Changes an object here, and notes it in the outbox. An edit that waits and has not been sent gives its place to this one, at the
/// end: what the device has done before it comes to others before it.
pub(crate) fn edit(
    transaction: &mut Transaction<'_>,
    id: &str,
    data: Option<String>,
    name: String,
) -> touchstone_store::Result<()> {
    let item = transaction.get::<Item>(id)?;
    let waiting = waiting(transaction, id)?;
    if waiting.is_empty() {
        let (revision, data) = item.map_or((0, None), |item| (item.revision, item.data));
        let (base, base_data) = (revision, data.clone());
        transaction.put(&UnderRow { object: id.to_owned(), base, base_data, revision, data })?;
    }
    for unsent in waiting.iter().filter(|edit| !edit.is_sent) {
        transaction.remove::<OutgoingRow>(&unsent.number)?;
    }
    transaction.put(&Item { id: id.to_owned(), data: data.clone(), revision: 0 })?;
    let number = last_number(transaction)? + 1;
    transaction.insert(&OutgoingRow { number, object: id.to_owned(), data, name, is_sent: false })
}

/// The edits of an object that wait, in their order.
pub(crate) fn waiting(
    transaction: &Transaction<'_>,
    object: &str,
) -> touchstone_store::Result<Vec<OutgoingRow>> {
    let of_object = transaction.query::<OutgoingRow>().filter(|row| row.object.eq(object));
    of_object.order(|row| row.number.ascending()).all()
}

/// The last place in the outbox, 0 where it is empty.
pub(crate) fn last_number(transaction: &Transaction<'_>) -> touchstone_store::Result<u64> {
    let last = transaction.query::<OutgoingRow>().order(|row| row.number.descending()).first()?;
    Ok(last.map_or(0, |last| last.number))
}

/// Notes what the program is to be told of.
pub(crate) fn displace(
    transaction: &mut Transaction<'_>,
    object: &str,
    data: Option<String>,
    refusal: Option<String>,
) -> touchstone_store::Result<()> {
    let last = transaction.query::<DisplacedRow>().order(|row| row.number.descending()).first()?;
    let number = last.map_or(1, |last| last.number + 1);
    transaction.insert(&DisplacedRow { number, object: object.to_owned(), data, refusal })
}

/// Shows a version that the service has. A deletion leaves nothing: the service remembers it for those who need to know.
pub(crate) fn show(
    transaction: &mut Transaction<'_>,
    object: &str,
    revision: u64,
    data: Option<String>,
) -> touchstone_store::Result<()> {
    match data {
        None => transaction.remove::<Item>(object).map(drop),
        data => transaction.put(&Item { id: object.to_owned(), data, revision }),
    }
}

impl UnderRow {
    /// Takes note of a version that the service has, if it is newer.
    pub(crate) fn rise(&mut self, revision: u64, data: Option<String>) {
        if revision > self.revision {
            (self.revision, self.data) = (revision, data);
        }
    }
}
