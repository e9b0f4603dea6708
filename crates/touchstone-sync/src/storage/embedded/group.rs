//! Group commit: uploads that wait at the same time are one transaction, and one flush where the class asks for it.
//!
//! The thread that writes takes what waits, up to a number, and commits it; what came meanwhile is the next group. So a group is as
//! large as the load makes it, and an upload that is alone waits for nobody. One user who uploads much keeps nobody waiting: of each user one is
//! taken before the second of any, and there is room for others' uploads.

use super::apply::apply;
use crate::change::{Upload, Uploaded};
use crate::clock::ServiceTime;
use crate::prometheus;
use crate::shares::{BodyRoom, Share, Shares};
use crate::storage::decide::given_back;
use crate::storage::gather::{GROUP_BYTES, Gathered, QUEUE, in_turns, place};
use crate::storage::{Client, Error, Refusal, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};
use touchstone_store::{ErrorKind, Store};

/// Uploads of one transaction at most, so that none waits for long behind others.
const GROUP: usize = 256;

type Answer = std::result::Result<Uploaded, Refusal>;

/// An upload that waits.
struct Waiting {
    client: Client,
    upload: Upload,
    answer: oneshot::Sender<Result<Uploaded>>,
    /// What its body takes of memory.
    _room: Option<BodyRoom>,
    /// Its place among those that wait.
    _place: Share,
}

/// The thread that writes, and the queue before it.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::UnboundedSender<Waiting>>,
    /// The places of those that wait.
    places: Shares,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(store: Store, time: ServiceTime) -> std::io::Result<Writer> {
        let (queue, waiting) = mpsc::unbounded_channel();
        let thread =
            thread::Builder::new().name("uploads".into()).spawn(move || work(&store, time, waiting))?;
        Ok(Writer { queue: Some(queue), places: Shares::default(), thread: Some(thread) })
    }

    /// Whether uploads are still written.
    pub(super) fn is_alive(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Stores an upload, and returns when it is committed.
    pub(super) async fn upload(
        &self,
        client: Client,
        upload: Upload,
        room: Option<BodyRoom>,
    ) -> Result<Uploaded> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().expect("it is there until the writer is dropped");
        let place = place(&self.places, client.account).ok_or(Error::Busy)?;
        let waiting = Waiting { client, upload, answer, _room: room, _place: place };
        queue.send(waiting).map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Writer {
    /// What waits is committed before the thread ends.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ended() -> Error {
    Error::Failed(anyhow::anyhow!("the thread that writes uploads has ended"))
}

fn work(store: &Store, time: ServiceTime, mut queue: mpsc::UnboundedReceiver<Waiting>) {
    let mut waiting = Vec::new();
    while !waiting.is_empty() || queue.blocking_recv_many(&mut waiting, QUEUE) > 0 {
        waiting.extend(std::iter::from_fn(|| queue.try_recv().ok()));
        let group = next_group(&mut waiting);
        if group.is_empty() {
            continue;
        }
        // A panic is a mistake of the service. Those of the group are told that they were not answered; the others go on.
        if catch_unwind(AssertUnwindSafe(|| commit(store, time, group))).is_err() {
            tracing::error!("the writing of a group of uploads panicked");
        }
    }
}

/// The next group of those that wait. Nothing is stored for a client that is known to have gone: HTTP/2 says so, and HTTP/1.1 does not.
fn next_group(waiting: &mut Vec<Waiting>) -> Vec<Waiting> {
    waiting.retain(|waiting| !waiting.answer.is_closed());
    in_turns(waiting, |waiting| waiting.client.account);
    let mut group = Gathered::default();
    waiting.extract_if(.., |waiting| group.take(&waiting.upload, GROUP)).collect()
}

/// Commits a group, and as many others as its answers need room. Where one may have failed for all, each is tried alone, so that what one cannot have,
/// the others have.
fn commit(store: &Store, time: ServiceTime, mut group: Vec<Waiting>) {
    prometheus::grouped(group.len());
    let answers = together(store, time, &group);
    match answers {
        Ok(answers) => {
            let rest = group.split_off(answers.len());
            for (waiting, answer) in group.into_iter().zip(answers) {
                // Its client may have gone: the upload is stored all the same, and a repeated one is told so.
                let _ = waiting.answer.send(answer.map_err(Error::Refused));
            }
            if !rest.is_empty() {
                commit(store, time, rest);
            }
        }
        Err(error) if group.len() > 1 && is_of_one(&error) => {
            for waiting in group {
                commit(store, time, vec![waiting]);
            }
        }
        Err(error) => {
            for waiting in group {
                let _ = waiting.answer.send(Err(super::failed(error.clone())));
            }
        }
    }
}

/// Whether one upload may have failed for all: what ails the store ails each of them, and is not waited for again and again.
fn is_of_one(error: &touchstone_store::Error) -> bool {
    use ErrorKind::{Conflict, Damaged, Invalid, Mismatch, Refused, TooBig};
    matches!(error.kind(), Conflict | Damaged | Invalid | Mismatch | Refused | TooBig)
}

/// The answers to the first of a group, and to as many behind it as give back what a group may.
fn together(store: &Store, time: ServiceTime, group: &[Waiting]) -> touchstone_store::Result<Vec<Answer>> {
    let now = time.now();
    store.write(|transaction| {
        let (mut answers, mut bytes) = (Vec::new(), 0);
        for waiting in group {
            if bytes >= GROUP_BYTES {
                break;
            }
            let answer = apply(transaction, waiting.client, &waiting.upload, now)?;
            bytes += given_back(answer.as_ref());
            answers.push(answer);
        }
        Ok(answers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Account;

    #[test]
    fn a_group_has_one_of_each_user_first_and_none_of_a_client_that_has_gone() {
        let places = Shares::default();
        let (mut waiting, mut clients) = (Vec::new(), Vec::new());
        for user in std::iter::repeat_n(1, 2 * GROUP).chain([2, 3]) {
            let (answer, answered) = oneshot::channel();
            let account = Account { user };
            let place = places.take(account, 1);
            let client = Client { account, device: 1 };
            waiting.push(Waiting { client, upload: Upload::default(), answer, _room: None, _place: place });
            clients.push(answered);
        }
        // The second user's client goes.
        clients.remove(2 * GROUP);
        let group = next_group(&mut waiting);
        let users = group.iter().map(|waiting| waiting.client.account.user);
        assert_eq!(Vec::from_iter(users.take(3)), [1, 3, 1]);
        assert_eq!((group.len(), waiting.len()), (GROUP, GROUP + 1));
        assert!(places.has_room(Account { user: 2 }, usize::MAX, 1), "its place is free");
    }
}
