//! A window of load: the generator is started with the case's scenario, and what it counted becomes a slice.

use super::ended::failed_by_itself;
use super::generator::{Ended, Generator, READY};
use super::scene::Scene;
use crate::error::{Error, ErrorKind, Result};
use crate::session::Manners;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use touchstone::sample::Endpoint;

/// Statuses of the generator that come with figures: done, a limit does not hold, its own limits were passed.
const WITH_FIGURES: [i32; 3] = [0, 1, 3];

/// The generator's status where it was told to end.
const TOLD_TO_END: i32 = 130;

/// The length of a window that ends when it is told to: longer than any that is let.
const OPEN_ENDED_MS: u64 = 3_600_000;

/// What a window is asked to be.
pub(super) struct Window<'w> {
    /// The generator's program.
    pub(super) generator: &'w Path,
    pub(super) scene: Scene<'w>,
    /// For the scenario and the generator's files.
    pub(super) folder: &'w Path,
    pub(super) manners: &'w Manners,
}

/// What came of a window.
pub(super) struct Counted {
    /// Requests that were answered as they should be, and their users' mean time until the last of them ended.
    pub(super) answered: u64,
    pub(super) wall_ns: u64,
    /// Requests that failed, by kind.
    pub(super) failures: BTreeMap<String, u64>,
    /// How long each request took, in the order of their ends.
    pub(super) latencies_ns: Vec<u64>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) generator_busy: f64,
    pub(super) doubts: Vec<String>,
    /// Uploads, those of the setup with them.
    pub(super) uploads: Vec<Upload>,
}

/// An upload of a user.
pub(super) struct Upload {
    pub(super) user: usize,
    pub(super) iteration: usize,
    pub(super) is_acknowledged: bool,
}

#[derive(Deserialize)]
struct Outcome {
    rows: Vec<Row>,
    threads: Vec<Thread>,
    doubts: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    phase: String,
    request: String,
    label: String,
    response: String,
    failures: BTreeMap<String, u64>,
    first_wrong: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Thread {
    busy_share: f64,
}

/// A line of the generator's file of requests.
struct Line<'l> {
    began_ns: i64,
    user: usize,
    iteration: usize,
    is_setup: bool,
    request: &'l str,
    failure: &'l str,
    response_ns: u64,
}

impl Window<'_> {
    /// Lets users ask for so long, and calls `begins` when they are set up. The second result is what the generator says where it has no
    /// figures: the service's doing.
    ///
    /// # Errors
    /// When the lab itself fails, or the user asks to stop.
    pub(super) fn run(&self, begins: impl FnOnce()) -> Result<std::result::Result<Counted, String>> {
        let length = Duration::from_millis(self.scene.length_ms);
        let mut generator = self.start()?;
        begins();
        generator.begin();
        self.read(&generator.finish(length)?)
    }

    /// Lets users ask until `meanwhile`, which is done while they do, has been done. What they have heard of is what counts.
    ///
    /// # Errors
    /// As of [`Window::run`].
    pub(super) fn cut_off(
        &self,
        meanwhile: impl FnOnce(&mut Generator) -> Result<()>,
    ) -> Result<std::result::Result<Vec<Upload>, String>> {
        let scene = Scene { length_ms: OPEN_ENDED_MS, ..self.scene.clone() };
        let mut generator = Window { scene, ..*self }.start()?;
        generator.begin();
        meanwhile(&mut generator)?;
        generator.interrupt();
        let ended = generator.finish(Duration::ZERO)?;
        let was_told = ended.status.code() == Some(TOLD_TO_END);
        let figures = if was_told { Ok(()) } else { has_figures(&ended)? };
        Ok(figures.map(|()| {
            let mut uploads = self.uploads(&ended.requests);
            uploads.extend(under_way(&ended.requests, self.scene.load.users as usize));
            uploads
        }))
    }

    /// A generator whose users are set up, or that has ended.
    fn start(&self) -> Result<Generator> {
        let mut generator =
            Generator::start(self.generator, &self.scene.closed()?, self.folder, self.manners)?;
        generator.wait_until_ready()?;
        Ok(generator)
    }

    fn read(&self, ended: &Ended) -> Result<std::result::Result<Counted, String>> {
        if let Err(why) = has_figures(ended)? {
            return Ok(Err(why));
        }
        let outcome: Outcome = serde_json::from_slice(&ended.outcome).map_err(|error| {
            Error::new(ErrorKind::Input, format!("the load generator's outcome cannot be read: {error}"))
        })?;
        Ok(Ok(self.counted(outcome, &ended.requests)))
    }

    fn uploads(&self, text: &str) -> Vec<Upload> {
        let uploading = self.scene.load.scenario.uploading();
        let lines = text.lines().skip(1).filter_map(Line::parse);
        let upload = |line: Line<'_>| Upload {
            user: line.user,
            iteration: line.iteration,
            is_acknowledged: line.failure.is_empty(),
        };
        lines.filter(|line| uploading.contains(&line.request)).map(upload).collect()
    }

    fn counted(&self, outcome: Outcome, text: &str) -> Counted {
        let mut counted = Counted {
            answered: 0,
            wall_ns: 0,
            failures: BTreeMap::new(),
            latencies_ns: Vec::new(),
            endpoints: outcome.rows.into_iter().map(endpoint).collect(),
            generator_busy: outcome.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max),
            doubts: outcome.doubts,
            uploads: self.uploads(text),
        };
        counted.endpoints.sort_by_key(|endpoint| !endpoint.is_setup);
        let mut ends_ns = Vec::new();
        for line in text.lines().skip(1).filter_map(Line::parse) {
            if line.is_setup {
                continue;
            }
            ends_ns.push(line.began_ns.max(0) as u64 + line.response_ns);
            counted.latencies_ns.push(line.response_ns);
            if line.failure.is_empty() {
                counted.answered += 1;
            } else {
                *counted.failures.entry(line.failure.to_owned()).or_default() += 1;
            }
        }
        let all = counted.latencies_ns.len() as f64;
        let length_ns = self.scene.length_ms.saturating_mul(1_000_000);
        counted.wall_ns = per_ns(&mut ends_ns, length_ns).map_or(0, |per_ns| (all / per_ns) as u64);
        counted
    }
}

/// Uploads that users may have sent when they were cut off, and heard nothing of: of the iteration in which a user was last heard of,
/// and of the one behind it.
fn under_way(text: &str, users: usize) -> impl Iterator<Item = Upload> {
    let mut reached = vec![None; users];
    for line in text.lines().skip(1).filter_map(Line::parse) {
        if let Some(reached) = reached.get_mut(line.user) {
            *reached = Some(line.iteration).max(*reached);
        }
    }
    let possible = |user, iteration| Upload { user, iteration, is_acknowledged: false };
    let of_user = move |(user, reached): (usize, Option<usize>)| {
        let next = reached.map_or(0, |reached| reached + 1);
        reached.into_iter().chain([next]).map(move |iteration| possible(user, iteration))
    };
    reached.into_iter().enumerate().flat_map(of_user)
}

/// How quickly answers come, all users together: those behind the first over the time from the first to the last, of all that came until
/// the window's length was over. What comes later is of users that wait while nobody asks anew, and in the beginning a user's first answer
/// comes when others have had several: a pace of each user by itself would leave out that time.
fn per_ns(ends_ns: &mut [u64], length_ns: u64) -> Option<f64> {
    ends_ns.sort_unstable();
    let within = ends_ns.partition_point(|end| *end <= length_ns);
    let (ends, ns) = match &ends_ns[..within] {
        [first, .., last] if last > first => (within - 1, last - first),
        // Of a service this slow every answer counts, from the beginning on.
        _ => (ends_ns.len(), *ends_ns.last()?),
    };
    (ns > 0).then(|| ends as f64 / ns as f64)
}

impl<'l> Line<'l> {
    /// Of `began_ns,user,iteration,phase,request,status,failure,response_ns,service_ns`. The lab's scenarios have no name with a comma.
    fn parse(line: &'l str) -> Option<Line<'l>> {
        let fields: Vec<&str> = line.split(',').collect();
        let [began_ns, user, iteration, phase, request, _, failure, response_ns, _] = fields[..] else {
            return None;
        };
        Some(Line {
            began_ns: began_ns.parse().ok()?,
            user: user.parse().ok()?,
            iteration: iteration.parse().ok()?,
            is_setup: phase == "setup",
            request,
            failure,
            response_ns: response_ns.parse().ok()?,
        })
    }
}

fn endpoint(row: Row) -> Endpoint {
    Endpoint {
        request: row.request,
        label: row.label,
        failures: row.failures.values().sum(),
        first_wrong: row.first_wrong.into_values().next(),
        is_setup: row.phase == "setup",
        latencies: row.response,
    }
}

/// Whether it counted; otherwise what it said last, in a line.
///
/// # Errors
/// When that is no fault of the service.
fn has_figures(ended: &Ended) -> Result<std::result::Result<(), String>> {
    if ended.status.code().is_some_and(|code| WITH_FIGURES.contains(&code)) {
        return Ok(Ok(()));
    }
    let says = |line: &&str| !line.trim().is_empty() && *line != READY;
    let last = ended.said.lines().rev().find(says).unwrap_or("nothing");
    let said = format!("the load generator ended with {}: {}", ended.status, last.trim());
    match failed_by_itself(ended.status) {
        Some(kind) => Err(Error::new(kind, said)),
        None => Ok(Err(said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn ns_an_answer(mut ends_ns: Vec<u64>) -> f64 {
        (1.0 / per_ns(&mut ends_ns, SECOND_NS).expect("there are answers")).round()
    }

    /// Eight users of a service that answers one request at a time, each in 10 ms: the last seven answers come when nobody asks anew.
    #[test]
    fn the_pace_of_a_serial_service_is_the_time_of_an_answer() {
        let ns = ns_an_answer((1..=107).map(|answer| answer * 10_000_000).collect());
        assert!((ns - 10_000_000.0).abs() < 1.0, "{ns} ns");
    }

    /// One user is answered each 10 ms while another waits for nine tenths of the window, and then in turn with it.
    #[test]
    fn a_user_that_waits_long_makes_a_service_no_quicker() {
        let one = (1..=90).map(|answer| answer * 10_000_000);
        let both = (91..=101).map(|answer| answer * 10_000_000);
        let ns = ns_an_answer(one.chain(both).collect());
        assert!((ns - 10_000_000.0).abs() < 1.0, "{ns} ns");
    }

    #[test]
    fn answers_that_all_come_late_took_as_long_as_they_did() {
        assert_eq!(per_ns(&mut [], SECOND_NS), None);
        assert_eq!(ns_an_answer(vec![2 * SECOND_NS]), 2e9);
        assert_eq!(ns_an_answer(vec![3 * SECOND_NS, 2 * SECOND_NS]), 1.5e9);
        assert_eq!(ns_an_answer(vec![SECOND_NS / 2, 2 * SECOND_NS]), 1e9);
    }

    #[test]
    fn what_users_may_have_sent_when_they_were_cut_off_is_in_doubt() {
        let text = "began_ns,user,iteration,phase,request,status,failure,response_ns,service_ns\n\
                    -5,0,0,setup,begin,200,,14,13\n5,0,1,window,upload,200,,14,13\n5,0,3,window,download,200,,14,13\n";
        let doubted: Vec<_> = under_way(text, 2).map(|upload| (upload.user, upload.iteration)).collect();
        assert_eq!(doubted, [(0, 3), (0, 4), (1, 0)]);
        assert!(under_way(text, 2).all(|upload| !upload.is_acknowledged));
    }
}
