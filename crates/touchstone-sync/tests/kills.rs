//! The service and its database are killed under load, again and again: what was acknowledged is there, what is repeated is applied once,
//! and where a database in class `consistent` has lost something with its memory, every device is told.
//!
//! `TOUCHSTONE_KILLS=100` kills as often as that; a few times, unless said.

mod cluster;
mod places;
mod support;

use cluster::Cluster;
use places::Place;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{Device, Service, token};

const DEVICES: usize = 4;

/// Acknowledged uploads of all devices before each kill.
const UPLOADS: u64 = 60;

/// What a device has in hand: the upload that is not acknowledged yet, to be repeated, and how many were.
#[derive(Clone, Default)]
struct Outbox {
    acknowledged: u64,
}

fn kills() -> u64 {
    let kills = std::env::var("TOUCHSTONE_KILLS");
    kills.map_or(3, |kills| kills.parse().expect("TOUCHSTONE_KILLS is a number"))
}

#[test]
fn what_was_acknowledged_is_there_after_each_kill_in_class_consistent() {
    services(&Place::file("consistent"));
}

#[test]
fn what_was_acknowledged_is_there_after_each_kill_in_class_strict() {
    services(&Place::file("strict"));
}

#[test]
fn what_was_acknowledged_is_in_the_database_after_each_kill_in_class_consistent() {
    if let Some(place) = Place::database("consistent") {
        services(&place);
    }
}

#[test]
fn what_was_acknowledged_is_in_the_database_after_each_kill_in_class_strict() {
    if let Some(place) = Place::database("strict") {
        services(&place);
    }
}

/// Kills of the service.
fn services(place: &Place) {
    let token = token(&place.store, "ada");
    let mut outboxes = vec![Outbox::default(); DEVICES];
    for _ in 0..kills() {
        let service = place.service(&[]);
        let found = service.device(&token, "reader").follow(0);
        for (number, outbox) in outboxes.iter().enumerate() {
            is_there(&found, number, outbox);
        }
        load(&service, &token, None, &mut outboxes, || service.signal("KILL"));
    }
    end(&place.service(&[]), &token, &mut outboxes);
}

/// The counter says what was acknowledged, or one more, whose answer was lost.
fn is_there(found: &[Value], number: usize, outbox: &Outbox) {
    let (state, acknowledged) = (latest(found, number), outbox.acknowledged);
    assert!(
        state == acknowledged || state == acknowledged + 1,
        "device {number} has {acknowledged} uploads acknowledged, and {state} are there"
    );
}

/// Whatever was in hand at the last kill is repeated, so nothing is uncertain any more.
fn end(service: &Service, token: &str, outboxes: &mut [Outbox]) {
    for (number, outbox) in outboxes.iter_mut().enumerate() {
        let device = service.device(token, &format!("device {number}"));
        let (status, answer) = send(&device, number, outbox.acknowledged, None).expect("nobody kills it now");
        assert_eq!(status, 200, "{answer}");
        outbox.acknowledged += 1;
    }
    check(&service.device(token, "reader").follow(0), outboxes);
}

/// Devices upload until enough is acknowledged, and something is killed meanwhile. Each ends with its first upload that is not acknowledged,
/// or with one behind the kill.
fn load(service: &Service, token: &str, history: Option<&str>, outboxes: &mut [Outbox], kill: impl FnOnce()) {
    let (acknowledged, is_killed) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut devices = Vec::new();
        for (number, outbox) in outboxes.iter_mut().enumerate() {
            let (acknowledged, is_killed) = (&acknowledged, &is_killed);
            let device = service.device(token, &format!("device {number}"));
            devices.push(scope.spawn(move || {
                while !is_killed.load(Ordering::Relaxed) {
                    match send(&device, number, outbox.acknowledged, history) {
                        Ok((200, _)) => outbox.acknowledged += 1,
                        Ok((503 | 409, _)) | Err(_) => break,
                        Ok(other) => panic!("{other:?}"),
                    }
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        while acknowledged.load(Ordering::Relaxed) < UPLOADS {
            assert!(!devices.iter().all(|device| device.is_finished()), "nobody uploads any more");
            std::thread::yield_now();
        }
        kill();
        is_killed.store(true, Ordering::Relaxed);
    });
}

/// One upload: an object of its own, and the device's counter, whose state is how many uploads there were.
fn send(
    device: &Device<'_>,
    number: usize,
    place: u64,
    history: Option<&str>,
) -> Result<(u16, Value), ureq::Error> {
    let mut body = json!({"changes": [
        {"id": format!("{number}-{place}"), "data": "x", "change": format!("{number}-{place}-object")},
        {"id": format!("counter-{number}"), "data": (place + 1).to_string(), "change": format!("{number}-{place}-counter")},
    ]});
    if let Some(history) = history {
        body["history"] = history.into();
    }
    device.send("/v1/sync/delta", body.to_string().as_bytes(), &[])
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

#[test]
fn what_was_acknowledged_is_there_after_each_crash_of_the_database_in_class_strict() {
    databases("strict", |reader, known, found, outboxes| {
        assert_eq!(reader.history, known, "nothing is lost, and no device fetches everything");
        for (number, outbox) in outboxes.iter().enumerate() {
            is_there(found, number, outbox);
        }
    });
}

/// What is left is whole: each upload up to some, and nothing of those behind it. Devices go on from there.
#[test]
fn every_device_is_told_after_each_crash_of_the_database_in_class_consistent() {
    databases("consistent", |reader, known, found, outboxes| {
        assert_ne!(reader.history, known, "something may be lost");
        for (number, outbox) in outboxes.iter_mut().enumerate() {
            let state = latest(found, number);
            assert!(state <= outbox.acknowledged + 1, "device {number} has sent no more");
            outbox.acknowledged = state;
        }
        check(found, outboxes);
    });
}

/// A device that only downloads: it goes on from its cursor, and fetches everything where it is told of another history.
#[derive(Default)]
struct Reader {
    history: String,
    cursor: u64,
    objects: BTreeMap<String, Value>,
}

impl Reader {
    fn fetch(&mut self, device: &Device<'_>) {
        loop {
            let path = format!("/v1/sync/delta?cursor={}&history={}&limit=1000", self.cursor, self.history);
            let (status, mut page) = device.get(&path);
            if status == 409 {
                assert_eq!(page["type"], "/problems/other-history", "{page}");
                self.objects.clear();
                page = device.get("/v1/sync/full").1;
                page["history"].as_str().unwrap().clone_into(&mut self.history);
            }
            self.cursor = page["cursor"].as_u64().unwrap_or_else(|| panic!("{page}"));
            for change in page["changes"].as_array().unwrap() {
                self.objects.insert(change["id"].as_str().unwrap().to_owned(), change.clone());
            }
            if page["more"] != true {
                return;
            }
        }
    }
}

/// Kills of the database before a service that lives on: of the server, of one of its processes, which ends them all, and a shutdown that
/// writes nothing.
fn databases(class: &'static str, settle: impl Fn(&Reader, &str, &[Value], &mut [Outbox])) {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let place = Place::database_of(Arc::clone(&cluster), class);
    let service = place.service(&[]);
    let token = service.token("ada");
    let mut outboxes = vec![Outbox::default(); DEVICES];
    let mut reader = Reader::default();
    reader.fetch(&service.device(&token, "reader"));
    for kill in 0..kills() {
        let history = reader.history.clone();
        load(&service, &token, Some(&history), &mut outboxes, || match kill % 3 {
            0 => cluster.end("KILL"),
            1 => cluster.end("QUIT"),
            _ => cluster.crash(),
        });
        if kill % 3 < 2 {
            // A process of a server that was killed may answer until it notices.
            while service.status("/health/ready") == 200 {
                std::thread::yield_now();
            }
            cluster.begin();
        }
        service.wait_ready();
        let device = service.device(&token, "reader");
        reader.fetch(&device);
        let found = device.follow(0);
        assert!(found.iter().eq(in_order(&reader.objects)), "who goes on has what is there");
        settle(&reader, &history, &found, &mut outboxes);
    }
    end(&service, &token, &mut outboxes);
}

fn in_order(objects: &BTreeMap<String, Value>) -> Vec<&Value> {
    let mut changes: Vec<&Value> = objects.values().collect();
    changes.sort_by_key(|change| change["revision"].as_u64());
    changes
}
