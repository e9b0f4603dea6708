//! Stays in step: syncs at once, whenever the service says that there is something, and whenever this device has edited. Where the
//! service is away it is asked again and again, each time after a random and longer wait.

use crate::local::OutgoingRow;
use crate::{Error, ErrorKind, Replica, Result, Synced};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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
    /// Something failed that does not pass, and the watch has ended with it: this is the last that it tells, and the copy is no longer kept in step.
    /// [`Watching::wait`] gives the same error; or the panic, where a function of the program has panicked that decides about conflicts or is
    /// told of what is displaced. Where the watch's own function has panicked it is told nothing more, and a watch that the program stops or
    /// drops does not tell so.
    Ended(Error),
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
    /// Keeps the copy in step on a thread of its own, which tells what it has done, and last that it has ended.
    ///
    /// # Errors
    /// When the system gives no thread, or the store cannot be watched. A later failure that does not pass is told as [`Event::Ended`], and given by
    /// [`Watching::stop`] and [`Watching::wait`].
    pub fn watch(&self, told: impl FnMut(Event) + Send + 'static) -> Result<Watching> {
        let (wake, woken) = mpsc::channel();
        let edits = Edits::watched(self, wake.clone())?;
        let follower = Follower::new(self.clone(), told, wake.clone(), woken);
        let follow = move || {
            let _edits = edits;
            follower.follow()
        };
        let thread = thread::Builder::new().name("sync watch".into()).spawn(follow);
        let thread = thread.map_err(|error| Error::system("it gives no thread", error))?;
        Ok(Watching { wake, thread: Some(thread) })
    }
}

impl Watching {
    /// Ends the watch, once a request that is under way has been answered. Called by the watch's own function, it does not wait: the
    /// watch ends when that has returned.
    ///
    /// # Errors
    /// With what had ended it before.
    ///
    /// # Panics
    /// Where one of the program's own functions has panicked in the watch: its panic goes on here.
    pub fn stop(self) -> Result<()> {
        self.end();
        self.wait()
    }

    /// Has the watch end as [`stop`](Watching::stop) does, and does not wait for that.
    pub fn end(&self) {
        // Nobody listens any more where it has ended.
        let _ = self.wake.send(Wake::Stop);
    }

    /// Waits until something fails that does not pass, such as a token that is revoked. Called by the watch's own function, which
    /// could wait for ever, it is as [`stop`](Watching::stop).
    ///
    /// # Errors
    /// With what has ended it.
    ///
    /// # Panics
    /// As for [`stop`](Watching::stop).
    pub fn wait(mut self) -> Result<()> {
        if self.is_own() {
            return Ok(());
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Whether this is called by the watch's own function.
    pub fn is_own(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == thread::current().id())
    }

    /// Whether it has ended: then [`wait`](Watching::wait) returns at once.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.end();
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
    /// From when something wakes it up until a sync has succeeded.
    is_due: bool,
    /// How often the stream has said something.
    lives: u64,
    /// In a row.
    failures: u32,
    /// Whether the program's function is called now, or has panicked.
    is_telling: bool,
}

impl<T: FnMut(Event)> Follower<T> {
    fn new(replica: Replica, told: T, wake: Sender<Wake>, woken: Receiver<Wake>) -> Follower<T> {
        let (stream, is_open, is_due, lives, failures) = (0, false, true, 0, 0);
        Follower { replica, told, wake, woken, stream, is_open, is_due, lives, failures, is_telling: false }
    }

    fn follow(mut self) -> Result<()> {
        let ended = catch_unwind(AssertUnwindSafe(|| self.until_ended()));
        let error = match &ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.clone()),
            Err(_) if self.is_telling => None,
            Err(_) => {
                Some(Error::new(ErrorKind::Program, "a function that the watch has called has panicked"))
            }
        };
        if let Some(error) = error {
            self.tell(Event::Ended(error));
        }
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn tell(&mut self, event: Event) {
        self.is_telling = true;
        (self.told)(event);
        self.is_telling = false;
    }

    /// Stays in step until it is stopped, or something fails that does not pass.
    fn until_ended(&mut self) -> Result<()> {
        loop {
            let end = match self.step() {
                Err(End::Failed(error)) if error.passes() => self.pause(error),
                done => done,
            };
            match end {
                Ok(()) => {}
                Err(End::Stopped) => return Ok(()),
                Err(End::Failed(error)) => return Err(error),
            }
        }
    }

    /// Syncs if that is due, and waits for something.
    fn step(&mut self) -> std::result::Result<(), End> {
        if self.is_due {
            let synced = self.replica.sync_once()?;
            (self.is_due, self.failures) = (false, 0);
            self.tell(Event::Synced(synced));
        }
        if !self.is_open {
            // Where there is no stream, each attempt to open one asks for what is new itself.
            self.is_due = true;
            self.open()?;
            self.is_due = false;
        }
        let woken = self.woken.recv().map_err(|_| End::Stopped)?;
        self.hear(woken)?;
        // One sync is for all that is known by now.
        while let Ok(woken) = self.woken.try_recv() {
            self.hear(woken)?;
        }
        Ok(())
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

    /// Takes note of whether a sync is due.
    fn hear(&mut self, woken: Wake) -> std::result::Result<(), End> {
        match woken {
            Wake::Stop => return Err(End::Stopped),
            Wake::Edited(edited) => {
                edited?;
                self.is_due = true;
            }
            Wake::Told(stream, revision) if stream == self.stream => {
                self.lives += 1;
                // A stream that has said more than its first word was one.
                if self.lives > 1 {
                    self.failures = 0;
                }
                if let Some(revision) = revision {
                    self.is_due |= self.replica.state()?.cursor != revision;
                }
            }
            Wake::Ended(stream, error) if stream == self.stream => {
                self.is_open = false;
                return Err(End::Failed(error));
            }
            // Of a stream that is no more.
            Wake::Told(..) | Wake::Ended(..) => {}
        }
        Ok(())
    }

    /// Waits before the service is asked again.
    fn pause(&mut self, error: Error) -> std::result::Result<(), End> {
        self.failures = self.failures.saturating_add(1);
        let until = Instant::now() + self.replica.inner.retry.pause(self.failures, &error);
        self.tell(Event::Away(error));
        loop {
            match self.woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(woken) => match self.hear(woken) {
                    Ok(()) => {}
                    // The stream has ended too: it is opened again after this wait.
                    Err(End::Failed(error)) if error.passes() => {}
                    Err(end) => return Err(end),
                },
                Err(RecvTimeoutError::Timeout) => return Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    /// The edit and the stream's end are heard in one go: the edit is sent once the service is asked again.
    #[test]
    fn an_edit_is_not_forgotten_over_the_end_of_a_stream() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let service = Service::new(format!("http://{}", listener.local_addr().unwrap()), "tsync_1");
        let replica = Replica::open(folder.path().join("phone.db"), service).unwrap();
        let (wake, woken) = mpsc::channel();
        wake.send(Wake::Edited(Ok(()))).unwrap();
        wake.send(Wake::Ended(0, Error::new(ErrorKind::Away, "the stream has ended"))).unwrap();
        let mut follower = Follower::new(replica, |_| (), wake.clone(), woken);
        (follower.is_open, follower.is_due) = (true, false);
        let following = thread::spawn(move || follower.follow());
        let (asked, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&asked).read_line(&mut line).unwrap();
        assert!(line.starts_with("POST /v1/clients "), "a sync comes first, and not another stream: {line}");
        wake.send(Wake::Stop).unwrap();
        drop((asked, listener));
        following.join().unwrap().unwrap();
    }
}
