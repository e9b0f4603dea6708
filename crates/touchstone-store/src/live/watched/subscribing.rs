//! Beginning and ending subscriptions to one type's records: which rows they need, the families and tallies that are made
//! for them, and their first results.

use super::super::cover::Cover;
use super::super::family::{Family, wanted};
use super::super::load;
use super::super::mailbox::Slot;
use super::super::order::Span;
use super::super::outbox::Target;
use super::super::plan::{FamilyPlan, Plan};
use super::super::results::Results;
use super::super::row::{Row, RowKey};
use super::super::tally::Tally;
use super::super::update::SubscriptionId;
use super::super::watch::Watch;
use super::{HeldKey, NONE, Place, Watched, Watchers, index, is_of};
use crate::session::access::Access;
use crate::types::error::Result;
use crate::types::record::Record;
use crate::types::value::Value;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A request for a subscription.
pub(crate) struct Request {
    pub(crate) plan: Plan,
    pub(crate) slot: Slot,
    /// Whether the subscription is to the number of records only.
    pub(crate) counts: bool,
}

/// Subscriptions that are about to begin.
pub(crate) struct Starting<T> {
    list: Vec<Comer<T>>,
    /// The parts of the table that the families lack for these subscriptions.
    gaps: Vec<(u32, Cover)>,
    /// Whether rows must be read before the subscriptions can begin.
    pub(crate) lack: bool,
}

struct Comer<T> {
    wanted: Wanted<T>,
    slot: Slot,
}

enum Wanted<T> {
    Number { tally: u32, watch: Arc<Watch<T>> },
    Key(RowKey),
    Window { family: u32, watch: Arc<Watch<T>> },
}

/// Windows, each with the number of rows that it is to hold.
type Windows<T> = Vec<(Arc<Watch<T>>, usize)>;

/// Beginning and ending subscriptions.
impl<T: Record> Watched<T> {
    /// Finds out which rows subscriptions need to begin, and creates families for new shapes. If the subscriptions do
    /// not begin, the caller must call [`drop_unwatched`](Watched::drop_unwatched).
    pub(crate) fn prepare(&mut self, asked: Vec<Request>) -> Starting<T> {
        // Subscriptions that begin together mostly have one shape.
        let mut last: Option<(FamilyPlan, u32)> = None;
        let mut comer = |Request { plan, slot, counts }| {
            let wanted = match plan {
                Plan::Window(plan) if counts => {
                    let tally = self.tally(&plan.family);
                    let sorter = self.tallies[tally as usize].sorter();
                    let watch = Arc::new(Watch::new(sorter, plan.span(sorter), plan.page, false));
                    Wanted::Number { tally, watch }
                }
                Plan::Key(values) => Wanted::Key(RowKey::of(values.iter().map(Value::raw))),
                Plan::Window(plan) => {
                    let known = last.as_ref().filter(|(known, _)| *known == plan.family).map(|(_, at)| *at);
                    let family = known.unwrap_or_else(|| self.family(&plan.family));
                    let sorter = self.families[family as usize].sorter();
                    let watch =
                        Arc::new(Watch::new(sorter, plan.span(sorter), plan.page, plan.family.is_cut));
                    last = Some((plan.family, family));
                    Wanted::Window { family, watch }
                }
            };
            Comer { wanted, slot }
        };
        let list: Vec<Comer<T>> = asked.into_iter().map(&mut comer).collect();
        let gaps = self.gaps(&list);
        let is_unknown = |comer: &Comer<T>| match &comer.wanted {
            Wanted::Number { .. } => true,
            Wanted::Key(key) => !self.has(key),
            Wanted::Window { family, watch } => {
                let family = &self.families[*family as usize];
                watch.needed.is_some() && family.reach(watch, wanted(watch)).is_none()
            }
        };
        let lack = !gaps.is_empty() || list.iter().any(is_unknown);
        Starting { list, gaps, lack }
    }

    fn has(&self, key: &RowKey) -> bool {
        self.rows.find(key.hash, |held| is_of(&self.keys, held, key)).is_some()
    }

    /// Begins subscriptions of a feed, all of them or none. The first has the number `first`, and the others those
    /// after it. Without `access` nothing can be read: [`prepare`](Watched::prepare) must have found no lack.
    ///
    /// # Errors
    /// If rows that are lacking cannot be read.
    pub(crate) fn subscribe(
        &mut self,
        access: Option<Access<'_, T>>,
        comers: Starting<T>,
        feed: u32,
        first: SubscriptionId,
        version: u64,
    ) -> Result<Vec<(Place, Results<T>)>> {
        if let Some(access) = access {
            for (family, gap) in &comers.gaps {
                self.fill(access, *family, gap)?;
            }
            self.reach_all(access, &comers.list)?;
            // Filling a new filter takes long: here only the subscriber waits for it, and no commit does.
            self.mark_anew();
        }
        let mut begun = Vec::with_capacity(comers.list.len());
        for (Comer { wanted, slot }, id) in comers.list.into_iter().zip(first.0..) {
            let target = Target { feed, slot, id: SubscriptionId(id) };
            let one = match wanted {
                Wanted::Key(key) => self.begin_key(access, key, target, version),
                Wanted::Window { family, watch } => Ok(self.begin(family, watch, target, version)),
                Wanted::Number { tally, watch } => self.begin_number(access, tally, watch, target, version),
            };
            match one {
                Ok(one) => begun.push(one),
                Err(error) => {
                    for ((place, _), id) in begun.into_iter().zip(first.0..) {
                        self.cancel(place, SubscriptionId(id));
                    }
                    return Err(error);
                }
            }
        }
        self.trim();
        Ok(begun)
    }

    /// Makes the families hold the first rows that windows with a limit need.
    fn reach_all(&mut self, access: Access<'_, T>, comers: &[Comer<T>]) -> Result<()> {
        let mut pages: HashMap<u32, Windows<T>> = HashMap::new();
        for comer in comers {
            if let Wanted::Window { family, watch } = &comer.wanted
                && watch.needed.is_some()
            {
                pages.entry(*family).or_default().push((Arc::clone(watch), wanted(watch)));
            }
        }
        pages.into_iter().try_for_each(|(family, pages)| self.reach(access, family, &pages).map(drop))
    }

    /// Removes families and tallies that were created for subscriptions which could not begin.
    pub(crate) fn drop_unwatched(&mut self) {
        let unwatched = self.families.iter().filter(|(_, family)| family.len() == 0);
        for at in unwatched.map(|(at, _)| at).collect::<Vec<_>>() {
            self.drop_family(at);
        }
        self.drop_unwatched_tallies();
    }

    fn drop_unwatched_tallies(&mut self) {
        self.tallies.retain(|_, tally| tally.len() > 0);
        self.interest.count(!self.tallies.is_empty());
    }

    fn drop_family(&mut self, family: usize) {
        let family = self.families.remove(family);
        self.names.remove(&family.name);
        self.stale += family.set.len();
    }

    /// The parts of the table that the families lack for the windows that are wanted.
    fn gaps(&self, comers: &[Comer<T>]) -> Vec<(u32, Cover)> {
        let mut spans: HashMap<u32, Vec<&Span>> = HashMap::new();
        for comer in comers {
            if let Wanted::Window { family, watch } = &comer.wanted
                && watch.needed.is_none()
            {
                spans.entry(*family).or_default().push(&watch.span);
            }
        }
        let lacking = spans.into_iter().map(|(at, spans)| {
            let family = &self.families[at as usize];
            (at, family.scope.cover.lacks(family.sorter(), &Cover::of(family.sorter(), spans)))
        });
        lacking.filter(|(_, gap)| !gap.spans().is_empty()).collect()
    }

    /// The tally of a shape, created if there is none. From now on writers report the old rows of their changes.
    fn tally(&mut self, plan: &FamilyPlan) -> u32 {
        self.interest.count(true);
        let name = plan.name();
        let known = self.tallies.iter().find(|(_, tally)| tally.name == name).map(|(at, _)| at);
        index(known.unwrap_or_else(|| self.tallies.insert(Tally::new(plan))))
    }

    /// The family of a shape, created if there is none.
    fn family(&mut self, plan: &FamilyPlan) -> u32 {
        let name = plan.name();
        if let Some(at) = self.names.get(&name) {
            return *at;
        }
        let at = index(self.families.insert(Family::new(plan)));
        self.names.insert(name, at);
        at
    }

    fn begin(
        &mut self,
        family: u32,
        watch: Arc<Watch<T>>,
        target: Target,
        version: u64,
    ) -> (Place, Results<T>) {
        let held = &mut self.families[family as usize];
        let results = Results::of_window(&watch, held.set.clone(), version);
        let until =
            held.reach(&watch, watch.needed.unwrap_or(0)).flatten().filter(|_| watch.needed.is_some());
        let window = held.subscribe(watch, target, until);
        (Place::Window { family, window }, results)
    }

    fn begin_number(
        &mut self,
        access: Option<Access<'_, T>>,
        at: u32,
        watch: Arc<Watch<T>>,
        target: Target,
        version: u64,
    ) -> Result<(Place, Results<T>)> {
        let tally = &mut self.tallies[at as usize];
        let counted = access.map(|access| load::count(access, tally, &[&watch.span])).transpose()?;
        let number = counted.and_then(|counted| counted.first().copied()).unwrap_or(0);
        let (number, shown) = tally.subscribe(watch, target, number);
        Ok((Place::Number { tally: at, number }, Results::of_number(shown, version)))
    }

    fn begin_key(
        &mut self,
        access: Option<Access<'_, T>>,
        key: RowKey,
        target: Target,
        version: u64,
    ) -> Result<(Place, Results<T>)> {
        if !self.has(&key) {
            let row = access.map(|access| load::row(access, &key)).transpose()?.flatten();
            let watchers = self.watch(key.clone());
            self.hold(key.hash, HeldKey { row, touched: NONE, watchers });
        }
        let at = {
            let keys = &self.keys;
            let held = self.rows.find_mut(key.hash, |held| is_of(keys, held, &key));
            held.map(|held| (held.watchers, held.row.clone()))
        };
        let (mut watchers, row) = at.unwrap_or((NONE, None));
        if watchers == NONE {
            watchers = self.watch(key.clone());
            let keys = &self.keys;
            if let Some(held) = self.rows.find_mut(key.hash, |held| is_of(keys, held, &key)) {
                held.watchers = watchers;
            }
        }
        self.keys[watchers as usize].targets.push(target);
        Ok((Place::Key { watchers }, Results::of_record(row, version)))
    }

    fn watch(&mut self, key: RowKey) -> u32 {
        index(self.keys.insert(Watchers { key, targets: SmallVec::new() }))
    }

    /// Ends a subscription.
    pub(crate) fn cancel(&mut self, place: Place, id: SubscriptionId) {
        match place {
            Place::Statement { .. } => {}
            Place::Number { tally, number } => {
                if let Some(tally) = self.tallies.get_mut(tally as usize) {
                    tally.cancel(number);
                }
                self.drop_unwatched_tallies();
            }
            Place::Key { watchers } => self.cancel_key(watchers, id),
            Place::Window { family: at, window } => {
                let Some(family) = self.families.get_mut(at as usize) else { return };
                let before = family.set.len();
                family.cancel(window);
                self.stale += before - family.set.len();
                if family.len() == 0 {
                    self.drop_family(at as usize);
                }
                self.sweep_many();
            }
        }
    }

    fn cancel_key(&mut self, at: u32, id: SubscriptionId) {
        let Some(watchers) = self.keys.get_mut(at as usize) else { return };
        watchers.targets.retain(|target| target.id != id);
        if !watchers.targets.is_empty() {
            return;
        }
        let hash = watchers.key.hash;
        let Ok(mut entry) = self.rows.find_entry(hash, |held| held.watchers == at) else { return };
        entry.get_mut().watchers = NONE;
        let is_wanted =
            |row: &Arc<Row<T>>| self.families.iter().any(|(_, family)| family.scope.admits(&row.record));
        if !entry.get().row.as_ref().is_some_and(is_wanted) {
            entry.remove();
        }
        self.keys.remove(at as usize);
    }
}
