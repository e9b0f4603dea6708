//! Whose a copy is: the user's by whose token the service has known it first. What waits in its outbox goes to nobody else, and nobody
//! else's objects come into it.

use crate::local::StateRow;
use crate::service::{Asked, Failure};
use crate::{Error, ErrorKind, Replica};
use std::sync::atomic::Ordering;

impl Replica {
    /// Refuses a token of another user than the copy's, before anything is sent or fetched. The service is asked once after each opening,
    /// for the token stays the same, and a token is of one user.
    pub(crate) fn check_user(&self) -> Asked<()> {
        if self.inner.is_of_user.load(Ordering::Relaxed) { Ok(()) } else { self.register() }
    }

    /// Makes the copy known to the service as a device of its user. A new copy becomes that of the token's user.
    pub(crate) fn register(&self) -> Asked<()> {
        let known = self.state()?.user;
        let user = match (self.client().register(known.as_deref()), &known) {
            (Err(Failure::Problem(problem)), Some(known)) if problem.is("forbidden") => {
                return Err(of_another(known).into());
            }
            (registered, _) => registered?.user,
        };
        match known {
            Some(known) if known != user => return Err(of_another(&known).into()),
            Some(_) => {}
            None => {
                self.store().write(|transaction| {
                    transaction.update::<StateRow>(&0, |state| state.user = Some(user))
                })?;
            }
        }
        self.inner.is_of_user.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn of_another(user: &str) -> Error {
    let text = format!(
        "it is of the user `{user}`, and the token is not: open it with a token of `{user}`, and another file with this token"
    );
    Error::new(ErrorKind::OtherUser, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;
    use touchstone_store::{Record, Store};

    /// Where a copy stands, before copies knew whose they are.
    #[derive(Record)]
    #[record(name = "sync_state")]
    struct Older {
        #[record(key)]
        id: u64,
        client: String,
        history: Option<String>,
        cursor: u64,
        is_whole: bool,
    }

    #[test]
    fn a_copy_that_does_not_know_its_user_is_opened_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("phone.db");
        let store = Store::open(&path).unwrap();
        let history = Some("0123".to_owned());
        store.insert(&Older { id: 0, client: "phone-1".into(), history, cursor: 7, is_whole: true }).unwrap();
        drop(store);
        let replica = Replica::open(&path, Service::new("http://127.0.0.1:9", "tsync_1")).unwrap();
        let StateRow { client, cursor, is_whole, user, .. } = replica.state().unwrap();
        assert_eq!((client.as_str(), cursor, is_whole, user), ("phone-1", 7, true, None));
    }
}
