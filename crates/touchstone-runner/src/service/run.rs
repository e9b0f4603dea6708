//! A service's case while it is being run: its databases to start from, its launches, its recorded pass.

use super::template::{Template, make_template};
use super::{At, Servant, ServiceContext, record_syncs};
use crate::error::Result;
use crate::launch::latency_file;
use crate::place::Place;
use crate::probe::FlushProbe;
use crate::random::{Stream, block_order, random_order};
use crate::run::{Block, introduction, stopped};
use crate::session::SessionError;
use crate::surroundings::nameless;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use touchstone::plan::PlannedArm;
use touchstone::record::file;
use touchstone::sample::{Launch, Phase};

/// The databases of a case's arms, by their names.
#[derive(Default)]
pub(crate) struct Templates {
    made: BTreeMap<String, Template>,
}

/// What became of a launch: its lines, and the time of an operation in each measured window, by arm.
pub(crate) struct Launched {
    pub(crate) lines: Vec<Launch>,
    pub(crate) times: BTreeMap<String, Vec<f64>>,
}

impl Templates {
    /// Makes an arm's database; the second result is the service's own failure.
    ///
    /// # Errors
    /// When the lab itself fails.
    pub(crate) fn make(
        &mut self,
        context: &ServiceContext<'_>,
        arm: &PlannedArm,
        scratch: &Path,
        random: &mut Stream,
    ) -> Result<std::result::Result<(), SessionError>> {
        let folder = scratch.join(nameless(random));
        Ok(make_template(context, arm, &folder, random)?.map(|template| {
            self.made.insert(arm.name.clone(), template);
        }))
    }

    fn of<'t>(&'t self, arms: &[&'t PlannedArm]) -> Vec<(&'t PlannedArm, &'t Template)> {
        arms.iter().filter_map(|arm| Some((*arm, self.made.get(&arm.name)?))).collect()
    }

    /// Runs a launch of the arms that are still in the run.
    ///
    /// # Errors
    /// When the lab itself fails or the user stops it.
    pub(crate) fn launch(
        &self,
        context: &ServiceContext<'_>,
        arms: &[&PlannedArm],
        launch: usize,
        place: &Place,
        random: &mut Stream,
        writer: &mut Writer,
    ) -> Result<Launched> {
        let arms = self.of(arms);
        let awaits_disk = context.case.flushes || context.case.awaits_disk();
        let probe = if awaits_disk { Some(FlushProbe::new(place.path())?) } else { None };
        let mut servants = enter_all(context, &arms, place.path(), random)?;
        let mut in_progress = ServiceLaunchInProgress { context, launch, writer, times: BTreeMap::new() };
        in_progress.introduce(&servants)?;
        in_progress.warm(&mut servants, random)?;
        in_progress.blocks(&mut servants, probe, random)?;
        let lines = in_progress.leave(servants, random)?;
        Ok(Launched { lines, times: in_progress.times })
    }

    /// Syncs and bytes of an iteration of each arm.
    ///
    /// # Errors
    /// When the lab itself fails or the user stops it.
    pub(crate) fn record(
        &self,
        context: &ServiceContext<'_>,
        arms: &[&PlannedArm],
        place: &Path,
        random: &mut Stream,
        writer: &mut Writer,
    ) -> Result<()> {
        record_syncs(context, &self.of(arms), place, random, writer)
    }
}

/// All processes are started, in random order, before the first is waited for. The servants come back in plan order.
fn enter_all<'s>(
    context: &'s ServiceContext<'s>,
    arms: &[(&'s PlannedArm, &Template)],
    scratch: &Path,
    random: &mut Stream,
) -> Result<Vec<Servant<'s>>> {
    let mut servants: Vec<Option<Servant<'s>>> = arms.iter().map(|_| None).collect();
    for index in random_order(arms.len(), random) {
        let (arm, template) = arms[index];
        servants[index] = Some(Servant::enter(context, arm, template, scratch, random)?);
    }
    let mut servants: Vec<Servant<'s>> = servants.into_iter().flatten().collect();
    servants.iter_mut().for_each(Servant::be_introduced);
    Ok(servants)
}

/// A launch of services that is under way.
struct ServiceLaunchInProgress<'p> {
    context: &'p ServiceContext<'p>,
    launch: usize,
    writer: &'p mut Writer,
    times: BTreeMap<String, Vec<f64>>,
}

impl ServiceLaunchInProgress<'_> {
    fn introduce(&mut self, servants: &[Servant<'_>]) -> Result<()> {
        for servant in servants.iter().filter(|_| self.launch == 0) {
            if let Some(hello) = &servant.hello {
                let introduction = introduction(self.context.project, servant.arm, hello)?;
                self.writer.line(file::SUBJECTS, &introduction)?;
            }
        }
        Ok(())
    }

    fn warm(&mut self, servants: &mut [Servant<'_>], random: &mut Stream) -> Result<()> {
        let warm_ms = self.context.case.load.as_ref().map_or(0, |load| load.warm_ms);
        for (position, index) in random_order(servants.len(), random).into_iter().enumerate() {
            let at = At { launch: self.launch, phase: Phase::Warm, block: 0, position: position as u32 };
            self.window(&mut servants[index], at, warm_ms.max(1), random)?;
            servants[index].ask_twice();
        }
        Ok(())
    }

    fn blocks(
        &mut self,
        servants: &mut [Servant<'_>],
        mut probe: Option<FlushProbe>,
        random: &mut Stream,
    ) -> Result<()> {
        let window_ms = self.context.case.load.as_ref().map_or(0, |load| load.window_ms);
        for block in 0..self.context.case.blocks {
            let order = block_order(servants.len(), random);
            let beside = Block::begin(&self.context.case.id, self.launch, block);
            for (position, index) in order.iter().enumerate() {
                let position = position as u32;
                let at = At { launch: self.launch, phase: Phase::Measure, block, position };
                self.window(&mut servants[*index], at, window_ms, random)?;
            }
            beside.end(probe.as_mut(), self.writer)?;
        }
        Ok(())
    }

    fn window(
        &mut self,
        servant: &mut Servant<'_>,
        at: At,
        length_ms: u64,
        random: &mut Stream,
    ) -> Result<()> {
        stopped(self.context.manners)?;
        let Some(played) = servant.window(at, length_ms, random)? else {
            return stopped(self.context.manners);
        };
        let slice = &played.slice;
        if at.phase == Phase::Measure {
            self.keep_latencies(&slice.arm, &played.latencies_ns)?;
            if slice.operations > 0 {
                let time = slice.wall_ns as f64 / slice.operations as f64;
                self.times.entry(slice.arm.clone()).or_default().push(time);
            }
        }
        self.writer.line(file::SAMPLES, slice)?;
        self.writer.line(file::LOADS, &played.load)
    }

    /// The latencies of a launch's windows stand one after the other in one file.
    fn keep_latencies(&self, arm: &str, latencies_ns: &[u64]) -> Result<()> {
        let path = latency_file(self.writer.folder(), &self.context.case.id, arm, self.launch);
        let bytes: Vec<u8> = latencies_ns.iter().flat_map(|ns| ns.to_le_bytes()).collect();
        let appended = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut latencies| latencies.write_all(&bytes));
        appended.map_err(|error| crate::Error::io(format_args!("cannot write {}", path.display()), &error))
    }

    /// Every process ends at a moment of the lab's choosing before any starts again.
    fn leave(&mut self, mut servants: Vec<Servant<'_>>, random: &mut Stream) -> Result<Vec<Launch>> {
        for servant in &mut servants {
            servant.end_process(self.launch, random)?;
        }
        for servant in &mut servants {
            servant.start_anew()?;
        }
        let mut lines = Vec::new();
        for servant in servants {
            let line = servant.leave(self.launch)?;
            stopped(self.context.manners)?;
            self.writer.line(file::LAUNCHES, &line)?;
            lines.push(line);
        }
        Ok(lines)
    }
}
