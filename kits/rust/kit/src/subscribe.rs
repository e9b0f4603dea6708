//! Plays a `subscribe` lane: subscriptions are begun and ended again, one at a time, and their first results are kept
//! until the clock has stopped.

use crate::clock::{EachTick, NoTicks, Ticks, elapsed_ns, processor_ns};
use crate::lane::Played;
use crate::live::Live;
use crate::usage::Counts;
use crate::{Failure, Stored};
use std::collections::BTreeMap;
use std::time::Instant;
use touchstone_protocol::{DeliveryDigest, FailureKind, LaneSample, Sample, Subscription, record_crc32};

/// What a lane begins, in its order: each subscription with its number.
pub(crate) type Begun<'s> = Vec<(usize, &'s Subscription)>;

/// The first results of a lane, in the order of its operations, and what failed.
struct Firsts<F> {
    /// None where the operation failed.
    results: Vec<Option<F>>,
    failures: BTreeMap<FailureKind, (u64, String)>,
}

/// Begins and ends each of `begun` on the clock, then digests what they were given at first.
pub(crate) fn play<D: Live<R>, R: Stored>(handle: &mut D, begun: &Begun<'_>, latency: bool) -> Played {
    let results = Vec::with_capacity(begun.len());
    let mut firsts = Firsts { results, failures: BTreeMap::new() };
    let mut each_tick = EachTick::with_capacity(if latency { begun.len() } else { 0 });
    let before = Counts::now();
    let processor_start_ns = processor_ns();
    let start = Instant::now();
    if latency {
        each_tick.start_at(start);
        firsts.gather(handle, begun, &mut each_tick);
    } else {
        firsts.gather(handle, begun, &mut NoTicks);
    }
    let wall_ns = elapsed_ns(start, Instant::now());
    let cpu_ns = processor_ns() - processor_start_ns;
    let usage = Counts::now().since(&before);
    let lanes = vec![firsts.sample::<D, R>(begun, wall_ns)];
    let sample = Sample { wall_ns, cpu_ns, lanes, usage };
    Played { sample, latency_ns: each_tick.into_latency_ns(), series: Vec::new() }
}

impl<F> Firsts<F> {
    /// The operations themselves.
    #[inline(never)]
    fn gather<D, R, T>(&mut self, handle: &mut D, begun: &Begun<'_>, ticks: &mut T)
    where
        D: Live<R, First = F>,
        R: Stored,
        T: Ticks,
    {
        for (_, subscription) in begun {
            let first = handle.subscribe(subscription);
            let ended = first.and_then(|first| handle.unsubscribe().map(|()| first));
            match ended {
                Ok(first) => self.results.push(Some(first)),
                Err(error) => self.failed(error.into()),
            }
            ticks.tick();
        }
    }

    #[cold]
    fn failed(&mut self, failure: Failure) {
        self.results.push(None);
        self.failures.entry(failure.kind).or_insert((0, failure.message)).0 += 1;
    }

    /// Counts and digests, off the clock. The first failure of each kind is told on standard error.
    fn sample<D: Live<R, First = F>, R: Stored>(self, begun: &Begun<'_>, wall_ns: u64) -> LaneSample {
        let (mut digest, mut buffer) = (DeliveryDigest::default(), Vec::new());
        for (operation, ((number, _), first)) in begun.iter().zip(&self.results).enumerate() {
            if let Some(first) = first {
                let records = D::first_records(first);
                let crcs: Vec<u32> =
                    records.map(|record| record_crc32(&*record.as_record(), &mut buffer)).collect();
                digest.add(operation as u32, *number as u32, &crcs);
            }
        }
        for (kind, (count, message)) in &self.failures {
            eprintln!("{count} subscriptions failed ({}), the first with: {message}", kind.name());
        }
        let errors =
            self.failures.iter().map(|(kind, (count, _))| (kind.name().to_owned(), *count)).collect();
        LaneSample {
            wall_ns,
            answers: digest.deliveries(),
            digest: digest.to_string(),
            errors,
            delivery: None,
            played: None,
        }
    }
}
