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
