//! What the client and the service say to each other, in JSON.

use serde::{Deserialize, Serialize};

/// A device that is to be known.
#[derive(Debug, Serialize)]
pub(crate) struct Registration<'r> {
    /// Whose it has to be; where the token is another user's, nothing is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'r str>,
    pub(crate) device: &'r str,
}

/// A device that is known.
#[derive(Debug, Deserialize)]
pub(crate) struct Registered {
    /// Whose it is.
    pub(crate) user: String,
}

/// An upload.
#[derive(Debug, Serialize)]
pub(crate) struct Upload<'u> {
    pub(crate) changes: Vec<Change<'u>>,
    /// Up to which revision this device knows what others have made.
    pub(crate) seen: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<&'u str>,
}

/// An object's new state, or its end.
#[derive(Debug, Serialize)]
pub(crate) struct Change<'u> {
    pub(crate) id: &'u str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<&'u str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) deleted: bool,
    /// The revision that was edited, where it is to be refused if there is another by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<u64>,
    /// What the service knows it by.
    pub(crate) change: &'u str,
}

/// A state of an object.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) id: String,
    pub(crate) revision: u64,
    /// None where it is deleted.
    pub(crate) data: Option<String>,
}

/// What an upload came to.
#[derive(Debug, Deserialize)]
pub(crate) struct Uploaded {
    /// What other devices had stored, this one had not seen, and is no more.
    #[serde(default)]
    pub(crate) overwritten: Vec<Version>,
    /// Of each change.
    pub(crate) revisions: Vec<u64>,
}

/// Versions after a cursor.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) changes: Vec<Version>,
    pub(crate) cursor: u64,
    pub(crate) more: bool,
}

/// Every object of the user.
#[derive(Debug, Deserialize)]
pub(crate) struct Everything {
    pub(crate) changes: Vec<Version>,
    pub(crate) history: String,
    pub(crate) cursor: u64,
}

/// The user's last revision.
#[derive(Debug, Deserialize)]
pub(crate) struct Told {
    pub(crate) cursor: u64,
}

/// A problem detail of RFC 9457, as the service writes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Problem {
    /// Which problem it is: `/problems/cursor-lost`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) detail: String,
    /// What objects are that are not at the base which was named.
    #[serde(default)]
    pub(crate) current: Vec<Version>,
}

impl Problem {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind.strip_prefix("/problems/") == Some(word)
    }
}
