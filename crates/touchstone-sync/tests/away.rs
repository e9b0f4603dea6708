//! A database that goes and comes back, before a service that lives on: requests are told to come again and do not hang, readiness says so,
//! and streams go on where the history does.

mod cluster;
mod places;
mod support;

use cluster::Cluster;
use places::Place;
use serde_json::json;
use std::io::{BufRead, BufReader, Lines};
use std::sync::Arc;
use support::{Device, Service};
use ureq::BodyReader;

/// Requests that are sent together.
const TOGETHER: usize = 64;

/// A stream of `watch`.
struct Stream(Lines<BufReader<BodyReader<'static>>>);

impl Stream {
    fn open(device: &Device<'_>) -> Stream {
        let stream = device.stream("/v1/sync/watch").unwrap();
        assert_eq!(stream.status(), 200);
        Stream(BufReader::new(stream.into_body().into_reader()).lines())
    }

    /// Reads until the stream tells this cursor.
    fn wait(&mut self, cursor: u64) {
        let wanted = format!("data: {{\"cursor\":{cursor}}}");
        assert!(self.0.by_ref().map(Result::unwrap).any(|line| line == wanted), "{wanted}");
    }

    /// Reads until it ends, without an error.
    fn wait_end(&mut self) {
        self.0.by_ref().for_each(|line| drop(line.unwrap()));
    }
}

fn upload(device: &Device<'_>) -> (u16, serde_json::Value) {
    device.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}))
}

/// Every path that the storage has a part in tells to come again.
fn is_away(service: &Service, phone: &Device<'_>) {
    for path in ["/v1/sync/delta", "/v1/sync/full", "/v1/sync/watch", "/health/ready"] {
        let answer = phone.stream(path).unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["retry-after"]),
            (503, &"1".parse().unwrap())
        );
    }
    let (status, problem) = upload(phone);
    assert_eq!((status, &problem["type"]), (503, &json!("/problems/away")), "{problem}");
    assert_eq!(phone.post("/v1/clients", &json!({"device": "tablet"})).0, 503);
    assert_eq!(service.status("/health/live"), 200, "the service itself lives");
}

#[test]
fn requests_are_told_to_come_again_and_streams_go_on_when_the_database_is_back() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let place = Place::database_of(Arc::clone(&cluster), "consistent");
    let service = place.service(&[]);
    let token = service.token("ada");
    let [phone, laptop] = ["phone", "laptop"].map(|device| service.device(&token, device));
    let mut stream = Stream::open(&laptop);
    stream.wait(0);
    for round in 1..=3 {
        cluster.end("INT");
        is_away(&service, &phone);
        let ended = support::program().args(["token", "list", "--store"]).arg(&place.store).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("the database cannot be reached") && ended.status.code() == Some(74), "{said}");
        cluster.begin();
        service.wait_ready();
        assert_eq!(upload(&phone).0, 200);
        stream.wait(round);
    }
    assert_eq!(laptop.follow(0).len(), 1);
}

/// What streams told is of a history that has ended.
/// Found by an attacker: a database that refused was told as a mistake of the command line, after which the unit does not start the service again.
#[test]
fn a_service_ends_with_a_status_to_be_started_again_by_where_the_database_refuses() {
    let Some(cluster) = Cluster::start() else { return };
    let (name, url) = cluster.database();
    let status = |url: &str| {
        let run =
            support::program().args(["serve", "--listen", "127.0.0.1:0", "--store", url]).output().unwrap();
        run.status.code().unwrap()
    };
    cluster.print("psql", &["-c", &format!("alter database {name} allow_connections false"), "postgres"]);
    assert_eq!(status(&url), 74);
    assert_eq!(status("postgres://sync@host:port/sync"), 64);
    cluster.end("INT");
    assert_eq!(status(&url), 74);
    cluster.begin();
}

#[test]
fn streams_end_where_a_crash_has_ended_the_history() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    for (class, goes_on) in [("strict", true), ("consistent", false)] {
        let place = Place::database_of(Arc::clone(&cluster), class);
        let services = [place.service(&[]), place.service(&[])];
        let token = services[0].token("ada");
        let devices = services.each_ref().map(|service| service.device(&token, "phone"));
        assert_eq!(upload(&devices[0]).0, 200);
        let mut streams = devices.each_ref().map(Stream::open);
        streams.iter_mut().for_each(|stream| stream.wait(1));
        cluster.crash();
        services.iter().for_each(Service::wait_ready);
        if !goes_on {
            // A device that was registered at the end may be lost too.
            services.iter().for_each(|service| drop(service.device(&token, "phone")));
            streams.iter_mut().for_each(Stream::wait_end);
            streams = devices.each_ref().map(Stream::open);
        }
        let (status, uploaded) = upload(&devices[0]);
        assert_eq!(status, 200);
        let cursor = uploaded["cursor"].as_u64().unwrap();
        assert!(!goes_on || cursor == 2, "{uploaded}");
        streams.iter_mut().for_each(|stream| stream.wait(cursor));
    }
}

/// Connections stay open, and nothing answers on them.
#[test]
fn requests_do_not_hang_where_the_database_is_frozen() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let place = Place::database_of(Arc::clone(&cluster), "strict");
    let service = place.service(&["--connections", "4"]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    assert_eq!(upload(&phone).0, 200);
    let mut stream = Stream::open(&phone);
    stream.wait(1);
    cluster.signal_all("STOP");
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            // The support's agent gives an answer up that does not come.
            scope.spawn(|| assert_eq!(upload(&phone).0, 503));
        }
    });
    assert_eq!(service.status("/health/ready"), 503);
    cluster.signal_all("CONT");
    service.wait_ready();
    let (status, uploaded) = upload(&phone);
    assert_eq!(status, 200, "{uploaded}");
    stream.wait(uploaded["cursor"].as_u64().unwrap());
    assert_eq!(phone.follow(0).len(), 1);
}

/// The user's history, and how many objects there are.
fn history(url: &str, token: &str, class: &str) -> (String, usize) {
    let service = Service::start(url.as_ref(), &["--durability", class]);
    let everything = service.device(token, "phone").get("/v1/sync/full").1;
    (everything["history"].as_str().unwrap().to_owned(), everything["changes"].as_array().unwrap().len())
}

#[test]
fn users_have_new_histories_where_the_database_may_lack_something() {
    let Some(cluster) = Cluster::start() else { return };
    let (name, url) = cluster.database();
    let token = support::token(url.as_ref(), "ada");
    assert_eq!(upload(&Service::start(url.as_ref(), &[]).device(&token, "phone")).0, 200);
    let known = history(&url, &token, "consistent");
    assert_eq!(known.1, 1);
    cluster.end("INT");
    cluster.begin();
    assert_eq!(history(&url, &token, "consistent"), known, "it was ended as it should be");
    let (copy, url_of_copy) = cluster.database();
    let dump = tempfile::NamedTempFile::new().unwrap();
    let dump = dump.path().to_str().unwrap();
    cluster.print("pg_dump", &["-f", dump, &name]);
    cluster.print("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-f", dump, &copy]);
    let copied = history(&url_of_copy, &token, "strict");
    assert!(copied.0 != known.0 && copied.1 == 1, "a backup may lack what came after it");
    assert_eq!(history(&url_of_copy, &token, "strict"), copied);
    cluster.crash();
    let crashed = history(&url, &token, "strict");
    assert_ne!(crashed.0, known.0, "it was served without waiting for the disk before");
    assert_eq!(history(&url, &token, "strict"), crashed);
    cluster.print("psql", &["-c", "delete from sync_life", &name]);
    let begun = history(&url, &token, "strict");
    assert_ne!(begun.0, crashed.0, "its owner asked for it");
    assert_eq!(history(&url, &token, "strict"), begun);
}

#[test]
fn users_have_new_histories_where_a_dump_is_restored_into_the_same_database() {
    let Some(cluster) = Cluster::start() else { return };
    let (name, url) = cluster.database();
    let token = support::token(url.as_ref(), "ada");
    assert_eq!(upload(&Service::start(url.as_ref(), &[]).device(&token, "phone")).0, 200);
    for class in ["consistent", "strict"] {
        let known = history(&url, &token, class);
        let dump = tempfile::NamedTempFile::new().unwrap();
        let dump = dump.path().to_str().unwrap();
        cluster.print("pg_dump", &["-Fc", "-f", dump, &name]);
        assert_eq!(history(&url, &token, class), known, "a dump changes nothing");
        cluster.print("pg_restore", &["--clean", "-d", &name, dump]);
        let restored = history(&url, &token, class);
        assert!(restored.0 != known.0 && restored.1 == known.1, "{class}: {restored:?} after {known:?}");
        assert_eq!(history(&url, &token, class), restored);
    }
}

/// Gives the tables to a role that may not ask which server it is.
const TO_PLAIN: &str = "create role plain login; grant create on schema public to plain; \
    revoke execute on function pg_control_system() from public; do $$ declare name text; begin \
        for name in select tablename from pg_tables where schemaname = 'public' loop \
            execute format('alter table %I owner to plain', name); end loop; end $$";

#[test]
fn a_place_that_is_not_said_is_not_another_one() {
    let Some(cluster) = Cluster::start() else { return };
    let (name, url) = cluster.database();
    let token = support::token(url.as_ref(), "ada");
    assert_eq!(upload(&Service::start(url.as_ref(), &[]).device(&token, "phone")).0, 200);
    let known = history(&url, &token, "strict");
    cluster.print("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-c", TO_PLAIN, &name]);
    let plain = url.replace("sync@", "plain@");
    assert_eq!(history(&plain, &token, "strict"), known, "it is not told to this role");
    assert_eq!(history(&url, &token, "strict"), known);
    cluster.print("psql", &["-c", "update sync_life set place = ''", &name]);
    assert_eq!(history(&url, &token, "strict"), known, "it was not told before");
    let place = cluster.print("psql", &["-Atc", "select place from sync_life", &name]);
    assert!(place.len() > 1, "it is told now, and noted");
}
