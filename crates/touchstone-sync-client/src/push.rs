//! Sends the outbox, in its order, some edits at a time and one of each object: the service takes an edit for its device's own only
//! within the same upload, and an earlier one may have been stored by an upload whose answer was lost.

use crate::local::{self, OutgoingRow, StateRow, UnderRow, waiting};
use crate::service::{Asked, Failure};
use crate::wire::{Change, Problem, Upload, Uploaded};
use crate::{Error, ErrorKind, Replica, Result, Synced};
use std::collections::HashSet;
use touchstone_store::{Durability, Transaction};

/// Edits of an upload at most: half of what the service takes.
const EDITS_MAX: usize = 500;

/// Bytes of the edits of an upload from which on it ends. The service takes 4 MiB of JSON, in which a text is longer than it is.
const EDITS_BYTES: usize = 1 << 20;

/// Uploads of one push that are refused at most: where others change the same objects all the time, the next push goes on.
const REFUSALS_MAX: u32 = 1_000;

/// An edit as it is sent.
pub(crate) struct Sent {
    pub(crate) edit: OutgoingRow,
    pub(crate) under: UnderRow,
    /// Whether it was sent before, so that it may be stored already.
    is_repeated: bool,
}

impl Replica {
    /// Sends as many edits as wait now: what is edited meanwhile may wait for the next time, for others are to be heard too.
    pub(crate) fn push(&self, synced: &mut Synced) -> Asked<()> {
        let mut left = usize::try_from(self.pending()?).unwrap_or(usize::MAX);
        let (mut most, mut refusals) = (EDITS_MAX, 0);
        while left > 0 && refusals < REFUSALS_MAX {
            let (state, batch) = self.begin(most.min(left))?;
            if batch.is_empty() {
                break;
            }
            let upload = self.upload(&batch, state.cursor, state.history.as_deref());
            match self.client().upload(&upload) {
                Ok(uploaded) => {
                    self.stored(&batch, uploaded, synced)?;
                    left -= batch.len();
                    most = EDITS_MAX;
                }
                Err(Failure::Problem(problem)) => {
                    most = self.refused(problem, &batch, synced)?;
                    refusals += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// What is sent next. It is on the disk before the service has it: after a loss of power it is sent again by its name. If it were
    /// gone, this device would never fetch it, for the service leaves out what a device has made itself. An edit that was noted as sent
    /// before may have missed its flush, as where the program ended in between.
    fn begin(&self, most: usize) -> Result<(StateRow, Vec<Sent>)> {
        let lasts = self.store().durability() != Durability::Process;
        let begun = self.store().write(|transaction| {
            let (state, batch) = begin(transaction, most)?;
            if lasts && !batch.is_empty() {
                transaction.durable();
            }
            Ok((state, batch))
        })?;
        Ok(begun)
    }

    /// What the service is told. Where the program decides about conflicts, an edit says what it was made on.
    fn upload<'b>(&self, batch: &'b [Sent], seen: u64, history: Option<&'b str>) -> Upload<'b> {
        let decides = self.decides();
        let change = |Sent { edit, under, .. }: &'b Sent| Change {
            id: &edit.object,
            data: edit.data.as_deref(),
            deleted: edit.data.is_none(),
            base: decides.then_some(under.base),
            change: &edit.name,
        };
        Upload { changes: batch.iter().map(change).collect(), seen, history }
    }

    fn stored(&self, batch: &[Sent], uploaded: Uploaded, synced: &mut Synced) -> Result<()> {
        if uploaded.revisions.len() != batch.len() {
            let text = format!("{} revisions of {} changes", uploaded.revisions.len(), batch.len());
            return Err(Error::new(ErrorKind::Answer, text));
        }
        let tells = self.tells();
        let overwritten =
            self.store().write(|transaction| acknowledge(transaction, batch, &uploaded, tells))?;
        synced.sent += batch.len() as u64;
        synced.overwritten += overwritten;
        Ok(())
    }

    /// Does what a refusal asks for, and says how many edits are sent together from now on. A refusal that is of no edit is given back.
    fn refused(&self, problem: Problem, batch: &[Sent], synced: &mut Synced) -> Asked<usize> {
        if problem.is("conflict") {
            self.decide(&problem.current, batch, synced)?;
            return Ok(EDITS_MAX);
        }
        if problem.is("too-long") && batch.len() > 1 {
            return Ok(batch.len() / 2);
        }
        let place = if problem.is("too-long") { Some(0) } else { refused_place(&problem) };
        let Some(sent) = place.and_then(|place| batch.get(place)) else {
            return Err(Failure::Problem(problem));
        };
        self.store().write(|transaction| give_up(transaction, sent, problem.detail))?;
        synced.refused += 1;
        Ok(EDITS_MAX)
    }
}

/// Which change of an upload a refusal is of: the service begins with its place. Any other refusal is not taken for one of an edit, for
/// then no edit may be given up.
fn refused_place(problem: &Problem) -> Option<usize> {
    let place = problem.detail.strip_prefix("`changes[").filter(|_| problem.is("malformed"))?;
    place.split(']').next()?.parse().ok()
}

/// What is sent next, noted as sent; and where the copy stands.
fn begin(transaction: &mut Transaction<'_>, most: usize) -> touchstone_store::Result<(StateRow, Vec<Sent>)> {
    let state = transaction.get::<StateRow>(&0)?.expect("it is made when the copy is opened");
    let edits =
        transaction.query::<OutgoingRow>().order(|row| row.number.ascending()).limit(most as u64).all()?;
    let (mut batch, mut bytes, mut objects) = (Vec::new(), 0, HashSet::new());
    for mut edit in edits {
        if bytes >= EDITS_BYTES {
            break;
        }
        if !objects.insert(edit.object.clone()) {
            continue;
        }
        bytes += edit.object.len() + edit.data.as_ref().map_or(0, String::len);
        let is_repeated = edit.is_sent;
        if !is_repeated {
            edit.is_sent = true;
            transaction.replace(&edit)?;
        }
        let under = transaction.get::<UnderRow>(&*edit.object)?.unwrap_or_default();
        batch.push(Sent { edit, under, is_repeated });
    }
    Ok((state, batch))
}

/// What was stored leaves the outbox. An edit that waits behind it was made on it. How many versions of others were overwritten unseen.
fn acknowledge(
    transaction: &mut Transaction<'_>,
    batch: &[Sent],
    uploaded: &Uploaded,
    tells: bool,
) -> touchstone_store::Result<u64> {
    let told: HashSet<&str> = uploaded.overwritten.iter().map(|theirs| theirs.id.as_str()).collect();
    let mut overwritten = uploaded.overwritten.len() as u64;
    for theirs in uploaded.overwritten.iter().filter(|_| tells) {
        local::displace(transaction, &theirs.id, theirs.data.clone(), None)?;
    }
    for (Sent { edit, .. }, &revision) in batch.iter().zip(&uploaded.revisions) {
        let object = &edit.object;
        transaction.remove::<OutgoingRow>(&edit.number)?;
        let mut under = transaction.get::<UnderRow>(&**object)?.unwrap_or_default();
        // Fetched since the edit was made, and older than it in the service's order; unless what the service tells of came between.
        if under.base < under.revision && under.revision < revision && !told.contains(object.as_str()) {
            overwritten += 1;
            if tells {
                local::displace(transaction, object, under.data.clone(), None)?;
            }
        }
        (under.base, under.base_data) = (revision, edit.data.clone());
        under.rise(revision, edit.data.clone());
        if waiting(transaction, object)?.is_empty() {
            transaction.remove::<UnderRow>(&**object)?;
            local::show(transaction, object, under.revision, under.data)?;
        } else {
            transaction.put(&under)?;
        }
    }
    Ok(overwritten)
}

/// An edit that the service does not take leaves the outbox, and is kept for the program; the object is again what the service has,
/// unless it was edited once more. A service that has taken it before, when more was allowed, tells of that where everything is fetched.
fn give_up(transaction: &mut Transaction<'_>, sent: &Sent, why: String) -> touchstone_store::Result<()> {
    let Sent { edit, is_repeated, .. } = sent;
    transaction.remove::<OutgoingRow>(&edit.number)?;
    local::displace(transaction, &edit.object, edit.data.clone(), Some(why))?;
    if *is_repeated {
        transaction.update::<StateRow>(&0, |state| (state.cursor, state.is_whole) = (0, false))?;
    }
    if waiting(transaction, &edit.object)?.is_empty()
        && let Some(under) = transaction.get::<UnderRow>(&*edit.object)?
    {
        transaction.remove::<UnderRow>(&*edit.object)?;
        local::show(transaction, &edit.object, under.revision, under.data)?;
    }
    Ok(())
}
