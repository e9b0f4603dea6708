//! The machine's noise: first with the lab doing nothing, then over the examination.

use super::turn::Turn;
use super::units::percent;
use crate::error::Result;
use crate::noise::{NoiseMeter, NoiseReading};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the machine is listened to at rest, at the most.
const LISTEN_LIMIT: Duration = Duration::from_secs(1);

/// How often a pause looks whether the user wants to stop.
const STEP: Duration = Duration::from_millis(50);

/// What else the machine was doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// While the lab did nothing: all of it is the work of others.
    pub at_rest: NoiseReading,
    /// Over the examination, which waits for the disk itself.
    pub examination: NoiseReading,
}

impl Noise {
    /// What the readings mean for a run.
    pub(super) fn meaning(&self) -> String {
        let rest = self.at_rest;
        let untold = |share: Option<f64>, name: &'static str| share.is_none().then_some(name);
        let hidden: Vec<&str> = [
            untold(rest.cpu_pressure, "waiting for a processor"),
            untold(rest.io_pressure, "waiting for the disk"),
            untold(rest.steal, "time taken by the host"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let others = rest.cpu_pressure.into_iter().chain(rest.io_pressure).chain(rest.steal).reduce(f64::max);
        let told = match others {
            None => {
                "The system does not tell what others do, so a run cannot tell their noise from a result."
                    .into()
            }
            Some(share) if share < 0.01 => "The machine was quiet while the lab did nothing.".to_owned(),
            Some(share) => format!(
                "Others kept the machine busy for up to {} of the time while the lab did nothing: expect wider \
                 intervals and more launches.",
                percent(share)
            ),
        };
        let blind = if hidden.is_empty() || others.is_none() {
            String::new()
        } else {
            format!(" Not exposed here: {}.", hidden.join(", "))
        };
        told + &blind
    }
}

/// Does nothing for a while, and says what the others did.
pub(super) fn listen(turn: &Turn<'_>) -> Result<NoiseReading> {
    let turn = turn.part(1, LISTEN_LIMIT);
    let meter = NoiseMeter::start();
    while !turn.over() {
        std::thread::sleep(turn.left().min(STEP));
    }
    turn.go_on()?;
    Ok(meter.stop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_said() {
        let quiet = NoiseReading { cpu_pressure: Some(0.0), io_pressure: Some(0.001), steal: Some(0.0) };
        let noise = |at_rest| Noise { at_rest, examination: NoiseReading::default() };
        assert_eq!(noise(quiet).meaning(), "The machine was quiet while the lab did nothing.");
        let busy = NoiseReading { cpu_pressure: Some(0.25), io_pressure: None, steal: Some(0.0) };
        let meaning = noise(busy).meaning();
        assert!(meaning.contains("up to 25 % of the time"), "{meaning}");
        assert!(meaning.ends_with("Not exposed here: waiting for the disk."), "{meaning}");
        assert!(noise(NoiseReading::default()).meaning().starts_with("The system does not tell"));
    }
}
