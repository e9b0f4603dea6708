//! HTTP load that can be believed: an open-loop schedule that is known before the first request, latencies from the intended start,
//! and results that are added without loss.
//!
//! Data flow one way: a [`scenario`] is a file; a [`plan`] is a scenario whose names lead somewhere; [`run`](run::run) lets lanes play it;
//! an [`outcome`] is what they counted. Everything that is shown is worked out from an outcome. It is not a tool to test
//! what a service answers, beyond what a load must know to be one: [`answer`] checks statuses, texts and order.
//!
//! It runs on Linux: the lanes wait in an event queue with a timer of nanoseconds.

pub mod answer;
pub mod async_lane;
pub mod belief;
pub mod capacity;
pub mod clock;
pub mod command;
pub mod connection;
pub mod course;
pub mod duration;
pub mod engine;
pub mod error;
pub mod events;
pub mod exit;
pub mod failure;
pub mod files;
pub mod fleet;
pub mod journey;
pub mod lane;
pub mod latency;
pub mod limit;
pub mod live;
pub mod memory;
pub mod merge;
pub mod outcome;
pub mod pacing;
pub mod page;
pub mod plain;
pub mod plan;
pub mod probe;
pub mod recorder;
pub mod report;
pub mod requests;
pub mod response;
pub mod room;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod series;
pub mod steer;
pub mod target;
pub mod template;
pub mod tls;
pub mod trust;
pub mod user;
pub mod watched;

pub use error::{Error, ErrorKind, Result};
