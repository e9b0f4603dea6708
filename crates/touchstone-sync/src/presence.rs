//! Which devices have asked lately, and how far they are. It is kept in memory alone: a download that was written down would be a write.

use crate::limits::DEVICES_AT_HAND;
use crate::prometheus;
use crate::storage::Client;
use quick_cache::sync::Cache;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No cursor was seen yet.
const UNSEEN: u64 = u64::MAX;

/// What is known of the devices that asked this process.
#[derive(Debug)]
pub struct Presence {
    devices: Cache<Client, Arc<Device>>,
    began: Instant,
}

/// What is known of a device.
#[derive(Debug)]
struct Device {
    /// The cursor of the last page that it was given: up to there, unless the answer did not reach it, it has everything.
    cursor: AtomicU64,
    /// When it asked, in milliseconds since the process began.
    asked_ms: AtomicU64,
    /// How many streams it has open.
    streams: AtomicUsize,
}

/// What a device has done lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Up to where it was given changes; none where it was not.
    pub cursor: Option<u64>,
    /// How long ago it asked.
    pub ago: Duration,
    /// How many streams it has open.
    pub streams: usize,
}

/// A stream of a device, until it is dropped.
#[derive(Debug)]
pub struct Streaming(Arc<Device>);

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        prometheus::streams(-1.0);
    }
}

impl Default for Presence {
    fn default() -> Presence {
        Presence { devices: Cache::new(DEVICES_AT_HAND), began: Instant::now() }
    }
}

impl Presence {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn device(&self, client: Client) -> Arc<Device> {
        let made = self.devices.get_or_insert_with(&client, || {
            let (cursor, asked_ms) = (AtomicU64::new(UNSEEN), AtomicU64::new(0));
            Ok::<_, Infallible>(Arc::new(Device { cursor, asked_ms, streams: AtomicUsize::new(0) }))
        });
        let Ok(device) = made;
        device
    }

    /// Notes that a device asks.
    pub fn asks(&self, client: Client) {
        self.device(client).asked_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Notes that a device was given everything up to a cursor.
    pub fn was_given(&self, client: Client, cursor: u64) {
        self.device(client).cursor.store(cursor, Ordering::Relaxed);
    }

    /// Notes that a device has a stream, for as long as what is returned lives.
    pub fn streams(&self, client: Client) -> Streaming {
        let device = self.device(client);
        device.streams.fetch_add(1, Ordering::Relaxed);
        prometheus::streams(1.0);
        Streaming(device)
    }

    /// What a device has done lately; none where it has not asked since the process began, or others have asked since.
    pub fn of(&self, client: Client) -> Option<Seen> {
        let device = self.devices.get(&client)?;
        let cursor = device.cursor.load(Ordering::Relaxed);
        let ago = self.now_ms().saturating_sub(device.asked_ms.load(Ordering::Relaxed));
        Some(Seen {
            cursor: (cursor != UNSEEN).then_some(cursor),
            ago: Duration::from_millis(ago),
            streams: device.streams.load(Ordering::Relaxed),
        })
    }
}
