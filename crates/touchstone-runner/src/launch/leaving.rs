//! An arm leaves a launch: it says how it does a slice, and a process that knows nothing of the first looks for what that one
//! acknowledged.

use super::Player;
use crate::error::Result;
use crate::header::contradicted_in;
use crate::session::{LastWords, Session, SessionError, SessionResult, unexpected};
use crate::words::first_failure;
use touchstone::kit::DurabilityClass;
use touchstone::plan::EXPLAINED;
use touchstone::sample::{Launch, NOT_EXPLAINED, Outcome};
use touchstone_protocol::{FailureKind, Lane, Plan, Reply, Request, Setting};

impl Player<'_> {
    /// Says in the first launches how it does a slice, where the slice stores nothing: by the process that played, for it may have
    /// kept what it no longer asks its engine for. An earlier process may have kept it too: the second launch tells.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub fn explain_before(&mut self, launch: usize, calibrated: u64) -> Result<()> {
        if launch < 2 && !self.arm.writes() {
            self.plan = self.explained(calibrated)?;
        }
        Ok(())
    }

    /// Ends the process that played.
    pub fn end_process(&mut self) {
        if self.plays() && !self.context.case.unchecked {
            let ended = self.end();
            self.note(ended);
        }
    }

    /// Starts another process where the first has ended as it should. It is not waited for, and will look for what was acknowledged.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub fn start_anew(&mut self) -> Result<()> {
        if self.session.is_none() && self.outcome == Outcome::Completed {
            let started = self.start()?;
            self.note(started);
        }
        Ok(())
    }

    /// Looks for everything that was acknowledged, says in the first launch how it stores something, and leaves.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub fn leave(mut self, launch: usize, calibrated: u64) -> Result<Launch> {
        let mut counted = None;
        if self.plays() && !self.context.case.unchecked {
            let checked = self.check_anew();
            counted = self.note(checked);
        }
        let found = counted.unwrap_or(0);
        let stored = self.stored;
        let file_bytes = self.place.file_bytes();
        let contradicted = contradicted_in(self.place.path(), file_bytes.keys(), &self.settings);
        // What stores something is explained last, for nobody checks it.
        if launch == 0 && self.arm.writes() {
            self.plan = self.explained(calibrated)?;
        }
        if self.outcome == Outcome::Completed {
            let left = self.dismiss(Session::quit);
            self.note(left);
        }
        self.settings.extend(contradicted);
        let best_hits = self.best_hits();
        // A part that was cut short has nothing to compare: it is not missing what nobody looked for.
        let whole = counted.is_some() && self.outcome == Outcome::Completed;
        Ok(Launch {
            case: self.context.case.id.clone(),
            launch,
            arm: self.arm.name.clone(),
            outcome: self.outcome,
            error: self.error.take(),
            failed_with: self.failed_with.take(),
            calibrated,
            processor: self.processor,
            threads: self.survey.threads,
            children: self.survey.children,
            strayed: self.survey.strayed.take(),
            rest_cpu: None,
            settings: std::mem::take(&mut self.settings),
            expected: if whole { stored } else { found },
            found,
            plan: std::mem::take(&mut self.plan.plan),
            counters: std::mem::take(&mut self.plan.counters),
            best_hits,
            file_bytes,
        })
    }

    /// What no pool of as many pages could better.
    fn best_hits(&self) -> Option<u64> {
        match self.settings.get("pool_pages")? {
            Setting::Number(pages) => {
                self.context.data.best_hits(self.context.case, u64::try_from(*pages).ok()?)
            }
            Setting::Word(_) => None,
        }
    }

    /// How it does a slice; nothing of an arm that has failed.
    fn explained(&mut self, calibrated: u64) -> Result<Plan> {
        if !self.plays() {
            return Ok(Plan::default());
        }
        let explained = self.explain(calibrated)?;
        Ok(self.note(explained).unwrap_or_default())
    }

    /// Killed, the process that played can neither write down what it only kept in memory nor tell the next one; a class that
    /// promises nothing after that is closed instead.
    fn end(&mut self) -> SessionResult<()> {
        if self.arm.class == DurabilityClass::None {
            self.close()?;
            self.dismiss(Session::quit)?;
        }
        self.dismiss(|session| {
            drop(session);
            Ok(())
        })?;
        self.open = false;
        Ok(())
    }

    /// Ends its process, and hears what that said of operations that failed.
    fn dismiss(&mut self, end: impl FnOnce(Session) -> SessionResult<()>) -> SessionResult<()> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        let words = if self.failing { session.last_words() } else { None };
        let ended = end(session);
        let told = words.map(LastWords::hear).and_then(|said| first_failure(&said));
        self.failed_with = self.failed_with.take().or(told);
        ended
    }

    fn check_anew(&mut self) -> SessionResult<u64> {
        self.hear()?;
        self.prepare_nothing()?;
        self.check()
    }

    /// So that it need not read data to tell what it finds.
    fn prepare_nothing(&mut self) -> SessionResult<()> {
        let reply = self.ask(&Request::Prepare {
            record: self.context.case.dataset.record,
            dataset: self.context.data.empty_file.clone(),
            operations: None,
            states: None,
            subscriptions: None,
        })?;
        match reply {
            Reply::Prepare { .. } => Ok(()),
            other => Err(unexpected("prepare", &other)),
        }
    }

    /// How it does a slice, off the clock.
    fn explain(&mut self, calibrated: u64) -> Result<SessionResult<Plan>> {
        if self.arm.writes() {
            let prepared = self.prepare();
            if self.note(prepared).is_none() {
                return Ok(Ok(Plan::default()));
            }
        }
        let settled = self.settle()?;
        let open = |player: &mut Self| if player.open { Ok(()) } else { player.reopen_watching() };
        Ok(settled
            .and_then(|()| open(self))
            .and_then(|()| self.ask_before())
            .and_then(|()| self.explain_slice(calibrated)))
    }

    fn explain_slice(&mut self, calibrated: u64) -> SessionResult<Plan> {
        let lanes = self.lanes_at(0, calibrated).into_iter().map(counted).collect();
        let plan = match self.ask(&Request::Explain { lanes }) {
            Ok(Reply::Explain(plan)) => plan,
            Ok(other) => return Err(unexpected("explain", &other)),
            // Not to explain is a missing capability; it costs the report a row, not the subject its result.
            Err(SessionError::Refused(failure)) if failure.kind == FailureKind::Unsupported => {
                Plan::default()
            }
            Err(SessionError::Refused(failure)) => {
                Plan { plan: vec![format!("{NOT_EXPLAINED} {failure}")], ..Plan::default() }
            }
            Err(error) => return Err(error),
        };
        self.close()?;
        Ok(plan)
    }

    fn check(&mut self) -> SessionResult<u64> {
        self.reopen()?;
        let (mut found, mut differs) = (0, None);
        for table in 1..=self.context.case.tables_used() {
            let reply = self.ask(&Request::Check { table })?;
            let Reply::Check { answers, digest } = reply else { return Err(unexpected("check", &reply)) };
            found = answers.saturating_add(found);
            let right = self.context.data.content(&self.contents, table);
            if right.is_some_and(|(_, right)| digest != right) {
                differs = differs.or(Some((table, digest)));
            }
        }
        self.close()?;
        let acknowledged = self.acknowledged;
        let wrong = match differs {
            _ if found != acknowledged => {
                Some(format!("{found} records are there, {acknowledged} were acknowledged"))
            }
            Some((table, digest)) => Some(self.differs(table, &digest)),
            None => None,
        };
        if let Some(wrong) = wrong {
            self.outcome = Outcome::Void;
            self.error = Some(wrong);
        }
        Ok(found)
    }

    fn differs(&self, table: u32, digest: &str) -> String {
        let (_, right) = self.context.data.content(&self.contents, table).unwrap_or_default();
        let of = if table == 1 { String::new() } else { format!(" of table {table}") };
        format!("the database's content{of} has digest {digest}, the right one is {right}")
    }
}

/// What is by the clock says in a count of operations how it does them.
fn counted(lane: Lane) -> Lane {
    match lane.lasts_ms {
        None => lane,
        Some(_) => Lane { lasts_ms: None, count: lane.count.min(EXPLAINED), ..lane },
    }
}
