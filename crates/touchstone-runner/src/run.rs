//! The run: launches in rounds over all cases, each looked at when the plan says, until everything is decided.
//!
//! Rounds go over the cases so that minutes of noise hit every case alike and launch n of one case can be paired
//! with launch n of another.

mod block;

pub(crate) use block::Block;

use crate::data::{CaseData, Datasets};
use crate::error::{Error, ErrorKind, Result};
use crate::kits::Project;
use crate::launch::{CaseContext, Kept, Player, enter_all, latency_file, make_template, series_file};
use crate::place::Place;
use crate::probe::FlushProbe;
use crate::processor::Confined;
use crate::random::{Seeds, Stream, block_order, random_order, stream};
use crate::recorded::record_syncs;
use crate::service::{self, ServiceContext, Tools};
use crate::session::{Manners, SessionError};
use crate::strays;
use crate::surroundings::nameless;
use crate::writer::Writer;
use rand::seq::SliceRandom;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use touchstone::plan::{MIXED, Plan, PlannedArm, PlannedCase, PlannedLane, SLICE_MS, calibrated_count_max};
use touchstone::record::file;
use touchstone::sample::{Introduction, Launch, Outcome, Phase};
use touchstone::statistics::{Estimate, LookedAt, median, settled};
use touchstone::suite::Size;
use touchstone::verdict::{correction, judged_together};
use touchstone_protocol::{Hello, Verb};

/// What a slice of calibrated length should take of the quickest arm, as a share of what it takes of the slowest: of 2 ms 0.1 ms,
/// thousands of times the clock's cost.
const QUICKEST_SHARE: u64 = 20;

/// How much longer the slowest arm's slice may become for that. Where one arm is beyond measure quicker than the others, theirs
/// stay what they should be, and its own are flagged as short.
const STRETCH_MAX: u64 = 2;

/// Slices by which a count is calibrated, the shortest of which is believed: whatever disturbs one makes it longer.
const CALIBRATION_SLICES: u64 = 3;

/// Slices before the first that counts.
const WARM_SLICES: u64 = 3;

/// What warms up where slices are short operations of calibrated number, in milliseconds: a log of 1,000 pages comes round
/// once, for writing into new blocks of a file costs more than writing over old ones.
const WARM_MS_CALIBRATED: u64 = 16;

/// The bound of the latency stretch, in operations.
const LATENCY_OPERATIONS_MAX: u64 = 20_000;

/// The latency stretch, in slices of usual length: long enough for several checkpoints of a log.
fn latency_slices(size: Size) -> u64 {
    match size {
        Size::Quick => 20,
        Size::Full => 50,
    }
}

/// Who wants to know how far the run is.
pub trait Progress {
    /// The run has `launches` launches of a case before it, at the most.
    fn begin(&self, launches: u64);
    /// What is being done now.
    fn doing(&self, what: &str);
    /// A launch is over, or `skipped` of them are no longer needed.
    fn advance(&self, launches: u64);
}

/// What a run needs besides its plan.
pub struct Setting<'s> {
    /// Where the drivers are.
    pub project: &'s Project,
    /// How to speak to them.
    pub manners: Manners,
    /// What loads services.
    pub tools: Tools,
    /// Where databases live while they are measured: the disk that is measured.
    pub scratch: PathBuf,
    /// What its values are made of beside the plan's seed.
    pub salt: u64,
    /// Who wants to know.
    pub progress: &'s dyn Progress,
}

/// Runs a plan and leaves its record with `writer`.
///
/// # Errors
/// When the lab itself fails or the user stops it; what was measured until then is in the record.
pub fn run(plan: &Plan, setting: &Setting<'_>, writer: &mut Writer) -> Result<()> {
    let _adoption = strays::adopt();
    let scratch = Place::new(setting.scratch.clone())?;
    let (mut datasets, mut templates) = (Datasets::default(), Templates::default());
    let mut cases = Vec::new();
    let seeds = Seeds { seed: plan.seed, salt: setting.salt };
    let last = plan.looks.last().copied().unwrap_or_default();
    setting.progress.begin((plan.cases.len() * last) as u64);
    for case in &plan.cases {
        stopped(&setting.manners)?;
        setting.progress.doing(&format!("preparing {}", case.id));
        let data = CaseData::generate(case, seeds, scratch.path(), &mut datasets)?;
        cases.push(CaseRun::prepare(case, data, plan, setting, &scratch, &mut templates, writer)?);
    }
    let mut order = stream(plan.seed, "rounds");
    for launch in 0..last {
        let mut round: Vec<&mut CaseRun<'_>> = cases.iter_mut().filter(|case| !case.decided).collect();
        round.shuffle(&mut order);
        for case in round {
            setting.progress.doing(&format!("{}, launch {} of at most {last}", case.case.id, launch + 1));
            case.launch(launch, plan, setting, &scratch, writer)?;
            writer.flush()?;
            setting.progress.advance(1);
        }
        if plan.looks.contains(&(launch + 1)) {
            let ended = look(plan, &mut cases);
            setting.progress.advance((ended * (last - launch - 1)) as u64);
        }
    }
    for case in &cases {
        stopped(&setting.manners)?;
        setting.progress.doing(&format!("counting the syncs of {}", case.case.id));
        let mut random = stream(plan.seed, &format!("recorded {}", case.case.id));
        let place = Place::new(scratch.path().join(nameless(&mut random)))?;
        if case.case.load.is_some() {
            let context = service_context(case.case, setting);
            case.services.record(&context, &case.playing(), place.path(), &mut random, writer)?;
            continue;
        }
        record_syncs(&case.context(setting), &case.arms(), place.path(), &mut random, writer)?;
    }
    Ok(())
}

/// The user asked to stop.
pub(crate) fn stopped(manners: &Manners) -> Result<()> {
    if manners.stop.load(Ordering::Relaxed) {
        return Err(Error::new(ErrorKind::Interrupted, "the run was stopped"));
    }
    Ok(())
}

fn service_context<'s>(case: &'s PlannedCase, setting: &'s Setting<'_>) -> ServiceContext<'s> {
    ServiceContext { project: setting.project, case, manners: &setting.manners, tools: &setting.tools }
}

/// Databases to start from, shared by all arms that start from the same.
#[derive(Default)]
struct Templates {
    made: BTreeMap<String, Rc<Place>>,
}

impl Templates {
    fn get(
        &mut self,
        context: &CaseContext<'_>,
        arm: &PlannedArm,
        scratch: &Place,
        seed: u64,
    ) -> Result<std::result::Result<Rc<Place>, SessionError>> {
        let case = context.case;
        let key = format!(
            "{} {} {} {:?} {} {} {} {:?} {} {:?} {:?} {:?}",
            case.suite(),
            case.gets_rows(),
            case.dataset.name,
            (case.dataset.records, case.dataset.spacing),
            case.filled,
            case.churn,
            case.tables_used(),
            arm.settings,
            arm.contender,
            (case.tables, case.typed),
            arm.indexes,
            arm.program
        );
        if let Some(place) = self.made.get(&key) {
            return Ok(Ok(Rc::clone(place)));
        }
        let mut random = stream(seed, &format!("template {} {}", case.id, arm.name));
        // A folder in a folder, as that of a launch is.
        let folder = scratch.path().join(nameless(&mut random));
        Ok(make_template(context, arm, &folder, &mut random)?.map(|place| {
            let place = Rc::new(place);
            self.made.insert(key, Rc::clone(&place));
            place
        }))
    }
}

/// A case while it is being run.
struct CaseRun<'p> {
    case: &'p PlannedCase,
    data: CaseData,
    templates: BTreeMap<String, Rc<Place>>,
    /// Those of services.
    services: service::run::Templates,
    dropped: BTreeSet<String>,
    calibrated: u64,
    /// Per arm, per launch: median time of an operation. For deciding when to stop, and nothing else.
    medians: BTreeMap<String, BTreeMap<usize, f64>>,
    decided: bool,
}

impl<'p> CaseRun<'p> {
    fn prepare(
        case: &'p PlannedCase,
        data: CaseData,
        plan: &Plan,
        setting: &Setting<'_>,
        scratch: &Place,
        templates: &mut Templates,
        writer: &mut Writer,
    ) -> Result<CaseRun<'p>> {
        let mut run = CaseRun {
            case,
            data,
            templates: BTreeMap::new(),
            services: service::run::Templates::default(),
            dropped: BTreeSet::new(),
            calibrated: 1,
            medians: BTreeMap::new(),
            decided: false,
        };
        for arm in case.arms.iter().filter(|_| case.load.is_some()) {
            let mut random = stream(plan.seed, &format!("template {} {}", case.id, arm.name));
            let context = service_context(case, setting);
            if let Err(error) = run.services.make(&context, arm, scratch.path(), &mut random)? {
                stopped(&setting.manners)?;
                run.drop_arm(arm, &error, writer)?;
            }
        }
        for arm in case.arms.iter().filter(|_| case.load.is_none()) {
            let context = run.context(setting);
            match templates.get(&context, arm, scratch, plan.seed)? {
                Ok(template) => {
                    run.templates.insert(arm.name.clone(), template);
                }
                Err(error) => {
                    stopped(&setting.manners)?;
                    run.drop_arm(arm, &error, writer)?;
                }
            }
        }
        run.calibrate(plan, setting, scratch)?;
        Ok(run)
    }

    fn warm_slices(&self) -> u64 {
        // A slice by the clock is as long as many: what it begins with is a part of it.
        if self.case.is_by_the_clock() {
            return 0;
        }
        let calibrated = self.case.arms.iter().flat_map(|arm| &arm.lanes).any(|lane| lane.count.is_none());
        if calibrated { WARM_MS_CALIBRATED.div_ceil(self.case.slice_ms.into()) } else { WARM_SLICES }
    }

    /// Slices of a launch, those that warm up among them.
    fn slices(&self) -> u64 {
        self.warm_slices() + u64::from(self.case.blocks) * 2
    }

    /// Where so many operations begin that come after so many slices: the order of operations is gone round.
    fn first_operation(&self, slices: u64, count: u64) -> u64 {
        let is_played_round = |lane: &&PlannedLane| matches!(lane.verb, Verb::Get | Verb::Mix);
        let lanes = self.case.arms.iter().flat_map(|arm| &arm.lanes).filter(is_played_round);
        let most = |calibrated: u64| {
            lanes.clone().map(|lane| lane.operations(calibrated)).max().unwrap_or(calibrated)
        };
        let all = if self.case.mix().is_some() { MIXED } else { self.data.operations() };
        (slices * most(self.calibrated)) % all.saturating_sub(most(count)).max(1)
    }

    /// An arm that cannot even make its database has one line that says so.
    fn drop_arm(&mut self, arm: &PlannedArm, error: &SessionError, writer: &mut Writer) -> Result<()> {
        self.dropped.insert(arm.name.clone());
        writer.line(
            file::LAUNCHES,
            &Launch {
                case: self.case.id.clone(),
                launch: 0,
                arm: arm.name.clone(),
                outcome: error.outcome(),
                error: Some(format!("while making its database: {error}")),
                failed_with: None,
                calibrated: 0,
                processor: None,
                threads: None,
                children: None,
                strayed: None,
                rest_cpu: None,
                settings: Default::default(),
                expected: 0,
                found: 0,
                plan: Vec::new(),
                counters: BTreeMap::new(),
                best_hits: None,
                file_bytes: BTreeMap::new(),
            },
        )
    }

    fn context<'s>(&'s self, setting: &'s Setting<'_>) -> CaseContext<'s> {
        CaseContext { project: setting.project, case: self.case, data: &self.data, manners: &setting.manners }
    }

    /// One processor for this thread and the drivers that it will start, where the case needs no more.
    fn confine(&self, random: &mut Stream) -> Option<Confined> {
        if self.case.is_confined() { Confined::to_any(random) } else { None }
    }

    fn arms(&self) -> Vec<(&PlannedArm, &Place)> {
        self.playing()
            .into_iter()
            .filter_map(|arm| Some((arm, self.templates.get(&arm.name)?.as_ref())))
            .collect()
    }

    /// Finds the count of operations with which the slowest arm needs as long as a slice takes, in a launch that is thrown away.
    fn calibrate(&mut self, plan: &Plan, setting: &Setting<'_>, scratch: &Place) -> Result<()> {
        let open_lanes =
            || self.case.arms.iter().flat_map(|arm| &arm.lanes).filter(|lane| lane.count.is_none());
        let Some(count_max) = open_lanes().map(|lane| calibrated_count_max(lane.verb)).min() else {
            return Ok(());
        };
        let context = self.context(setting);
        let mut random = stream(plan.seed, &format!("calibration {}", self.case.id));
        let place = Place::new(scratch.path().join(nameless(&mut random)))?;
        let confined = self.confine(&mut random);
        let processor = confined.as_ref().map(Confined::processor);
        let mut counts = Vec::new();
        for player in &mut enter_all(&context, &self.arms(), place.path(), processor, &mut random)? {
            if player.arm.lanes.iter().all(|lane| lane.count.is_some()) {
                continue;
            }
            counts.extend(count_for_slice(player, self.case.slice_ns(), count_max)?);
            stopped(&setting.manners)?;
        }
        self.calibrated = shared_count(&counts).unwrap_or(count_max);
        Ok(())
    }

    fn launch(
        &mut self,
        launch: usize,
        plan: &Plan,
        setting: &Setting<'_>,
        scratch: &Place,
        writer: &mut Writer,
    ) -> Result<()> {
        let mut random = stream(plan.seed, &format!("launch {launch} {}", self.case.id));
        let place = Place::new(scratch.path().join(nameless(&mut random)))?;
        if self.case.load.is_some() {
            let context = service_context(self.case, setting);
            let launched =
                self.services.launch(&context, &self.playing(), launch, &place, &mut random, writer)?;
            self.take(launched.lines, &launched.times);
            return Ok(());
        }
        let context = self.context(setting);
        let confined = self.confine(&mut random);
        let awaits_disk = self.case.flushes || self.case.awaits_disk();
        let probe = if awaits_disk { Some(FlushProbe::new(place.path())?) } else { None };
        let processor = confined.as_ref().map(Confined::processor);
        let mut players = enter_all(&context, &self.arms(), place.path(), processor, &mut random)?;
        let mut in_progress =
            LaunchInProgress { run: self, launch, setting, writer, medians: BTreeMap::new() };
        in_progress.introduce(&players)?;
        in_progress.warm(&mut players, &mut random)?;
        in_progress.blocks(&mut players, probe, &mut random)?;
        in_progress.latencies(&mut players, latency_slices(plan.size), &mut random)?;
        let medians = std::mem::take(&mut in_progress.medians);
        let lines = in_progress.leave(players)?;
        self.take(lines, &medians);
        Ok(())
    }

    /// Keeps what became of a launch: the median time of an operation of who completed it.
    fn take(&mut self, lines: Vec<Launch>, times: &BTreeMap<String, Vec<f64>>) {
        for line in lines {
            if line.outcome == Outcome::Completed {
                if let Some(times) = times.get(&line.arm).filter(|times| !times.is_empty()) {
                    self.medians.entry(line.arm.clone()).or_default().insert(line.launch, median(times));
                }
            } else {
                self.dropped.insert(line.arm);
            }
        }
    }

    /// The arms that are still in the run.
    fn playing(&self) -> Vec<&'p PlannedArm> {
        self.case.arms.iter().filter(|arm| !self.dropped.contains(&arm.name)).collect()
    }

    /// How it stands at a look: every arm against the baseline. An arm that dropped out will not be compared.
    fn looked_at(&self) -> LookedAt {
        let none = BTreeMap::new();
        let baseline = self.medians.get(&self.case.baseline).unwrap_or(&none);
        let estimate = |arm: &PlannedArm| {
            if self.dropped.contains(&self.case.baseline) {
                return None;
            }
            let mine = self.medians.get(&arm.name).filter(|_| !self.dropped.contains(&arm.name))?;
            let ratios: Vec<f64> =
                mine.iter().filter_map(|(launch, ns)| Some((ns / baseline.get(launch)?).ln())).collect();
            let against = self.case.arm(&self.case.baseline)?;
            Some((Estimate::from_launches(&ratios)?, self.case.margin_of(arm, against)))
        };
        let (nulls, judged): (Vec<&PlannedArm>, Vec<&PlannedArm>) =
            self.case.arms.iter().filter(|arm| arm.name != self.case.baseline).partition(|arm| arm.null_arm);
        LookedAt {
            comparisons: judged.into_iter().map(estimate).collect(),
            null_arm: nulls.first().and_then(|arm| estimate(arm)),
        }
    }
}

/// The count for all arms, of those with which each needs 2 ms: the slowest arm's, or as many more as give the quickest 0.1 ms
/// within bounds.
fn shared_count(counts: &[u64]) -> Option<u64> {
    let slowest = *counts.iter().min()?;
    let quickest = *counts.iter().max()?;
    Some(quickest.div_ceil(QUICKEST_SHARE).clamp(slowest, slowest.saturating_mul(STRETCH_MAX)))
}

/// A look at the cases that are judged together, for what ends one must stand the correction for the number of all. Gives how many
/// cases ended with it.
fn look(plan: &Plan, cases: &mut [CaseRun<'_>]) -> usize {
    let correction = correction(plan);
    let family = |case: &CaseRun<'_>| judged_together(correction, &case.case.id).to_owned();
    let families: BTreeSet<String> = cases.iter().map(family).collect();
    let mut ended = 0;
    for name in families {
        let mut mine: Vec<&mut CaseRun<'_>> = cases.iter_mut().filter(|case| family(case) == name).collect();
        let looked_at: Vec<LookedAt> = mine.iter().map(|case| case.looked_at()).collect();
        for (case, settled) in mine.iter_mut().zip(settled(&looked_at, correction)) {
            ended += usize::from(settled && !case.decided);
            case.decided |= settled;
        }
    }
    ended
}

/// Raises the count until a slice takes that long, then takes the share of it that does. None for a subject that failed.
fn count_for_slice(player: &mut Player<'_>, slice_ns: u64, count_max: u64) -> Result<Option<u64>> {
    let mut count = 1;
    loop {
        let Some(wall_ns) = shortest_ns(player, count)? else { return Ok(None) };
        if wall_ns >= slice_ns || count >= count_max {
            let share = (count as f64 * slice_ns as f64 / wall_ns as f64).round() as u64;
            return Ok(Some(share.clamp(1, count.max(1))));
        }
        let wanted = (count as f64 * 1.2 * slice_ns as f64 / wall_ns as f64).ceil() as u64;
        count = wanted.clamp(count + 1, count * 16).min(count_max);
    }
}

/// The first slice after opening may wait for a disk that no later one waits for, as where a log begins.
fn shortest_ns(player: &mut Player<'_>, count: u64) -> Result<Option<u64>> {
    let mut shortest = u64::MAX;
    for _ in 0..CALIBRATION_SLICES {
        let Some(played) = player.slice(0, count, Kept::default())? else { return Ok(None) };
        shortest = shortest.min(played.sample.wall_ns.max(1));
    }
    Ok(Some(shortest))
}

/// A launch of a case that is under way.
struct LaunchInProgress<'f, 'p> {
    run: &'f CaseRun<'p>,
    launch: usize,
    setting: &'f Setting<'f>,
    writer: &'f mut Writer,
    medians: BTreeMap<String, Vec<f64>>,
}

impl LaunchInProgress<'_, '_> {
    fn introduce(&mut self, players: &[Player<'_>]) -> Result<()> {
        if self.launch > 0 {
            return Ok(());
        }
        for player in players {
            if let Some(hello) = &player.hello {
                let introduction = introduction(self.setting.project, player.arm, hello)?;
                self.writer.line(file::SUBJECTS, &introduction)?;
            }
        }
        Ok(())
    }

    /// Side by side and in random order, as what counts: an arm that was always warmed last would start warmest.
    fn warm(&mut self, players: &mut [Player<'_>], random: &mut Stream) -> Result<()> {
        for slice in 0..self.run.warm_slices() {
            for index in random_order(players.len(), random) {
                self.slice(&mut players[index], Phase::Warm, 0, slice as u32, slice)?;
            }
        }
        Ok(())
    }

    fn blocks(
        &mut self,
        players: &mut [Player<'_>],
        mut probe: Option<FlushProbe>,
        random: &mut Stream,
    ) -> Result<()> {
        for block in 0..self.run.case.blocks {
            let order = if self.run.case.is_by_the_clock() {
                random_order(players.len(), random)
            } else {
                block_order(players.len(), random)
            };
            let beside = Block::begin(&self.run.case.id, self.launch, block);
            for (position, player) in order.iter().enumerate() {
                let half = (position >= players.len()) as u64;
                let number = self.run.warm_slices() + u64::from(block) * 2 + half;
                self.slice(&mut players[*player], Phase::Measure, block, position as u32, number)?;
            }
            beside.end(probe.as_mut(), self.writer)?;
        }
        Ok(())
    }

    /// Plays slice `number` of the launch: the same operations for every arm.
    fn slice(
        &mut self,
        player: &mut Player<'_>,
        phase: Phase,
        block: u32,
        position: u32,
        number: u64,
    ) -> Result<()> {
        stopped(&self.setting.manners)?;
        let count = self.run.calibrated;
        let first = self.run.first_operation(number, count);
        let case = &self.run.case;
        let keeps_series = case.is_by_the_clock() && phase == Phase::Measure && block == 0;
        let series =
            keeps_series.then(|| series_file(self.writer.folder(), &case.id, &player.arm.name, self.launch));
        let kept = Kept { series, latency: None };
        let Some(played) = player.slice(first, count, kept)? else { return stopped(&self.setting.manners) };
        let line = played.line(&self.run.case.id, self.launch, &player.arm.name, phase, block, position);
        if phase == Phase::Measure && line.operations > 0 {
            let times = self.medians.entry(player.arm.name.clone()).or_default();
            times.push(line.wall_ns as f64 / line.operations as f64);
        }
        self.writer.line(file::SAMPLES, &line)
    }

    /// A longer stretch with the clock read after every operation, for cases of single short operations. It goes on where the slices
    /// ended: what they asked for an engine may have kept.
    fn latencies(&mut self, players: &mut [Player<'_>], slices: u64, random: &mut Stream) -> Result<()> {
        let case = self.run.case;
        let usual = self.run.calibrated * u64::from(SLICE_MS) / u64::from(case.slice_ms);
        let count = (usual.max(1) * slices).min(LATENCY_OPERATIONS_MAX);
        for index in random_order(players.len(), random) {
            let player = &mut players[index];
            let [lane] = player.arm.lanes.as_slice() else { continue };
            if case.restore
                || lane.count.is_some()
                || !matches!(lane.verb, Verb::Get | Verb::InsertOne | Verb::UpdateOne | Verb::Mix)
            {
                continue;
            }
            stopped(&self.setting.manners)?;
            let path = latency_file(self.writer.folder(), &case.id, &player.arm.name, self.launch);
            let first = self.run.first_operation(self.run.slices(), count);
            let kept = Kept { latency: Some(path), series: None };
            let Some(played) = player.slice(first, count, kept)? else { continue };
            let line = played.line(&case.id, self.launch, &player.arm.name, Phase::Latency, 0, 0);
            self.writer.line(file::SAMPLES, &line)?;
        }
        Ok(())
    }

    /// What explains a slice does so alone. Then all processes that played end, before any starts that looks for what was acknowledged:
    /// none can tell another what it kept. And all of these start before the first is waited for.
    fn leave(&mut self, mut players: Vec<Player<'_>>) -> Result<Vec<Launch>> {
        for player in &mut players {
            stopped(&self.setting.manners)?;
            player.explain_before(self.launch, self.run.calibrated)?;
        }
        players.iter_mut().for_each(Player::end_process);
        for player in &mut players {
            player.start_anew()?;
        }
        let mut lines = Vec::new();
        for player in players {
            stopped(&self.setting.manners)?;
            let line = player.leave(self.launch, self.run.calibrated)?;
            stopped(&self.setting.manners)?;
            self.writer.line(file::LAUNCHES, &line)?;
            lines.push(line);
        }
        Ok(lines)
    }
}

pub(crate) fn introduction(project: &Project, arm: &PlannedArm, hello: &Hello) -> Result<Introduction> {
    let program = project.program_file(arm)?;
    let crc32 = std::fs::read(&program).map(|bytes| format!("{:08x}", crc32fast::hash(&bytes)));
    Ok(Introduction {
        contender: arm.contender.clone(),
        hello: hello.clone(),
        program_crc32: crc32.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::shared_count;

    #[test]
    fn the_slowest_arm_has_the_count_that_suits_it() {
        assert_eq!(shared_count(&[600, 700, 2000]), Some(600));
        assert_eq!(shared_count(&[]), None);
    }

    #[test]
    fn a_quick_arm_lengthens_the_others_slices_to_twice_at_most() {
        assert_eq!(shared_count(&[600, 18_000]), Some(900));
        assert_eq!(shared_count(&[600, 65_536]), Some(1200));
        assert_eq!(shared_count(&[1, 3]), Some(1));
    }
}
