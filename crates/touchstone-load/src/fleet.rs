//! A worker of somebody else's fleet: Locust's master says how many users there are, our lanes are the users, and the master is told
//! what they count. Its protocol is that of Locust 2, as its own workers speak it.
//!
//! Nothing here is in the way of a request: the lanes run in threads of their own.

mod gauge;
mod message;
mod session;
mod stats;
mod wire;
mod worker;

pub use message::{Message, entry, map, number};
pub use stats::EXACT;
pub use worker::{End, Event, Settings, work};
