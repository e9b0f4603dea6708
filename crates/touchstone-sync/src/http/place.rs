//! Places of what is read for long answers: few are read at a time, of each user and of all. All that are read at the same time have looked for room
//! before each other is counted as an answer.

use super::App;
use crate::shares::{Full, Share};
use crate::storage::Account;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout_at};

/// Places of all users.
pub(super) const PLACES: usize = 16;

/// Those of one user.
const PLACES_OF_USER: usize = 4;

/// How long it takes at first until one that waits looks again.
const AGAIN_AT_FIRST: Duration = Duration::from_millis(20);

/// How long it takes at most: thousands may wait.
const AGAIN_AT_MOST: Duration = Duration::from_secs(1);

/// Pauses between looks, each twice as long as the one before.
pub(super) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses(AGAIN_AT_FIRST)
    }
}

impl Pauses {
    /// Waits for the next look.
    pub(super) async fn pause(&mut self) {
        sleep(self.0).await;
        self.0 = AGAIN_AT_MOST.min(self.0 * 2);
    }
}

/// A place, until it is dropped.
pub(super) struct Place {
    _of_user: Share,
    _of_all: OwnedSemaphorePermit,
}

impl Place {
    /// A place, when the user's answers that are not read have room for more. Where there is none until then: whether all places are taken, or the
    /// user has as many as one may, or that many answers.
    pub(super) async fn take(app: &App, account: Account, until: Instant) -> Result<Place, Full> {
        let mut pauses = Pauses::default();
        loop {
            let of_all = timeout_at(until, app.places_of_all.clone().acquire_owned()).await;
            let Ok(Ok(of_all)) = of_all else { return Err(Full::All) };
            if app.allow_answer(account).is_ok()
                && let Ok(of_user) = app.places.take_one(account, usize::MAX, PLACES_OF_USER)
            {
                return Ok(Place { _of_user: of_user, _of_all: of_all });
            }
            drop(of_all);
            if Instant::now() >= until {
                return Err(Full::OfUser);
            }
            pauses.pause().await;
        }
    }
}
