//! Why something could not be done.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What fails with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done: a [`kind`](Error::kind) for programs, and a text for people.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    text: String,
    retry_after: Option<Duration>,
    /// Shared: the caller that waits for a watch and the watch's function are told of the same error.
    store: Option<Arc<touchstone_store::Error>>,
}

/// Kinds of errors. More may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The local store failed.
    Store,
    /// The service was not reached, its certificate is not trusted, or it has too much to do: later it may answer.
    Away,
    /// The service knows no such token. Ask its owner for one.
    Unauthenticated,
    /// The service refuses, and will refuse again.
    Refused,
    /// The copy is of another user than the token. Nothing of it was sent.
    OtherUser,
    /// What answers is no sync service, or one of another version.
    Answer,
    /// An object's name or data is none that a service takes.
    Edit,
    /// The address, the token, what is to be trusted or the device's name cannot be.
    Setting,
    /// The system gives no random bytes, no thread or no lock.
    System,
    /// A function of the program that a watch has called has panicked. Only [`Event::Ended`](crate::Event::Ended) has it: whoever waits for the
    /// watch is given the panic.
    Program,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Error {
        Error { kind, text: text.into(), retry_after: None, store: None }
    }

    pub(crate) fn after(self, retry_after: Option<Duration>) -> Error {
        Error { retry_after, ..self }
    }

    /// The same, with what it is of.
    pub(crate) fn of(self, what: &str) -> Error {
        Error { text: format!("{what}: {}", self.text), ..self }
    }

    pub(crate) fn system(what: &str, error: impl fmt::Display) -> Error {
        Error::new(ErrorKind::System, format!("{what}: {error}"))
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later without anything being changed.
    pub fn passes(&self) -> bool {
        self.kind == ErrorKind::Away
    }

    /// The error of the local store, where that failed. Its text is in this error's text already, so this error has no
    /// [`source`](std::error::Error::source): a chain of errors would tell the text twice.
    pub fn store(&self) -> Option<&touchstone_store::Error> {
        self.store.as_deref()
    }

    /// How long the service asks to wait before it is asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Store => "the local copy failed",
            ErrorKind::Away => "the sync service cannot be reached now",
            ErrorKind::Unauthenticated | ErrorKind::Refused => "the sync service refuses",
            ErrorKind::OtherUser => "this copy is another user's",
            ErrorKind::Answer => "this is no answer of a sync service",
            ErrorKind::Edit => "no sync service takes this edit",
            ErrorKind::Setting => "the sync service cannot be asked so",
            ErrorKind::System => "the system fails",
            ErrorKind::Program => "the program fails",
        };
        write!(formatter, "{what}: {}", self.text)
    }
}

impl std::error::Error for Error {}

impl From<touchstone_store::Error> for Error {
    fn from(error: touchstone_store::Error) -> Error {
        let text = error.to_string();
        Error { store: Some(Arc::new(error)), ..Error::new(ErrorKind::Store, text) }
    }
}
