//! Stays in step: syncs at once, whenever the service says that there is something, and whenever this device has edited. Where the
//! service is away it is asked again and again, each time after a random and longer wait.

use crate::local::OutgoingRow;
use crate::{Error, ErrorKind, Replica, Result, Synced};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use touchstone_store::Feed;

/// What a watch tells the program.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The copy was in step with the service a moment ago.
    Synced(Synced),
    /// The service is away. It is asked again.
    Away(Error),
}

/// What wakes a watch up.
enum Wake {
    /// The service's stream, the how many-th it is, says something: the user's last revision, or only that it is there.
    Told(u64, Option<u64>),
    /// That stream has ended.
    Ended(u64, Error),
    /// This device has edited, or the store can no longer be asked whether it has.
    Edited(Result<()>),
    /// The program has watched enough.
    Stop,
}

/// A watch that goes on until it is stopped or dropped, or something fails that does not pass.
#[must_use = "a watch ends when it is dropped"]
pub struct Watching {
    wake: Sender<Wake>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Replica {
    /// Keeps the copy in step on a thread of its own, which tells what it has done.
    ///
    /// # Errors
    /// When the system gives no thread, or the store cannot be watched. Later failures are given by [`Watching::stop`] and
    /// [`Watching::wait`].
    pub fn watch(&self, told: impl FnMut(Event) + Send + 'static) -> Result<Watching> {
        let (wake, woken) = mpsc::channel();
        let edits = Edits::watched(self, wake.clone())?;
        let (replica, others) = (self.clone(), wake.clone());
        let follow = move || {
            let _edits = edits;
            Follower { replica, told, wake: others, woken, stream: 0, is_open: false, lives: 0, failures: 0 }
                .follow()
        };
        let thread = thread::Builder::new().name("sync watch".into()).spawn(follow);
        let thread = thread.map_err(|error| Error::system("it gives no thread", error))?;
        Ok(Watching { wake, thread: Some(thread) })
    }
}

impl Watching {
    /// Ends the watch, once a request that is under way has been answered.
    ///
    /// # Errors
    /// With what had ended it before.
    ///
    /// # Panics
    /// Where one of the program's own functions has panicked in the watch: its panic goes on here.
    pub fn stop(self) -> Result<()> {
        let _ = self.wake.send(Wake::Stop);
        self.wait()
    }

    /// Waits until something fails that does not pass, such as a token that is revoked.
    ///
    /// # Errors
    /// With what has ended it.
    ///
    /// # Panics
    /// As for [`stop`](Watching::stop).
    pub fn wait(mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Whether it has ended: then [`wait`](Watching::wait) returns at once.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.wake.send(Wake::Stop);
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watching")
    }
}

/// Why a follower goes no further.
enum End {
    Stopped,
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        End::Failed(error)
    }
}

struct Follower<T> {
    replica: Replica,
    told: T,
    wake: Sender<Wake>,
    woken: Receiver<Wake>,
    /// How many streams there were.
    stream: u64,
    is_open: bool,
    /// How often the stream has said something.
    lives: u64,
    /// In a row.
    failures: u32,
}

impl<T: FnMut(Event)> Follower<T> {
    fn follow(mut self) -> Result<()> {
        let mut is_due = true;
        loop {
            match self.step(is_due) {
                Ok(due) => is_due = due,
                Err(End::Stopped) => return Ok(()),
                Err(End::Failed(error)) if error.passes() => match self.pause(error) {
                    Ok(due) => is_due |= due,
                    Err(End::Stopped) => return Ok(()),
                    Err(End::Failed(error)) => return Err(error),
                },
                Err(End::Failed(error)) => return Err(error),
            }
        }
    }

    /// Syncs if that is due, and waits for something. Whether a sync is due then.
    fn step(&mut self, is_due: bool) -> std::result::Result<bool, End> {
        if is_due {
            let synced = self.replica.sync_once()?;
            self.failures = 0;
            (self.told)(Event::Synced(synced));
        }
        if !self.is_open {
            self.open()?;
        }
        let woken = self.woken.recv().map_err(|_| End::Stopped)?;
        let mut is_due = self.hear(woken)?;
        // One sync is for all that is known by now.
        while let Ok(woken) = self.woken.try_recv() {
            is_due |= self.hear(woken)?;
        }
        Ok(is_due)
    }

    /// Begins a stream. It says at once where the user stands, so nothing is missed that came before it.
    fn open(&mut self) -> Result<()> {
        let words = self.replica.client().watch()?;
        self.stream += 1;
        (self.is_open, self.lives) = (true, 0);
        let (stream, wake) = (self.stream, self.wake.clone());
        let listen = move || listen(stream, words, &wake);
        let listener = thread::Builder::new().name("sync stream".into()).spawn(listen);
        listener.map(drop).map_err(|error| Error::system("it gives no thread", error))
    }

    /// Whether a sync is due now.
    fn hear(&mut self, woken: Wake) -> std::result::Result<bool, End> {
        match woken {
            Wake::Stop => Err(End::Stopped),
            Wake::Edited(edited) => Ok(edited.map(|()| true)?),
            Wake::Told(stream, revision) if stream == self.stream => {
                self.lives += 1;
                // A stream that has said more than its first word was one.
                if self.lives > 1 {
                    self.failures = 0;
                }
                let Some(revision) = revision else { return Ok(false) };
                Ok(self.replica.state()?.cursor != revision)
            }
            Wake::Ended(stream, error) if stream == self.stream => {
                self.is_open = false;
                Err(End::Failed(error))
            }
            // Of a stream that is no more.
            Wake::Told(..) | Wake::Ended(..) => Ok(false),
        }
    }

    /// Waits before the service is asked again. Whether a sync is due then.
    fn pause(&mut self, error: Error) -> std::result::Result<bool, End> {
        self.failures = self.failures.saturating_add(1);
        let until = Instant::now() + self.replica.inner.retry.pause(self.failures, &error);
        (self.told)(Event::Away(error));
        let mut is_due = false;
        loop {
            match self.woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(woken) => match self.hear(woken) {
                    Ok(due) => is_due |= due,
                    // The stream has ended too: it is opened again after this wait.
                    Err(End::Failed(error)) if error.passes() => {}
                    Err(end) => return Err(end),
                },
                Err(RecvTimeoutError::Timeout) => return Ok(is_due),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Stopped),
            }
        }
    }
}

/// Hands on what a stream says. It ends when nobody follows any more: at the next word of the service, which comes every 15 seconds.
fn listen(stream: u64, words: impl Iterator<Item = Result<Option<u64>>>, wake: &Sender<Wake>) {
    for word in words {
        let woken = match word {
            Ok(revision) => Wake::Told(stream, revision),
            Err(error) => Wake::Ended(stream, error),
        };
        let is_last = matches!(woken, Wake::Ended(..));
        if wake.send(woken).is_err() || is_last {
            return;
        }
    }
    let _ = wake.send(Wake::Ended(stream, Error::new(ErrorKind::Away, "the stream has ended")));
}

/// Wakes a follower whenever this device has edited, in any program, until it is dropped.
struct Edits {
    feed: Feed,
}

impl Edits {
    fn watched(replica: &Replica, wake: Sender<Wake>) -> Result<Edits> {
        let feed = replica.store().feed()?;
        let unsent = feed.query::<OutgoingRow>().filter(|row| row.is_sent.eq(false));
        let unsent = unsent.order(|row| row.number.descending()).limit(1).watch()?;
        let edits = Edits { feed: feed.clone() };
        let tell = move || {
            for batch in &feed {
                let edited = batch.and_then(|batch| match batch.get(unsent.id()) {
                    Some(update) => Ok(!update.results::<OutgoingRow>()?.is_empty()),
                    None => Ok(false),
                });
                let told = match edited {
                    // What leaves the outbox is no edit.
                    Ok(false) => Ok(()),
                    Ok(true) => wake.send(Wake::Edited(Ok(()))),
                    Err(error) => wake.send(Wake::Edited(Err(error.into()))),
                };
                if told.is_err() {
                    return;
                }
            }
        };
        let teller = thread::Builder::new().name("sync edits".into()).spawn(tell);
        teller.map_err(|error| Error::system("it gives no thread", error))?;
        Ok(edits)
    }
}

impl Drop for Edits {
    fn drop(&mut self) {
        self.feed.close();
    }
}
