//! How a service leaves a launch: its process is killed while users ask, another is started on the same database, and everything that
//! was acknowledged must be there for other devices, in the order of revisions.

use super::api::{Api, Change, Fault, page_of};
use super::held::Held;
use super::{LAB_BYTES, Servant, failed, template};
use crate::error::Result;
use crate::header::contradicted_in;
use crate::random::Stream;
use crate::session::{Session, SessionError};
use rand::RngExt;
use std::collections::BTreeMap;
use std::time::Duration;
use touchstone::kit::DurabilityClass;
use touchstone::sample::{Launch, Outcome};
use touchstone_protocol::Request;

/// How a process ended that nobody had told to.
pub(super) fn of_itself(how: SessionError) -> String {
    format!("it died before the lab killed it: {how}")
}

impl Servant<'_> {
    /// Ends the process at a moment of the lab's choosing: in the middle of what users upload, for a service may acknowledge before it
    /// stores while it has much to do; and in every other launch, or where nobody uploads, right behind uploads of the lab's own, for it
    /// may leave the newest for later. A class that promises nothing after a crash is closed instead.
    ///
    /// # Errors
    /// When the lab itself fails, or the user asks to stop.
    pub(crate) fn end_process(&mut self, launch: usize, random: &mut Stream) -> Result<()> {
        if !self.plays() {
            return Ok(());
        }
        let process = self.session.as_ref().and_then(Session::process).unwrap_or_default();
        self.rest.end(process);
        let under_load = launch.is_multiple_of(2) && self.context.load().uploads();
        if under_load && self.arm.class != DurabilityClass::None {
            return self.kill_under_load(random);
        }
        let uploaded = self.upload_own("last");
        self.note_death();
        if uploaded.is_ok() && self.arm.class == DurabilityClass::None {
            let closed = self.session.as_mut().map(|session| session.ask(&Request::Close));
            self.note(closed.transpose());
        }
        self.session = None;
        self.judge(uploaded);
        Ok(())
    }

    fn kill_under_load(&mut self, random: &mut Stream) -> Result<()> {
        // At any moment of a window: a service that begins to cheat late in each must fear the end of each.
        let moment = Duration::from_millis(random.random_range(0..self.context.load().window_ms.max(1)));
        let mut session = self.session.take();
        let mut died = None;
        let uploads = self.begin_window(0, random).cut_off(|generator| {
            generator.wait_for_requests()?;
            generator.let_ask(moment)?;
            died = session.as_mut().and_then(Session::died);
            session = None;
            Ok(())
        })?;
        drop(session);
        // What it lost is looked for all the same.
        self.died = self.died.take().or(died.map(of_itself));
        match uploads {
            Ok(uploads) => self.remember(&uploads),
            Err(why) => drop(self.note::<()>(Err(failed(why)))),
        }
        Ok(())
    }

    /// Notes how the process ended, where it has by now: before the lab has asked it to, and before it is forgotten. What is known
    /// of an earlier process stays.
    pub(super) fn note_death(&mut self) {
        self.note_death_within(Duration::ZERO);
    }

    /// The same where something has failed, which may be because it ends.
    pub(super) fn note_death_behind(&mut self) {
        const ON_ITS_WAY_OUT: Duration = Duration::from_millis(500);
        self.note_death_within(ON_ITS_WAY_OUT);
    }

    fn note_death_within(&mut self, time: Duration) {
        let died = self.session.as_mut().and_then(|session| session.died_within(time)).map(of_itself);
        self.died = self.died.take().or(died);
    }

    fn upload_own(&mut self, word: &str) -> std::result::Result<(), Fault> {
        let api = self.api();
        for user in 0..self.held.len() {
            let (id, data) = template::change(&format!("lab-{user}-{word}"), LAB_BYTES);
            api.upload(&template::device(user), &[(id.clone(), data.clone())])?;
            self.held[user].acknowledge(id, data);
        }
        Ok(())
    }

    /// Starts another process on the same database. It is not waited for.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(crate) fn start_anew(&mut self) -> Result<()> {
        if self.session.is_none() && self.outcome == Outcome::Completed {
            self.start()?;
        }
        Ok(())
    }

    /// Downloads everything by other devices of the users, and leaves.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(crate) fn leave(mut self, launch: usize) -> Result<Launch> {
        self.be_introduced();
        let expected = self.held.iter().map(Held::count).sum();
        let mut found = Found::default();
        if self.plays() {
            let downloaded = self.download_all(&mut found);
            self.judge(downloaded);
        }
        let file_bytes = self.look_at_files();
        self.quit();
        if let Some(died) = self.died.take() {
            self.add_death(died);
        }
        // What nobody could look for is not missing.
        let whole = found.users == self.held.len();
        let found = found.changes;
        Ok(Launch {
            case: self.context.case.id.clone(),
            launch,
            arm: self.arm.name.clone(),
            outcome: self.outcome,
            error: self.error.take(),
            failed_with: None,
            calibrated: 0,
            processor: None,
            threads: self.threads,
            children: self.children,
            strayed: self.strayed.take(),
            rest_cpu: self.rest.share(),
            settings: std::mem::take(&mut self.settings),
            expected: if whole { expected } else { found },
            found,
            plan: Vec::new(),
            counters: BTreeMap::new(),
            best_hits: None,
            file_bytes,
        })
    }

    /// A process that died by itself is a crash, and stands before whatever else is wrong.
    fn add_death(&mut self, died: String) {
        if self.outcome != Outcome::Void {
            self.outcome = Outcome::Crashed;
        }
        self.error = Some(match self.error.take() {
            Some(error) => format!("{died}; then {error}"),
            None => died,
        });
    }

    /// The database's files with their sizes. What the head of one says otherwise than the service does is what took effect.
    pub(super) fn look_at_files(&mut self) -> BTreeMap<String, u64> {
        let file_bytes = self.place.file_bytes();
        let contradicted = contradicted_in(self.place.path(), file_bytes.keys(), &self.settings);
        self.settings.extend(contradicted);
        file_bytes
    }

    /// Ends the process in the way of the protocol, if there is one.
    pub(super) fn quit(&mut self) {
        if let Some(session) = self.session.take() {
            let left = session.quit();
            self.note(left);
        }
    }

    /// Compares what another device of each user is given, from the first change on. What is wrong with one user's is no reason not to
    /// look at the others': what was found is counted over all of them.
    fn download_all(&self, found: &mut Found) -> std::result::Result<(), Fault> {
        let mut first_wrong = Ok(());
        for (user, held) in self.held.iter().enumerate() {
            match self.download_of(user, held, found) {
                Err(Fault::Wrong(wrong)) => first_wrong = first_wrong.and(Err(Fault::Wrong(wrong))),
                downloaded => downloaded?,
            }
        }
        first_wrong
    }

    fn download_of(&self, user: usize, held: &Held, found: &mut Found) -> std::result::Result<(), Fault> {
        let api = self.api();
        let limit = page_of(self.context.case.dataset.value_bytes.max(LAB_BYTES));
        let device = format!("{}-other", template::device(user));
        api.register(&template::user(user), &device)?;
        let mut check = held.check();
        let followed = api.follow(&device, 0, limit, |change| check.take(&change));
        found.changes += check.found();
        let cursor = followed?;
        found.users += 1;
        check.end().map_err(Fault::Wrong)?;
        goes_on(&api, &device, cursor)
    }
}

/// What was downloaded in the end.
#[derive(Default)]
struct Found {
    /// Acknowledged changes.
    changes: u64,
    /// Users whose changes were looked at to the last.
    users: usize,
}

/// After a crash, a revision that was given before it is never given again: devices would not ask for what has it.
fn goes_on(api: &Api, device: &str, cursor: u64) -> std::result::Result<(), Fault> {
    let (id, data) = template::change(&format!("{device}-after"), LAB_BYTES);
    let answered = api.upload(device, &[(id.clone(), data.clone())])?;
    let page = api.download(device, cursor, page_of(LAB_BYTES))?;
    let is_it = |change: &Change| {
        (&change.id, &change.data, change.revision) == (&id, &data, answered) && answered > cursor
    };
    match page.changes.as_slice() {
        [change] if is_it(change) => Ok(()),
        changes => Err(Fault::Wrong(format!(
            "after its process was started again, an upload was answered with cursor {answered}, and a device that was at cursor {cursor} \
             is given {} changes: it should be that one alone",
            changes.len()
        ))),
    }
}
