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
    /// Tokens that are to be looked up before any of their devices is believed again.
    doubted: Cache<TokenHash, ()>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { devices: Cache::new(DEVICES_AT_HAND), doubted: Cache::new(DEVICES_AT_HAND) }
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
        let client = self.devices.get(&names).filter(|_| !token.is_some_and(|token| self.doubts(token)))?;
        Some(Remembered { client, token: names.token, device: names.device })
    }

    fn doubts(&self, token: &TokenHash) -> bool {
        !self.doubted.is_empty() && self.doubted.get(token).is_some()
    }

    /// Believes devices of a token again, which a look-up has found.
    pub(super) fn trust(&self, token: &TokenHash) {
        if self.doubts(token) {
            self.doubted.remove(token);
        }
    }

    /// Forgets a device whose right was not found, and doubts its token.
    pub(super) fn forget(&self, remembered: &Remembered) {
        if let Some(token) = remembered.token {
            self.doubted.insert(token, ());
        }
        let names = Names { token: remembered.token, device: Arc::clone(&remembered.device) };
        self.devices.remove(&names);
    }
}
