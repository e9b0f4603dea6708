//! The service over HTTP, as a process of its own, on each storage: what it answers, and that what makes no sense is told in problem
//! details.

mod cluster;
mod places;
#[macro_use]
mod served;
mod support;

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use support::{Service, place, program};

mod on_a_file {
    fn place() -> Option<crate::places::Place> {
        Some(crate::places::Place::file("consistent"))
    }

    every_answer_is_given!();
}

mod on_a_file_in_class_strict {
    fn place() -> Option<crate::places::Place> {
        Some(crate::places::Place::file("strict"))
    }

    every_answer_is_given!();
}

mod on_postgresql {
    fn place() -> Option<crate::places::Place> {
        crate::places::Place::database("consistent")
    }

    every_answer_is_given!();
}

mod on_postgresql_in_class_strict {
    fn place() -> Option<crate::places::Place> {
        crate::places::Place::database("strict")
    }

    every_answer_is_given!();
}

#[test]
fn a_restored_backup_has_what_it_had_and_devices_notice() {
    let (folder, store) = place();
    let [copy, restored] = ["copy.db", "restored.db"].map(|name| folder.path().join(name));
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "kept"}]}));
    let history = phone.get("/v1/sync/full").1["history"].as_str().unwrap().to_owned();
    let run = |words: &[&str]| program().args(words).output().unwrap();
    let [store, copy, restored] = [&store, &copy, &restored].map(|path| path.to_str().unwrap());
    assert!(run(&["backup", copy, "--store", store]).status.success());
    assert_eq!(run(&["backup", copy, "--store", store]).status.code(), Some(74), "it overwrites nothing");
    phone.post("/v1/sync/delta", &json!({"changes": [{"id": "b", "data": "lost"}]}));
    assert!(run(&["restore", copy, "--store", restored]).status.success());
    assert_eq!(run(&["restore", copy, "--store", restored]).status.code(), Some(64));
    assert_eq!(run(&["restore", "/nowhere", "--store", "other.db"]).status.code(), Some(66));
    let service = Service::start(restored.as_ref(), &[]);
    let phone = service.device(&token, "phone");
    assert_eq!(phone.follow(0).len(), 1);
    let (status, problem) = phone.get(&format!("/v1/sync/delta?cursor=1&history={history}"));
    assert_eq!((status, &problem["type"]), (409, &json!("/problems/other-history")));
}

#[test]
fn a_service_that_cannot_begin_says_why() {
    let (folder, store) = place();
    let service = Service::start(&store, &[]);
    let busy = service.address.trim_start_matches("http://").to_owned();
    let text = folder.path().join("text");
    std::fs::write(&text, "no store at all, and longer than the head of one: ".repeat(20)).unwrap();
    let text = text.to_str().unwrap();
    let store = store.to_str().unwrap();
    for (more, status, words) in [
        (vec!["serve", "--listen", &busy, "--store", store], 74, "where another program listens: end it"),
        (vec!["serve", "--store", text], 65, "cannot open"),
        (vec!["serve", "--store", "/nowhere/at/all.db"], 66, "cannot open /nowhere/at/all.db"),
        (vec!["serve", "--listen", "nowhere", "--store", store], 64, "--listen"),
        (vec!["serve", "--certificate", text, "--store", store], 64, "--key"),
        (
            vec!["serve", "--certificate", text, "--key", text, "--listen", "127.0.0.1:0", "--store", store],
            74,
            "certificate",
        ),
        (vec!["serve", "--remember=-1h", "--store", store], 64, "--remember"),
        (vec!["serve", "--log", "=,=", "--store", store], 64, "--log"),
        (vec!["serve", "--log", "debgu", "--store", store], 64, "`--log debgu` is no level"),
        (vec!["serve", "--log", "info,h2=loud", "--store", store], 64, "--log"),
        (vec!["serve", "--log", "info,touchstone_sync[span]=debug", "--store", store], 64, "--log"),
        (vec!["token", "revoke", "nothing", "--store", store], 64, "there is no token"),
        (vec!["token", "list", "--store", "mysql://ada:secret@host/db"], 64, "`mysql://…` is no store"),
        (vec!["admin", "compact", "--store", "/nowhere/at/all.db"], 66, "cannot open /nowhere/at/all.db"),
        (vec!["token", "create", "--user", " ", "--store", store], 64, "user's name"),
        (vec!["token", "create", "--user", "ada", "--expires=-1h", "--store", store], 64, "--expires"),
        (vec!["token", "create", "--user", "ada", "--expires=0s", "--store", store], 64, "no time to come"),
        (
            vec!["token", "create", "--user", "ada", "--expires=9000y", "--store", store],
            64,
            "no time to come",
        ),
    ] {
        // A service listens before it opens its store.
        let ended = program().env("TOUCHSTONE_SYNC_LISTEN", "127.0.0.1:0").args(&more).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains(words) && !said.contains("panicked"), "{more:?}: {said}");
        assert!(!said.contains("secret"), "{more:?}: {said}");
        assert_eq!(ended.status.code(), Some(status), "{more:?}: {said}");
    }
}

/// Found by a newcomer: a client that sends its body to the end before it reads found its connection closed, and never the problem.
#[test]
fn a_refused_body_is_answered_to_a_client_that_sends_all_of_it_first() {
    const MIB: usize = 1 << 20;
    let (_folder, store) = place();
    let service = Service::start(&store, &[]);
    let token = service.token("ada");
    service.device(&token, "phone");
    let address = service.address.trim_start_matches("http://");
    let answer = |device: &str, bytes: usize| {
        let mut client = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/sync/delta HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\nx-client: {device}\r\n\
             content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&vec![b' '; bytes]).map_err(|error| error.kind())?;
        let mut answer = String::new();
        client.read_to_string(&mut answer).map_err(|error| error.kind())?;
        Ok::<_, std::io::ErrorKind>(answer)
    };
    for _ in 0..10 {
        let long = answer("phone", 7 * MIB).unwrap();
        assert!(long.starts_with("HTTP/1.1 413 ") && long.contains("/problems/too-long"), "{long}");
        let unknown = answer("tablet", 3 * MIB).unwrap();
        assert!(
            unknown.starts_with("HTTP/1.1 401 ") && unknown.contains("/problems/unknown-device"),
            "{unknown}"
        );
    }
    // What is much longer than any body is not waited for.
    assert!(answer("phone", 64 * MIB).is_err());
}

/// Found by an attacker: an error named the file three times, once in each layer's words, and its remedy stood behind the third.
#[test]
fn an_error_of_a_file_names_it_once_with_the_cause_and_the_remedy() {
    let (folder, store) = place();
    let service = Service::start(&store, &[]);
    let [text, cut, missing, there] =
        ["text", "cut.db", "no/folder.db", "there.db"].map(|name| folder.path().join(name));
    std::fs::write(&text, "no store at all, and longer than the head of one: ".repeat(20)).unwrap();
    std::fs::write(&cut, "").unwrap();
    std::fs::write(folder.path().join("cut.db-wal"), "commits").unwrap();
    std::fs::write(&there, "a file").unwrap();
    let [store, text, cut, missing, there] =
        [&store, &text, &cut, &missing, &there].map(|path| path.to_str().unwrap());
    for (words, file, cause) in [
        (vec!["serve", "--store", missing], missing, "unable to open database file (is it there"),
        (vec!["token", "list", "--store", missing], missing, "unable to open database file (is it there"),
        (vec!["serve", "--store", text], text, "no encrypted store"),
        (vec!["token", "list", "--store", text], text, "no encrypted store"),
        (vec!["serve", "--store", cut], cut, ": it is empty, and the log beside it is not"),
        (vec!["backup", there, "--store", store], there, "it is there already"),
        (
            vec!["restore", missing, "--store", "other.db"],
            missing,
            "unable to open database file (is it there",
        ),
        (vec!["admin", "compact", "--store", missing], missing, "unable to open database file (is it there"),
        (vec!["admin", "compact", "--store", store], store, "open elsewhere"),
    ] {
        let ended = program().env("TOUCHSTONE_SYNC_LISTEN", "127.0.0.1:0").args(&words).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        let times = said.matches(file).count() - said.matches(&format!("{file}-wal")).count();
        assert!(times == 1 && said.contains(cause), "{words:?}: {times} times: {said}");
    }
    // A relative path is told from the root: a log of a service says in which folder it looked.
    let ended =
        program().current_dir(folder.path()).args(["token", "list", "--store", "text"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(said.matches("text").count(), 1, "{said}");
    assert!(said.contains(text), "{said}");
    drop(service);
}

/// Found by an attacker: a service that was started right after the SIGTERM of the one before found that one listening yet, and ended.
#[test]
fn an_address_that_an_older_service_has_yet_is_waited_for() {
    let (_folder, store) = place();
    let older = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = older.local_addr().unwrap().to_string();
    let mut command = program();
    command.args(["serve", "--listen", &address, "--store"]).arg(&store).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains(&format!("{address} is in use, and waited for")), "{line}");
    drop(older);
    let serves = said.lines().map(Result::unwrap).find(|line| line.contains("serving "));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(serves.is_some_and(|line| line.contains(&address)), "it serves once the address is free");
}

/// Found by an attacker: a SIGTERM right behind the line that says it serves ended the process as a signal does, for none was caught yet.
#[test]
fn a_service_that_has_just_said_that_it_serves_ends_as_it_should() {
    for _ in 0..8 {
        let (_folder, store) = place();
        let mut command = program();
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(&store).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.any(|line| line.contains("serving ")));
        let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success());
        let last = said.last();
        let ended = child.wait().unwrap();
        assert!(ended.success() && last.is_some_and(|line| line.contains("ended")), "{ended}");
    }
}

/// Found by an attacker: a SIGTERM while the store was opened killed the service, which had begun and noted no end, and after the next start of the
/// system devices fetched everything.
#[test]
fn a_service_that_is_told_to_end_while_it_begins_has_ended() {
    let (folder, store) = place();
    assert!(
        program()
            .args(["token", "create", "--user", "ada", "--store"])
            .arg(&store)
            .status()
            .unwrap()
            .success()
    );
    // As another service that notes its end has it.
    let lock = std::fs::File::create(
        folder.path().join(format!("{}-serving", store.file_name().unwrap().to_str().unwrap())),
    )
    .unwrap();
    lock.lock().unwrap();
    let mut command = program();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(&store).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("is locked, and waited for")));
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    lock.unlock().unwrap();
    let last = said.last();
    let ended = child.wait().unwrap();
    assert!(ended.success() && last.is_some_and(|line| line.contains("ended")), "{ended}");
    let store = touchstone_store::Store::open(&store).unwrap();
    let has_ended = store.read(|snapshot| {
        snapshot.sql(|sql| {
            sql.query_row("select has_ended from life where id = 0", (), |row| row.get::<_, bool>(0))
        })
    });
    assert!(has_ended.unwrap());
}

#[test]
fn a_database_is_backed_up_by_its_own_programs() {
    for verb in ["backup", "restore"] {
        let ended = program().args([verb, "copy.db", "--store", "postgres://nowhere/sync"]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("`pg_dump`") && ended.status.code() == Some(64), "{said}");
    }
}

#[test]
fn streams_of_a_user_are_as_many_as_are_allowed() {
    let (_folder, store) = place();
    let service = Service::start(&store, &["--user-streams", "2", "--streams", "3"]);
    let [ada, bob] = ["ada", "bob"].map(|user| service.device(&service.token(user), "phone"));
    let open = |device: &support::Device<'_>| device.stream("/v1/sync/watch").unwrap();
    let (first, _second) = (open(&ada), open(&ada));
    assert_eq!(open(&ada).status(), 429, "the user has as many as one may");
    let _third = open(&bob);
    assert_eq!(open(&bob).status(), 503, "the service has as many as it may");
    assert_eq!(ada.get("/v1/devices").1["devices"][0]["streams"], 2);
    drop(first);
    while open(&ada).status() != 200 {
        std::thread::yield_now();
    }
}

#[test]
fn pages_of_other_origins_may_ask_where_the_owner_says_so_and_nowhere_else() {
    let (_folder, store) = place();
    let asks = |service: &Service, origin: &str| {
        let agent = ureq::Agent::new_with_defaults();
        let question = ureq::http::Request::options(format!("{}/v1/sync/delta", service.address))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type,x-client")
            .body(())
            .unwrap();
        let config = agent.configure_request(question).http_status_as_error(false).proxy(None).build();
        let answer = agent.run(config).unwrap();
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        (header("access-control-allow-origin"), header("access-control-allow-headers"))
    };
    let service = Service::start(&store, &[]);
    assert_eq!(asks(&service, "https://notes.example.org"), (None, None));
    drop(service);
    let (_folder, store) = place();
    let service =
        Service::start(&store, &["--allow-origin", "https://notes.example.org", "--allow-origin", "null"]);
    let headers = Some("authorization,content-type,x-client".to_owned());
    for origin in ["https://notes.example.org", "null"] {
        assert_eq!(asks(&service, origin), (Some(origin.to_owned()), headers.clone()));
    }
    assert_eq!(asks(&service, "https://other.example.org").0, None);
    for wrong in ["notes.example.org", "https://notes.example.org/page", "https://*", ""] {
        let refused = program().args(["serve", "--allow-origin", wrong]).output().unwrap();
        assert_eq!(refused.status.code(), Some(64), "{wrong}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("without a path"), "{wrong}");
    }
}
