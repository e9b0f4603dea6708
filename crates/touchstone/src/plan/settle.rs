//! Suites settled for a plan: the cases that were chosen of them, with their data, their arms and settings, and their lanes at one
//! size.

use super::{
    Choice, MIXED, PLAN_VERSION, Plan, PlannedArm, PlannedCase, PlannedDataset, PlannedLane, PlannedLoad,
    PlannedOrder, PlannedSuite, PlannedWatch, SLICE_MS, setting,
};
use crate::error::{Error, Result};
use crate::kit::Kits;
use crate::suite::{
    ArmSpec, Case, Dataset, LanePlan, LoadPlan, OrderKind, OrderPlan, Scaled, ScaledCase, Size, Suite,
    WatchPlan, case_item,
};
use crate::written::Mistake;
use touchstone_protocol::Verb;

/// The smallest relative difference that matters in a report.
const MARGIN: f64 = 0.01;

/// The same where commits wait for the disk, which varies more than that from launch to launch.
const MARGIN_OF_FLUSHES: f64 = 0.10;

impl Plan {
    /// Plans suites.
    ///
    /// # Errors
    /// When a suite names a contender that no kit has, or the choice names a case or contender that no suite has.
    pub fn new(suites: &[Suite], kits: &Kits, choice: &Choice) -> Result<Plan> {
        let mut plan = Plan {
            plan_version: PLAN_VERSION,
            size: choice.size,
            seed: choice.seed,
            looks: choice.looks.clone(),
            family: 1,
            each_alone: false,
            suites: Vec::new(),
            cases: Vec::new(),
            left_out: Vec::new(),
        };
        choice.check(suites)?;
        setting::check(suites, kits)?;
        for suite in suites {
            let planned = plan.cases.len();
            for case in suite.cases.iter().filter(|case| choice.concerns(case)) {
                let scaled = case.at(choice.size).into_iter();
                for scaled in scaled.filter(|scaled| choice.takes_case(&suite.name, &case.id, &scaled.id)) {
                    plan.cases.push(settle_case(suite, case, &scaled, kits, choice)?);
                }
            }
            // A suite of which no case was chosen is not part of the run.
            if plan.cases.len() == planned {
                continue;
            }
            plan.suites.push(PlannedSuite::of(suite));
        }
        plan.check().map_err(|fault| fault.in_suites(suites))?;
        Ok(plan)
    }
}

impl PlannedSuite {
    fn of(suite: &Suite) -> PlannedSuite {
        PlannedSuite {
            name: suite.name.clone(),
            title: suite.title.clone(),
            source: suite.source.clone(),
            device: suite.device.clone(),
            references: suite.references.clone(),
            stand_ins: suite.stand_ins.clone(),
            published_loads: suite.published_loads.clone(),
            curves: suite.curves.clone(),
            published_rows: suite.published_rows.clone(),
            claims: suite.claims.clone(),
        }
    }
}

/// A case with nothing left open, and with its numbers in the full size, where that has it.
///
/// # Errors
/// When it names a contender that no kit has, or asks one for what that cannot do.
fn settle_case(
    suite: &Suite,
    case: &Case,
    scaled: &ScaledCase,
    kits: &Kits,
    choice: &Choice,
) -> Result<PlannedCase> {
    let planned = plan_case(suite, case, scaled, kits, choice)?;
    planned.check_subjects(kits).map_err(|message| refused(suite, case, &message))?;
    if !case.at(Size::Full).contains(scaled) {
        return Ok(planned);
    }
    let full = plan_case(suite, case, scaled, kits, &Choice { size: Size::Full, ..choice.clone() })?;
    Ok(PlannedCase { full: full.quantities(), ..planned })
}

fn plan_case(
    suite: &Suite,
    case: &Case,
    scaled: &ScaledCase,
    kits: &Kits,
    choice: &Choice,
) -> Result<PlannedCase> {
    let dataset =
        suite.datasets.iter().find(|dataset| dataset.name == case.dataset).expect("the suite was checked");
    let dataset = plan_dataset(dataset, scaled.number_of(Scaled::Records), choice.size);
    let filled = case.filled.as_ref().map_or(dataset.records, |filled| filled.at(choice.size));
    let watch = case.watch.as_ref().map(|watch| plan_watch(watch, scaled, filled, choice.size));
    let span = watch.as_ref().map_or(filled, |watch| watch.span.min(filled));
    let changes = scaled.number_of(Scaled::Changes);
    let data = Data { records: dataset.records, filled, span, changes };
    let arms = case.arms.iter().filter(|arm| choice.takes_arm(case, arm));
    Ok(PlannedCase {
        id: format!("{}/{}", suite.name, scaled.id),
        title: case.title.clone(),
        scale_of: scaled.scale.map(|_| case.id.clone()),
        scale: scaled.scale,
        scaled: scaled.scaled,
        watch,
        filled,
        churn: case.churn.as_ref().map_or(0, |churn| churn.at(choice.size)),
        dataset,
        get_record: case.get_record.as_ref().map(|record| record.at(choice.size)),
        order: case.order.as_ref().map(|order| plan_order(order, filled, choice.size)),
        load: case.load.as_ref().map(|load| plan_load(suite, load, choice.size)),
        operation_bytes: case.operation_bytes,
        tables: case.tables.at(choice.size),
        typed: case.typed,
        cache: case.cache,
        restore: case.restore,
        flushes: case.flushes,
        unchecked: case.unchecked,
        blocks: case
            .blocks
            .as_ref()
            .map_or(default_blocks(case, choice.size), |blocks| blocks.at(choice.size)),
        slice_ms: case.slice_ms.as_ref().map_or(SLICE_MS, |ms| ms.at(choice.size)),
        margin: if case.flushes { MARGIN_OF_FLUSHES } else { MARGIN },
        baseline: case.baseline.clone(),
        floor: case.floor.clone(),
        full: Vec::new(),
        overridden: Vec::new(),
        scales: case.at(choice.size).iter().filter_map(|scaled| scaled.scale).collect(),
        full_scale: case.at(Size::Full).iter().filter_map(|scaled| scaled.scale).max(),
        arms: arms.map(|arm| plan_arm(suite, case, arm, &data, kits, choice.size)).collect::<Result<_>>()?,
    })
}

fn plan_dataset(dataset: &Dataset, records: Option<u64>, size: Size) -> PlannedDataset {
    PlannedDataset {
        name: dataset.name.clone(),
        record: dataset.record,
        records: records.unwrap_or_else(|| dataset.records.at(size)),
        value_bytes: dataset.value_bytes.unwrap_or(0),
        spacing: dataset.spacing.unwrap_or(0),
    }
}

fn plan_order(order: &OrderPlan, filled: u64, size: Size) -> PlannedOrder {
    let all = if order.kind == OrderKind::Trace { order.recorded.pages } else { filled };
    PlannedOrder {
        kind: order.kind,
        among: order.among.as_ref().map_or(all, |among| among.at(size)),
        file: order.file.clone(),
        recorded: order.recorded.gets.clone(),
        after: order.after.clone(),
    }
}

fn plan_load(suite: &Suite, load: &LoadPlan, size: Size) -> PlannedLoad {
    PlannedLoad {
        scenario: suite.scenario(&load.scenario).expect("the suite was checked").clone(),
        users: load.users.at(size),
        window_ms: load.window_ms.at(size),
        warm_ms: load.warm_ms.at(size),
    }
}

fn plan_watch(watch: &WatchPlan, scaled: &ScaledCase, filled: u64, size: Size) -> PlannedWatch {
    let subscriptions = scaled.number_of(Scaled::Subscriptions);
    PlannedWatch {
        watched: watch.watched,
        subscriptions: subscriptions.unwrap_or_else(|| watch.subscriptions.at(size)),
        width: watch.width.as_ref().map_or(0, |width| width.at(size)),
        stride: watch.stride.as_ref().map(|stride| stride.at(size)),
        span: watch.span.as_ref().map_or(filled, |span| span.at(size)),
        limit: watch.limit,
    }
}

/// As the methodology has it: 60 blocks a launch, 30 where commits reach the disk; the quick size takes a quarter. Lanes by the clock
/// last as long as many blocks.
fn default_blocks(case: &Case, size: Size) -> u32 {
    if case.lanes.iter().any(|lane| lane.lasts_ms.is_some()) {
        return 1;
    }
    let full = if case.flushes { 30 } else { 60 };
    match size {
        Size::Full => full,
        Size::Quick => full / 4,
    }
}

fn plan_arm(
    suite: &Suite,
    case: &Case,
    arm: &ArmSpec,
    data: &Data,
    kits: &Kits,
    size: Size,
) -> Result<PlannedArm> {
    let contender = arm.contender();
    let (language, subject, profile) =
        kits.look_up(contender).map_err(|error| refused(suite, case, &error.to_string()))?;
    let mut settings = suite.settings.clone();
    settings.extend(case.settings.clone());
    settings.extend(profile.settings.clone());
    let (lanes, indexes, flush_us) = match arm {
        ArmSpec::Plain(_) => (&case.lanes, Vec::new(), None),
        ArmSpec::Varied(varied) => {
            (varied.lanes.as_ref().unwrap_or(&case.lanes), varied.indexes.clone(), varied.flush_us)
        }
    };
    let lanes = plan_lanes(lanes, data, size);
    // Whether or not the suite said that its commits reach the disk: an arm that promises it waits for it.
    let writes = case.load.is_some() || lanes.iter().any(|lane| lane.verb.writes());
    let waits_for_disk = profile.class.reaches_disk() && writes;
    Ok(PlannedArm {
        name: arm.name(),
        contender: contender.clone(),
        language: language.to_owned(),
        canary: subject.canary,
        null_arm: false,
        program: None,
        class: profile.class,
        margin: waits_for_disk.then_some(MARGIN_OF_FLUSHES),
        settings,
        profile_settings: profile.settings.clone(),
        indexes,
        threads: profile.threads,
        serves: case.load.is_some(),
        flush_us,
        lanes,
    })
}

/// A case that cannot be planned.
fn refused(suite: &Suite, case: &Case, message: &str) -> Error {
    let message = format!("case `{}/{}`: {message}", suite.name, case.id);
    suite.told(&Mistake::of(case_item(&case.id), message))
}

/// What lanes without a count have to go by.
struct Data {
    records: u64,
    filled: u64,
    /// How many of the stored ones may be watched.
    span: u64,
    /// How many each transaction changes, where that is what is scaled.
    changes: Option<u64>,
}

fn plan_lanes(lanes: &[LanePlan], data: &Data, size: Size) -> Vec<PlannedLane> {
    let open_inserts =
        lanes.iter().filter(|lane| lane.verb == Verb::InsertMany && lane.count.is_none()).count();
    let unstored = data.records.saturating_sub(data.filled) / open_inserts.max(1) as u64;
    let lane = |lane: &LanePlan| PlannedLane {
        verb: lane.verb,
        count: match (&lane.count, lane.verb) {
            (Some(count), _) => Some(count.at(size)),
            (None, Verb::ReadAll | Verb::DeleteMany) => Some(1),
            (None, Verb::InsertMany) if unstored > 0 => Some(unstored),
            (None, Verb::UpdateMany) => Some(data.filled),
            (None, Verb::Mix) if lane.lasts_ms.is_some() => Some(MIXED),
            (None, _) => None,
        },
        held: lane.held,
        table: lane.table,
        // Priorities reach from minus to plus half of the records: a sixth of all objects are above this.
        above: (lane.verb == Verb::Find).then_some((data.records / 4) as i64),
        changes: (lane.verb == Verb::Deliver).then(|| {
            let all = if lane.unwatched { data.filled - data.span } else { data.span };
            data.changes.or(lane.changes.as_ref().map(|changes| changes.at(size))).unwrap_or(all)
        }),
        unwatched: lane.unwatched,
        depth: lane.depth,
        stretch: lane.stretch,
        reads: lane.reads,
        reads_first: lane.reads_first,
        transaction: lane.transaction.as_ref().map(|transaction| transaction.at(size)),
        lasts_ms: lane.lasts_ms.as_ref().map(|lasts| lasts.at(size)),
    };
    lanes.iter().map(lane).collect()
}
