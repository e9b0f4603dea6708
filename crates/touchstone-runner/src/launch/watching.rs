//! What the lab sees of an arm while it plays, beside what its kit says.

use super::Player;
use crate::session::Session;
use crate::task::{children, strayed, threads};
use crate::witness::Seen;
use touchstone::sample::Witness;

impl Player<'_> {
    /// What the system counts of the driver's process now.
    pub(super) fn look(&self, flushes: bool) -> Seen {
        let process = self.session.as_ref().and_then(Session::process);
        process.map_or_else(Seen::default, |process| Seen::now(process, flushes))
    }

    pub(super) fn waited_ns(&self) -> u64 {
        self.session.as_ref().map_or(0, Session::waited_ns)
    }

    /// What was seen from before the slice to after it, and of the opening before that.
    pub(super) fn witness(&mut self, before: &Seen, after: &Seen) -> Witness {
        let seen = after.since(before);
        let (opening_ns, opening_read_bytes) = self.opening.take().unzip();
        let replied = self.session.as_ref().map_or(0, Session::replied_bytes);
        Witness {
            waited_ns: self.waited_ns(),
            opening_ns,
            opening_read_bytes: opening_read_bytes.flatten(),
            read_bytes: seen.read_bytes,
            written_bytes: seen.written_bytes.map(|bytes| bytes.saturating_sub(replied)),
            flushes: seen.flushes,
            tasks_made: after.tasks_since(before),
        }
    }

    /// Looks at what the process consists of, and keeps the most of it.
    pub(super) fn take_survey(&mut self) {
        let Some(process) = self.session.as_ref().and_then(Session::process) else { return };
        self.survey.threads = self.survey.threads.max(threads(process));
        self.survey.children = self.survey.children.max(children(process));
        let strays = || self.processor.and_then(|processor| strayed(process, processor));
        self.survey.strayed = self.survey.strayed.take().or_else(strays);
    }
}

/// What a driver's process was seen to consist of, at the most.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) threads: Option<u64>,
    pub(super) children: Option<u64>,
    pub(super) strayed: Option<String>,
}
