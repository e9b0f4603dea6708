//! Open files: each connection and each stream of events is one, and a shell mostly allows 1,024.

use crate::error::{Error, Result};
use crate::plan::Plan;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a process has open besides: queues, timers, files that it writes.
const OTHERS: u64 = 64;

/// Asks for as many as a run may need, where the limit is lower and can be raised.
///
/// # Errors
/// When streams of events cannot all be open. Connections can be fewer: what waits for one is counted.
pub fn make_room(plan: &Plan) -> Result<()> {
    let of_share = |all: u64| all.div_ceil(plan.share.of);
    let streams = of_share(u64::from(plan.users)) * plan.streams_each() as u64;
    let needed = of_share(u64::from(plan.connections)) + streams + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(maximum.map_or(needed, |most| most.min(needed))), maximum };
    // One that cannot be raised shows as connections that cannot be made.
    let _ = setrlimit(Resource::Nofile, raised);
    match maximum {
        Some(most) if streams > 0 && most < needed => Err(Error::input(format!(
            "{streams} streams of events and the connections take {needed} open files, and this process may have {most}: raise the limit \
             (`ulimit -Hn`), or say fewer `load.users`, or fewer `load.connections`"
        ))),
        _ => Ok(()),
    }
}
