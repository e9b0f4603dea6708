//! The service is killed under load, again and again: what was acknowledged is there, and what is repeated is applied once.
//!
//! `TOUCHSTONE_KILLS=100` kills as often as that; a few times, unless said.

mod support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{Device, Service, place, token};

const DEVICES: usize = 4;

/// Acknowledged uploads of all devices before each kill.
const UPLOADS: u64 = 60;

/// What a device has in hand: the upload that is not acknowledged yet, to be repeated, and how many were.
#[derive(Clone, Default)]
struct Outbox {
    acknowledged: u64,
}

#[test]
fn what_was_acknowledged_is_there_after_each_kill_in_class_consistent() {
    kills("consistent");
}

#[test]
fn what_was_acknowledged_is_there_after_each_kill_in_class_strict() {
    kills("strict");
}

fn kills(class: &str) {
    let kills = std::env::var("TOUCHSTONE_KILLS")
        .map_or(3, |kills| kills.parse().expect("TOUCHSTONE_KILLS is a number"));
    let (_folder, store) = place();
    let token = token(&store, "ada");
    let mut outboxes = vec![Outbox::default(); DEVICES];
    for _ in 0..kills {
        round(&store, class, &token, &mut outboxes);
    }
    let service = Service::start(&store, &["--durability", class]);
    let reader = service.device(&token, "reader");
    // Whatever was in hand at the last kill is repeated, so nothing is uncertain any more.
    for (number, outbox) in outboxes.iter_mut().enumerate() {
        let device = service.device(&token, &format!("device {number}"));
        send(&device, number, outbox.acknowledged).expect("nobody kills it now");
        outbox.acknowledged += 1;
    }
    check(&reader.follow(0), &outboxes);
}

/// The service runs until enough is acknowledged, and is killed while devices upload.
fn round(store: &Path, class: &str, token: &str, outboxes: &mut [Outbox]) {
    let service = Service::start(store, &["--durability", class]);
    let reader = service.device(token, "reader");
    let found = reader.follow(0);
    for (number, outbox) in outboxes.iter().enumerate() {
        let state = latest(&found, number);
        assert!(
            state == outbox.acknowledged || state == outbox.acknowledged + 1,
            "device {number} has {} uploads acknowledged, and {state} are there",
            outbox.acknowledged
        );
    }
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let mut devices = Vec::new();
        for (number, outbox) in outboxes.iter_mut().enumerate() {
            let (service, acknowledged) = (&service, &acknowledged);
            let device = service.device(token, &format!("device {number}"));
            devices.push(scope.spawn(move || {
                while send(&device, number, outbox.acknowledged).is_ok() {
                    outbox.acknowledged += 1;
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        while acknowledged.load(Ordering::Relaxed) < UPLOADS {
            assert!(!devices.iter().all(|device| device.is_finished()), "nobody uploads any more");
            std::thread::yield_now();
        }
        service.signal("KILL");
    });
}

/// One upload: an object of its own, and the device's counter, whose state is how many uploads there were.
fn send(device: &Device<'_>, number: usize, place: u64) -> Result<(), ureq::Error> {
    let body = json!({"changes": [
        {"id": format!("{number}-{place}"), "data": "x", "change": format!("{number}-{place}-object")},
        {"id": format!("counter-{number}"), "data": (place + 1).to_string(), "change": format!("{number}-{place}-counter")},
    ]});
    let (status, answer) = device.send("/v1/sync/delta", body.to_string().as_bytes(), &[])?;
    assert_eq!(status, 200, "{answer}");
    Ok(())
}

/// How many uploads of a device there are, by its counter.
fn latest(found: &[Value], number: usize) -> u64 {
    let id = format!("counter-{number}");
    let counter = found.iter().find(|change| change["id"] == id.as_str());
    counter.map_or(0, |counter| counter["data"].as_str().unwrap().parse().unwrap())
}

/// Every upload is there, once: objects, counters, and as many revisions as changes.
fn check(found: &[Value], outboxes: &[Outbox]) {
    let objects: BTreeMap<&str, u64> = found
        .iter()
        .map(|change| (change["id"].as_str().unwrap(), change["revision"].as_u64().unwrap()))
        .collect();
    assert_eq!(objects.len(), found.len(), "no object is given twice");
    for (number, outbox) in outboxes.iter().enumerate() {
        assert_eq!(latest(found, number), outbox.acknowledged);
        for place in 0..outbox.acknowledged {
            assert!(objects.contains_key(format!("{number}-{place}").as_str()), "{number}-{place} is lost");
        }
    }
    let uploads: u64 = outboxes.iter().map(|outbox| outbox.acknowledged).sum();
    assert_eq!(objects.values().copied().max(), Some(2 * uploads), "each change was applied once");
}
