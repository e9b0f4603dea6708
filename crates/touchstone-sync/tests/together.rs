//! Two processes of the service before one database: users whose devices are spread over both have one order, without a gap or a repeat.

mod cluster;
mod places;
mod support;

use places::Place;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use support::{Device, Service, program};

const USERS: usize = 6;
/// Of each user, on both processes in turn.
const DEVICES: usize = 4;
/// Of each device, with two changes each.
const UPLOADS: usize = 20;

#[test]
fn devices_of_two_processes_have_one_order_without_a_gap_or_a_repeat() {
    let Some(place) = Place::database("consistent") else { return };
    // They begin at once, on a database without tables.
    let services = std::thread::scope(|scope| {
        let begun = [0, 1].map(|_| scope.spawn(|| place.service(&[])));
        begun.map(|service| service.join().unwrap())
    });
    std::thread::scope(|scope| {
        for user in 0..USERS {
            let services = &services;
            scope.spawn(move || one_user(services, user));
        }
    });
}

fn one_user(services: &[Service; 2], user: usize) {
    let token = services[user % 2].token(&format!("user {user}"));
    let (told, seen) = std::thread::scope(|scope| {
        let mut uploading = Vec::new();
        for number in 0..DEVICES {
            let device = services[number % 2].device(&token, &format!("device {number}"));
            uploading.push(scope.spawn(move || uploads(&device, user, number)));
        }
        let seen = follow(&services[user / 2 % 2].device(&token, "follower"), user);
        let mut told = BTreeMap::new();
        for device in uploading {
            for (revision, change) in device.join().unwrap() {
                assert!(told.insert(revision, change).is_none(), "{revision} was given twice");
            }
        }
        (told, seen)
    });
    assert!(told.keys().copied().eq(1..=(DEVICES * UPLOADS * 2) as u64), "revisions have no gap");
    for (revision, change) in &seen {
        assert_eq!((&change["id"], &change["data"]), (&told[revision]["id"], &told[revision]["data"]));
    }
    let state = |changes: &BTreeMap<u64, Value>| -> BTreeMap<String, Value> {
        changes.values().map(|change| (change["id"].to_string(), change["data"].clone())).collect()
    };
    assert_eq!(state(&told), state(&seen), "what it was given comes to the last state");
    for service in services {
        let everything = service.device(&token, "reader").get("/v1/sync/full").1;
        assert_eq!(everything["changes"].as_array().unwrap().len(), state(&told).len());
    }
}

/// Objects that all devices change, and one of the device's own. The changes, by the revisions that they were told.
fn uploads(device: &Device<'_>, user: usize, number: usize) -> Vec<(u64, Value)> {
    let mut told = Vec::new();
    for place in 0..UPLOADS {
        let data = format!("{user} {number} {place}");
        let changes = json!([
            {"id": format!("{}", (place * 7 + number) % 5), "data": data},
            {"id": format!("own {number}"), "data": data},
        ]);
        let (status, uploaded) = device.post("/v1/sync/delta", &json!({ "changes": changes }));
        assert_eq!(status, 200, "{uploaded}");
        let revisions = uploaded["revisions"].as_array().unwrap().iter().map(|known| known.as_u64().unwrap());
        told.extend(revisions.zip(changes.as_array().unwrap().iter().cloned()));
    }
    told
}

/// What a device is given that asks all the while, until it has the last revision.
fn follow(device: &Device<'_>, user: usize) -> BTreeMap<u64, Value> {
    let (mut cursor, mut seen) = (0, BTreeMap::new());
    while cursor < (DEVICES * UPLOADS * 2) as u64 {
        let (status, page) = device.get(&format!("/v1/sync/delta?cursor={cursor}&limit=7"));
        assert_eq!(status, 200, "{page}");
        for change in page["changes"].as_array().unwrap() {
            let revision = change["revision"].as_u64().unwrap();
            assert!(revision > cursor, "{revision} is not beyond {cursor}");
            assert!(change["data"].as_str().unwrap().starts_with(&format!("{user} ")), "no stranger's");
            cursor = revision;
            seen.insert(revision, change.clone());
        }
    }
    seen
}

#[test]
fn a_stream_of_one_process_tells_what_the_other_has_stored_and_a_token_ends_in_both() {
    let Some(place) = Place::database("strict") else { return };
    let services = [place.service(&[]), place.service(&[])];
    let token = services[0].token("ada");
    let [phone, laptop] = [services[0].device(&token, "phone"), services[1].device(&token, "laptop")];
    let stream = laptop.stream("/v1/sync/watch").unwrap();
    let mut lines = BufReader::new(stream.into_body().into_reader()).lines().map(Result::unwrap);
    for cursor in 0..=20 {
        if cursor > 0 {
            phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}));
        }
        let wanted = format!("data: {{\"cursor\":{cursor}}}");
        assert!(lines.any(|line| line == wanted), "{wanted}");
        assert_eq!(laptop.follow(0).len(), cursor.min(1));
    }
    let listed = program().args(["token", "list", "--json", "--store"]).arg(&place.store).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let name = listed[0]["name"].as_str().unwrap();
    let revoked = program().args(["token", "revoke", name, "--store"]).arg(&place.store).status().unwrap();
    assert!(revoked.success());
    assert_eq!((phone.get("/v1/sync/delta").0, laptop.get("/v1/sync/delta").0), (401, 401));
}
