//! Red flags that rest on what the lab itself saw of an arm, beside the other arms of its case.

use super::{FlagKind, Raised};
use crate::estimate::{ArmStatistics, CaseStatistics, Witnessed, paired};
use crate::plan::{EXPLAINED, PlannedArm, PlannedCase, PlannedLane};
use crate::sample::Introduction;
use crate::suite::Cache;
use touchstone_protocol::{Setting, Verb};

/// An arm of a case that was measured, with the others beside it.
#[derive(Clone, Copy)]
pub(super) struct Suspect<'s> {
    pub case: &'s PlannedCase,
    pub measured: &'s CaseStatistics,
    pub planned: &'s PlannedArm,
    pub arm: &'s ArmStatistics,
}

impl Suspect<'_> {
    /// The other arms of the case, as planned and as measured.
    fn others(&self) -> impl Iterator<Item = (&PlannedArm, &ArmStatistics)> {
        let others = self.measured.arms.iter().filter(|other| other.arm != self.arm.arm);
        others.filter_map(|other| Some((self.case.arm(&other.arm)?, other)))
    }

    /// Time that passes while the lab waits, and that the kit does not count: what the kit does with the same answers takes
    /// every driver of its language as long.
    pub(super) fn beside_the_clock(self) -> Raised {
        // A window is waited for together with its generator, which writes its figures when the last answer is there.
        let slice_ns = self.arm.slice_ns.filter(|_| self.case.load.is_none())?;
        let same =
            |other: &PlannedArm| other.language == self.planned.language && other.lanes == self.planned.lanes;
        let others: Vec<&Witnessed> =
            self.others().filter(|(planned, _)| same(planned)).map(|(_, other)| &other.witnessed).collect();
        let mine = &self.arm.witnessed;
        let bound = (slice_ns * BESIDE_SHARE_MAX).max(BESIDE_NS_MIN);
        let (mine_ns, theirs_ns) =
            mostly_beside(mine, &others, bound).or_else(|| always_beside(mine, &others, bound))?;
        let evidence = format!(
            "its kit says that a slice took {:.3} ms, the lab waited {:.3} ms longer for it, and {:.3} ms longer for that of \
             another contender in the same language",
            slice_ns / 1e6,
            mine_ns / 1e6,
            theirs_ns / 1e6
        );
        Some((FlagKind::BesideTheClock, evidence))
    }

    /// A database that is opened for each slice, and read before the slice begins.
    pub(super) fn ready_before(self) -> Raised {
        if self.case.cache == Cache::Warm || self.planned.writes() {
            return None;
        }
        let opening = self.arm.witnessed.opening_read_bytes.filter(|bytes| *bytes > OPENING_BYTES_MIN)?;
        let slice = self.arm.witnessed.read_bytes?;
        let files: f64 = self.arm.file_bytes.values().map(|bytes| *bytes as f64).sum();
        // After an eviction, what is read again comes from the page cache that opening has filled.
        let is_spared = slice * 4.0 < opening || self.case.cache == Cache::Evicted;
        (opening * 2.0 > files && is_spared).then(|| {
            let kib = |bytes: f64| format!("{:.0} KiB", bytes / 1024.0);
            let evidence = format!(
                "opening reads {} of its {}, which is not timed, and a slice {}",
                kib(opening),
                kib(files),
                kib(slice)
            );
            (FlagKind::ReadyBefore, evidence)
        })
    }

    /// The floor is the engine's own interface: nobody asks the same engine for the same with less.
    pub(super) fn beyond_floor(self, subjects: &[Introduction]) -> Raised {
        let floor = self.case.floor.as_ref().filter(|floor| **floor != self.arm.arm)?;
        let (planned, measured) = self.others().find(|(planned, _)| planned.name == *floor)?;
        let engine = |arm: &PlannedArm| {
            let met = subjects.iter().find(|met| met.contender.subject == arm.contender.subject)?;
            Some(met.hello.engine.as_str())
        };
        // Lanes side by side wait for each other, and no engine's interface says how.
        let alone = planned.lanes.len() == 1;
        let same_work = alone && planned.lanes == self.planned.lanes && planned.class == self.planned.class;
        let same_work = same_work && planned.indexes == self.planned.indexes;
        if !same_work || !set_alike(self.arm, measured) || engine(planned)? != engine(self.planned)? {
            return None;
        }
        let share = paired(&measured.launches, &self.arm.launches, |launch| Some(launch.operation_ns))?;
        let (low, _) = share.ratio_interval()?;
        (low > FLOOR_RATIO_MAX).then(|| {
            let evidence = format!(
                "{:.2} times the rate of {floor} on the same engine, at least {low:.2} times: it asks the engine for less",
                share.ratio()
            );
            (FlagKind::BeyondFloor, evidence)
        })
    }

    /// Threads that end before they can be seen, where no other arm's slices make any.
    pub(super) fn untold_threads(self) -> Raised {
        if !self.case.is_confined() {
            return None;
        }
        let remedy = "say `threads = true` in its profile";
        if let Some(threads) = self.arm.threads.filter(|threads| *threads > 1) {
            let evidence = format!("{threads} threads share the case's one processor; {remedy}");
            return Some((FlagKind::UntoldThreads, evidence));
        }
        let made = self.arm.witnessed.tasks_made_low.filter(|made| *made >= 1.0)?;
        // In a longer time others make more of them: the system too, while a disk is awaited.
        let slice_ns = self.arm.slice_ns?;
        let as_long = |other: &ArmStatistics| other.slice_ns.is_some_and(|theirs| theirs * 2.0 >= slice_ns);
        let others = self.others().filter(|(_, other)| as_long(other));
        let others: Vec<f64> = others.filter_map(|(_, other)| other.witnessed.tasks_made_high).collect();
        (!others.is_empty() && others.iter().all(|made| *made == 0.0)).then(|| {
            let evidence = format!(
                "{made:.0} threads or processes are made in a slice, and none in another contender's; {remedy}"
            );
            (FlagKind::UntoldThreads, evidence)
        })
    }

    /// Gets of records at random, of more data than the cache can hold that it tells of: most of what it does not hold is read.
    pub(super) fn larger_cache(self) -> Raised {
        let told = self.number("cache_size_bytes")?;
        let is_random = self.case.get_record.is_none() && self.case.order.is_none();
        let gets = is_random && self.planned.lanes.iter().all(|lane| lane.verb == Verb::Get);
        let maps = self.number("mmap_size_bytes").is_some_and(|bytes| bytes > 0.0);
        if !gets || maps || self.case.cache != Cache::Warm {
            return None;
        }
        let value_bytes = self.case.dataset.value_bytes as f64;
        let data = self.case.filled as f64 * value_bytes;
        // SQLite reads the whole page on which a record is.
        let missed_bytes = self.number("page_size_bytes").map_or(value_bytes, |page| page.max(value_bytes));
        let missed = self.arm.slice_operations? * (1.0 - told / data);
        let read = self.arm.witnessed.read_bytes_low?;
        (data > told * CACHED_TIMES_MIN && read < missed * missed_bytes * MISSED_SHARE_MIN).then(|| {
            let mib = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
            let evidence = format!(
                "it tells of a cache of {}, and gets at random of {} read {read:.0} bytes a slice, in which {missed:.0} gets must miss \
                 such a cache",
                mib(told),
                mib(data)
            );
            (FlagKind::LargerCache, evidence)
        })
    }

    /// A setting that took effect, of those that are numbers.
    fn number(self, name: &str) -> Option<f64> {
        match self.arm.settings.iter().find(|setting| setting.name == name)?.effective {
            Some(Setting::Number(number)) => Some(number as f64),
            _ => None,
        }
    }

    pub(super) fn other_processes(self) -> Raised {
        let children = self.arm.witnessed.children.filter(|children| *children > 0)?;
        let evidence = format!(
            "it had started {children} that still ran after a slice, whose time and bytes are not counted as its own"
        );
        Some((FlagKind::OtherProcesses, evidence))
    }

    pub(super) fn left_processor(self) -> Raised {
        let strayed = self.arm.witnessed.strayed.as_ref()?;
        let evidence = if self.case.load.is_some() {
            format!(
                "it was confined to the processors that the generator has not, and allowed itself {strayed}"
            )
        } else {
            format!("it was confined to one processor, and allowed itself {strayed}")
        };
        Some((FlagKind::LeftProcessor, evidence))
    }

    pub(super) fn busy_at_rest(self) -> Raised {
        let share = self.arm.witnessed.rest_cpu.filter(|share| *share > REST_CPU_MAX)?;
        let evidence = format!(
            "it used {:.0} % of a processor between its windows, while other arms were asked",
            share * 100.0
        );
        Some((FlagKind::BusyAtRest, evidence))
    }
}

/// Whether what both arms have a notion of took effect alike: a checkpoint in another thread is no work of the commit's.
fn set_alike(arm: &ArmStatistics, floor: &ArmStatistics) -> bool {
    let effective =
        |name: &str| floor.settings.iter().find(|setting| setting.name == name)?.effective.as_ref();
    arm.settings.iter().all(|setting| match (&setting.effective, effective(&setting.name)) {
        (Some(mine), Some(floors)) => mine == floors,
        _ => true,
    })
}

/// The time beside the clock of three of four slices, where it exceeds that of another arm's by the bound. Where the spread of
/// any arm is nearly as wide, the machine is too busy to tell.
fn mostly_beside(mine: &Witnessed, others: &[&Witnessed], bound: f64) -> Option<(f64, f64)> {
    let quartiles = |seen: &Witnessed| Some((seen.beside_ns_low?, seen.beside_ns_high?));
    let (low, high) = quartiles(mine)?;
    let others: Vec<(f64, f64)> = others.iter().filter_map(|other| quartiles(other)).collect();
    let least = others.iter().map(|(_, high)| *high).reduce(f64::min)?;
    let widest = others.iter().map(|(low, high)| high - low).fold(high - low, f64::max);
    (low - least > bound.max(widest * BESIDE_SPREADS)).then_some((low, least))
}

/// The time beside the clock of every slice, where it exceeds the least of another arm's by the bound: a busy machine only adds to
/// it, and leaves one of many slices alone. A runtime that still compiles adds to it too, and leaves few alone: how far the least
/// lies below the lower quartile says how much of it is chance. The arm itself has no say in that, or it could hide in its own noise.
fn always_beside(mine: &Witnessed, others: &[&Witnessed], bound: f64) -> Option<(f64, f64)> {
    let mine = mine.beside_ns_least?;
    let theirs = others.iter().filter_map(|other| other.beside_ns_least).reduce(f64::min)?;
    let above_least = |other: &&Witnessed| Some(other.beside_ns_low? - other.beside_ns_least?);
    let by_chance = others.iter().filter_map(above_least).fold(0.0, f64::max);
    (mine - theirs > bound.max(by_chance)).then_some((mine, theirs))
}

/// How much longer than the others' the time beside the clock may be, as a share of the slice and in nanoseconds.
const BESIDE_SHARE_MAX: f64 = 0.25;
const BESIDE_NS_MIN: f64 = 2e5;

/// And how many times the widest distance between its quartiles in the case.
const BESIDE_SPREADS: f64 = 3.0;

/// Opening that reads less than this reads no data.
const OPENING_BYTES_MIN: f64 = 65_536.0;

/// How many times the data must exceed the cache for misses to be told.
const CACHED_TIMES_MIN: f64 = 2.0;

/// The share of its value, or of its page, that a get which misses must read at least: an engine may compress, and pages that gets
/// share are read once.
const MISSED_SHARE_MIN: f64 = 0.5;

/// How far the whole interval may lie beyond the floor: two programs with one code differ by some percent.
const FLOOR_RATIO_MAX: f64 = 1.05;

/// A service that is not asked copies a log or clears memory now and then; the bound is ours.
const REST_CPU_MAX: f64 = 0.1;

/// An engine that answered without a statement and without a page of its cache, or most gets without one.
pub(super) fn engine_idle(planned: &PlannedArm, arm: &ArmStatistics) -> Raised {
    let count = |name: &str| arm.counters.get(name).copied();
    let statements = count("statements")?;
    let pages = count("cache_hits")?.saturating_add(count("cache_misses")?);
    let operations = explained(planned, arm).filter(|_| statements > 0).unwrap_or(0.0);
    if (statements as f64) < operations * statements_least(planned) {
        let evidence = format!(
            "{operations:.0} operations were answered with {statements} statements: the others not by the engine"
        );
        return Some((FlagKind::EngineIdle, evidence));
    }
    (statements == 0 && pages == 0).then(|| {
        let evidence =
            "a slice was answered with 0 statements and 0 pages of the engine's cache: not by the engine"
                .into();
        (FlagKind::EngineIdle, evidence)
    })
}

/// The share of gets that are a statement each, where any is one.
const STATEMENTS_SHARE_MIN: f64 = 0.9;

/// Operations of the slice that was explained: of lanes by the clock fewer than they play when they are timed.
fn explained(planned: &PlannedArm, arm: &ArmStatistics) -> Option<f64> {
    let lanes = &planned.lanes;
    let is_by_the_clock = lanes.iter().any(|lane| lane.lasts_ms.is_some());
    if is_by_the_clock { Some((lanes.len() as u64 * EXPLAINED) as f64) } else { arm.slice_operations }
}

/// Statements behind an operation, at least: of gets nine of ten have one, and each update of a mixed load has.
fn statements_least(planned: &PlannedArm) -> f64 {
    let of_lane = |lane: &PlannedLane| match lane.verb {
        Verb::Get => STATEMENTS_SHARE_MIN,
        Verb::Mix => {
            let gets = f64::from(lane.reads.unwrap_or(0)) / 100.0;
            gets * STATEMENTS_SHARE_MIN + (1.0 - gets) * UPDATES_SHARE_MIN
        }
        _ => 0.0,
    };
    planned.lanes.iter().map(of_lane).fold(f64::INFINITY, f64::min)
}

/// The share of a mixed load's updates that are a statement each. It is less than all: how many a slice has is chance.
const UPDATES_SHARE_MIN: f64 = 0.95;
