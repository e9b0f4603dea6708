//! Devices that were looked up before. The next request of such a device takes no round trip to look it up: the statement that reads its page, or
//! what its upload is decided by, checks the token and the device again. The service trusts nothing that it remembers.

use crate::limits::DEVICES_AT_HAND;
use crate::storage::{Client, Remembered};
use crate::token::TokenHash;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// The names in a request: its token, if the service asks for one, and its device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Names {
    pub(super) token: Option<TokenHash>,
    pub(super) device: Arc<str>,
}

/// The devices that were found by such names.
pub(super) struct Memory {
    devices: Cache<Names, Client>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { devices: Cache::new(DEVICES_AT_HAND) }
    }

    /// Remembers the device that a look-up has found, and forgets one that it has not found.
    pub(super) fn note(&self, token: Option<&TokenHash>, device: &str, found: Option<Client>) {
        let names = Names { token: token.copied(), device: device.into() };
        match found {
            Some(client) => self.devices.insert(names, client),
            None => drop(self.devices.remove(&names)),
        }
    }

    /// The device that the last look-up of these names has found.
    pub(super) fn of(&self, token: Option<&TokenHash>, device: &str) -> Option<Remembered> {
        let names = Names { token: token.copied(), device: device.into() };
        let client = self.devices.get(&names)?;
        Some(Remembered { client, token: names.token, device: names.device })
    }

    /// Forgets a device that the database no longer finds by its names.
    pub(super) fn forget(&self, remembered: &Remembered) {
        let names = Names { token: remembered.token, device: Arc::clone(&remembered.device) };
        self.devices.remove(&names);
    }
}
