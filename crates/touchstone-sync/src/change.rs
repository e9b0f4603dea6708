//! What devices tell each other through the service: changes, the versions that they make, and pages of versions.

use crate::shares::AnswerRoom;

/// Bytes of a version in JSON beside its texts, at most.
const BYTES_BESIDE_TEXT: usize = 64;

/// What a device asks for: an object's whole new state, or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub id: String,
    /// Its new state; none deletes it.
    pub data: Option<String>,
    /// The revision that the device changed, 0 where it knows of none. A change whose base is not the object's revision is refused.
    pub base: Option<u64>,
    /// The change's own name, made by the device. What was applied under it is not applied again.
    pub name: Option<String>,
}

/// Changes that are applied together, all or none, in their order.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    /// At least one.
    pub changes: Vec<Change>,
    /// Up to which revision the device has seen the user's changes: versions of other devices beyond it are given back where this
    /// upload takes their place.
    pub seen: u64,
    /// The history that the device's revisions are of, where it says so.
    pub history: Option<String>,
    /// Room for what the answer gives back.
    pub answer: AnswerRoom,
}

impl Upload {
    /// Bytes of its changes' data and names.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.changes.iter().map(|change| change.id.len() + bytes(&change.data) + bytes(&change.name)).sum()
    }
}

/// A state of an object, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The object.
    pub id: String,
    /// Its place in the user's order: no other change of the user has it.
    pub revision: u64,
    /// The state; none where the object is deleted.
    pub data: Option<String>,
}

impl Version {
    /// Bytes that it takes in an answer, or some more: of a character of JSON that is escaped, those that stand for it.
    pub(crate) fn bytes_of_json(&self) -> usize {
        let escaped = |byte: u8| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0x00..=0x1f => 6,
            _ => 1,
        };
        let of = |text: &str| text.bytes().map(escaped).sum::<usize>();
        BYTES_BESIDE_TEXT + of(&self.id) + self.data.as_deref().map_or(0, of)
    }
}

/// What became of an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// The revision of each change, in the order of the upload. That of a repeated one is from when it was applied.
    pub revisions: Vec<u64>,
    /// What other devices had stored, this one had not seen, and is no more.
    pub overwritten: Vec<Version>,
}

/// Which versions a device asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Download {
    /// Those after this revision.
    pub cursor: u64,
    /// At most so many.
    pub limit: u32,
    /// Not those that the asking device has made itself.
    pub others: bool,
    /// The history that the cursor is of, where the device says so.
    pub history: Option<String>,
}

/// Versions in the user's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// By revision.
    pub versions: Vec<Version>,
    /// The cursor to go on from.
    pub cursor: u64,
    /// Whether there may be versions beyond it, even where this page has none.
    pub more: bool,
}

/// Where a user's history stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The last revision.
    pub revision: u64,
    /// Which history revisions are of. It is another one when a backup was restored.
    pub history: String,
}
