//! What the service takes from its clients, and no more.

use std::time::Duration;

/// Bytes of a name: of a user, a device, an object or a change.
pub const NAME_BYTES_MAX: usize = 256;

/// Versions of a page at most.
pub const PAGE_MAX: u32 = 1_000;

/// Versions of a page where the request does not say.
pub const PAGE: u32 = 100;

/// For how long deletions and names of changes are remembered where nobody says, as an option has it.
pub const REMEMBER: &str = "2160h";

/// Connections to PostgreSQL where nobody says.
pub const CONNECTIONS: usize = 16;

/// Devices of which the service has something in its memory, those that asked last.
pub(crate) const DEVICES_AT_HAND: usize = 100_000;

/// Limits that the service's owner sets.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body, unpacked.
    pub body_bytes: usize,
    /// Changes of an upload.
    pub changes: usize,
    /// Bytes of an object's data.
    pub data_bytes: usize,
    /// Bytes of all bodies that are under way together.
    pub room_bytes: usize,
    /// Open streams of `watch`.
    pub streams: usize,
    /// Bytes of a user's bodies that are under way.
    pub user_room_bytes: usize,
    /// Bytes of answers that are not read yet, of all users: from there on none is begun.
    pub unread_bytes: usize,
    /// Bytes of a user's answers that are not read yet.
    pub user_unread_bytes: usize,
    /// Open streams of `watch` of a user.
    pub user_streams: usize,
    /// Requests of a user in a second; none for as many as there are.
    pub user_rate: Option<std::num::NonZeroU32>,
    /// How long a body may take to come.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 4 << 20,
            changes: 1_000,
            data_bytes: 1 << 20,
            room_bytes: 64 << 20,
            user_room_bytes: 32 << 20,
            unread_bytes: 256 << 20,
            user_unread_bytes: 32 << 20,
            streams: 20_000,
            user_streams: 1_000,
            user_rate: None,
            body_time: Duration::from_secs(30),
        }
    }
}
