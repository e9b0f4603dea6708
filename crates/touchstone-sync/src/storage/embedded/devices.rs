//! Devices that were found before. A device of a user keeps its name and its number for as long as its store lives, so it need not be read for
//! each request. What may end, such as a token, is read each time. Of a name that devices of several users have, asked for without a
//! user, the one that was found first is found again: an [`Identity`](crate::identity::Identity) that asks so has no such names.

use crate::limits::DEVICES_AT_HAND;
use crate::storage::{Account, Client};
use quick_cache::Equivalent;
use quick_cache::sync::Cache;

/// Devices that were found, those that asked last.
#[derive(Debug)]
pub(super) struct Devices {
    found: Cache<Named, Client>,
}

/// How a device is asked for: by its user, or by its name alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Named {
    account: Option<Account>,
    name: Box<str>,
}

/// The same, of a name that is not kept.
#[derive(Hash)]
struct Asked<'n> {
    account: Option<Account>,
    name: &'n str,
}

impl Equivalent<Named> for Asked<'_> {
    fn equivalent(&self, named: &Named) -> bool {
        self.account == named.account && self.name == &*named.name
    }
}

impl Default for Devices {
    fn default() -> Devices {
        Devices { found: Cache::new(DEVICES_AT_HAND) }
    }
}

impl Devices {
    /// The device of that name, of this user or of whichever; what `read` finds where it was not found before.
    pub(super) fn find<E>(
        &self,
        account: Option<Account>,
        name: &str,
        read: impl FnOnce() -> Result<Option<Client>, E>,
    ) -> Result<Option<Client>, E> {
        if let Some(client) = self.found.get(&Asked { account, name }) {
            return Ok(Some(client));
        }
        let client = read()?;
        if let Some(client) = client {
            self.found.insert(Named { account, name: name.into() }, client);
        }
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(user: u64, device: u64) -> Client {
        Client { account: Account { user }, device }
    }

    #[test]
    fn a_device_that_was_found_is_not_read_again_and_is_its_user_s_alone() {
        let devices = Devices::default();
        let find = |account, read| devices.find(account, "phone", || read);
        let (one, other) = (client(1, 1), client(2, 7));
        assert_eq!(
            find(Some(one.account), Ok(None)),
            Ok(None),
            "one that is not known yet is asked for again"
        );
        assert_eq!(find(Some(one.account), Ok(Some(one))), Ok(Some(one)));
        assert_eq!(find(Some(one.account), Err("it is read")), Ok(Some(one)));
        assert_eq!(find(Some(other.account), Ok(Some(other))), Ok(Some(other)));
        assert_eq!(find(None, Err("it is read")), Err("it is read"));
    }
}
