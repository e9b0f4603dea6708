//! What a service answers over HTTP, whatever storage it has. Each is a function over one that is empty.

use crate::places::Place;
use crate::support::{Device, Service, program};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use touchstone_sync::token::TokenHash;

/// A test of each answer, over the storage that the function `place` of the surrounding module gives.
macro_rules! every_answer_is_given {
    () => {
        every_answer_is_given!(
            two_devices_share_what_one_of_them_uploads,
            a_registration_tells_whose_the_token_is_and_is_made_for_nobody_else,
            metrics_are_told_at_an_address_of_their_own,
            answers_are_written_as_the_protocol_for_services_has_them,
            everything_is_streamed_whole_where_it_is_packed,
            everything_is_streamed_whole_however_much_it_is,
            whoever_watches_is_told_at_once,
            a_client_that_closes_its_side_behind_its_request_is_answered,
            a_stream_ends_with_its_token_and_others_go_on,
            what_makes_no_sense_is_told_in_problem_details,
            a_revision_that_is_no_integer_is_told_with_its_place,
            nobody_is_answered_without_a_token_that_is_valid,
            a_stranger_takes_no_room_and_is_answered_before_its_body,
            a_packed_body_that_unpacks_to_nothing_has_an_end,
            who_asks_too_much_is_told_when_to_come_again,
            the_service_ends_when_it_is_asked_to_and_streams_end_with_it,
            the_document_has_every_path_and_the_program_prints_it,
        );
    };
    ($($answer:ident),+ $(,)?) => {
        $(
            #[test]
            fn $answer() {
                if let Some(place) = place() {
                    crate::served::$answer(&place);
                }
            }
        )+
    };
}

pub fn two_devices_share_what_one_of_them_uploads(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    let [phone, laptop] = ["phone", "laptop"].map(|device| service.device(&token, device));
    let changes =
        json!({"changes": [{"id": "a", "data": "milk \"and\" bread"}, {"id": "b", "deleted": true}]});
    assert_eq!(phone.post("/v1/sync/delta", &changes), (200, json!({"revisions": [1, 2], "cursor": 2})));
    let page = json!({"changes": [
        {"id": "a", "revision": 1, "data": "milk \"and\" bread"},
        {"id": "b", "revision": 2, "deleted": true},
    ], "cursor": 2, "more": false});
    assert_eq!(laptop.get("/v1/sync/delta?cursor=0&limit=100"), (200, page));
    assert_eq!(phone.get("/v1/sync/delta?others=true").1, json!({"changes": [], "cursor": 2, "more": false}));
    let (_, everything) = laptop.get("/v1/sync/full");
    assert_eq!((everything["changes"].as_array().map(Vec::len), &everything["cursor"]), (Some(1), &json!(2)));
    let history = everything["history"].as_str().unwrap();
    assert_eq!(laptop.get(&format!("/v1/sync/delta?cursor=2&history={history}")).0, 200);
}

/// Found by a user: a device could not know whose its token is, and sent one user's edits as another's.
pub fn a_registration_tells_whose_the_token_is_and_is_made_for_nobody_else(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    let history = phone.get("/v1/sync/full").1["history"].clone();
    let told = json!({"id": "phone", "user": "ada", "history": history});
    for registration in [json!({"device": "phone"}), json!({"device": "phone", "user": "ada"})] {
        assert_eq!(phone.post("/v1/clients", &registration), (200, told.clone()));
    }
    let (status, problem) = phone.post("/v1/clients", &json!({"user": "eve", "device": "laptop"}));
    assert_eq!((status, &problem["type"]), (403, &json!("/problems/forbidden")));
    assert!(problem["detail"].as_str().unwrap().contains("not of the user `eve`"), "{problem}");
    assert_eq!(phone.get("/v1/devices").1["devices"].as_array().map(Vec::len), Some(1));
}

pub fn metrics_are_told_at_an_address_of_their_own(place: &Place) {
    let service = place.service(&["--metrics", "127.0.0.1:0"]);
    let address = service.metrics();
    let phone = service.device(&service.token("ada"), "phone");
    phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}));
    phone.get("/guessed/by/nobody");
    let text = service.text(&address);
    for line in [
        "touchstone_sync_requests_total{method=\"POST\",path=\"/v1/sync/delta\",status=\"200\"} 1",
        "touchstone_sync_requests_total{method=\"GET\",path=\"none\",status=\"404\"} 1",
        "touchstone_sync_requests_under_way 0",
        "touchstone_sync_group_uploads_count 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in:\n{text}");
    }
    assert_eq!(phone.get("/metrics").0, 404, "clients are told none");
}

/// The lab looks for texts in answers, so their keys have an order and no spaces.
pub fn answers_are_written_as_the_protocol_for_services_has_them(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}));
    let text = |path: &str| phone.stream(path).unwrap().body_mut().read_to_string().unwrap();
    let page = r#"{"changes":[{"id":"a","revision":1,"data":"1"}],"cursor":1,"more":false}"#;
    assert_eq!(text("/v1/sync/delta?cursor=0&limit=100"), page);
    assert!(
        text("/v1/sync/full").starts_with(r#"{"changes":[{"id":"a","revision":1,"data":"1"}],"history":""#)
    );
}

/// What packs a stream asks for more once it has ended. It is asked for as bytes: a client may unpack, and not tell.
pub fn everything_is_streamed_whole_where_it_is_packed(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    for data in ["", "milk"] {
        phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": data}]}));
        let mut connection = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        write!(
            connection,
            "GET /v1/sync/full HTTP/1.1\r\nhost: sync\r\nauthorization: Bearer {token}\r\nx-client: phone\r\n\
             accept-encoding: gzip\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).expect("it has its end");
        let head = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(head.contains("\r\ncontent-encoding: gzip\r\n"), "{head}");
        assert!(answer.ends_with(b"\r\n0\r\n\r\n"), "{head}");
    }
    // Found by a fuzzer: an answer was sent whole, and said to be none that the client takes.
    let nothing = phone.stream_with("/v1/sync/full", &[("accept-encoding", "identity;q=0")]).unwrap();
    assert_eq!((nothing.status().as_u16(), nothing.headers().get("content-encoding")), (200, None));
}

/// Objects and their data; null of those that are deleted.
fn state_of(changes: &[Value]) -> BTreeMap<String, Value> {
    changes.iter().map(|change| (change["id"].as_str().unwrap().to_owned(), change["data"].clone())).collect()
}

pub fn everything_is_streamed_whole_however_much_it_is(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    for part in 0..10 {
        let changes: Vec<_> =
            (0..100).map(|place| json!({"id": format!("{part}-{place}"), "data": "x".repeat(500)})).collect();
        assert_eq!(phone.post("/v1/sync/delta", &json!({"changes": changes})).0, 200);
    }
    let (_, everything) = phone.get("/v1/sync/full");
    assert_eq!(everything["changes"].as_array().unwrap().len(), 1_000);
    // Another device changes and deletes meanwhile: everything, and then what follows its cursor, come to the state.
    let laptop = service.device(&phone.token, "laptop");
    let mut begun = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for place in 0..100 {
                let [changed, deleted] =
                    [format!("{}-{place}", place % 10), format!("{}-{place}", (place + 1) % 10)];
                let changes = json!([{"id": changed, "data": "new"}, {"id": deleted, "deleted": true}]);
                assert_eq!(laptop.post("/v1/sync/delta", &json!({ "changes": changes })).0, 200);
            }
        });
        begun.extend((0..20).map(|_| phone.get("/v1/sync/full").1));
    });
    let last = state_of(phone.get("/v1/sync/full").1["changes"].as_array().unwrap());
    assert_eq!(last.len(), 900);
    for everything in begun {
        let mut state = state_of(everything["changes"].as_array().unwrap());
        state.extend(state_of(&phone.follow(everything["cursor"].as_u64().unwrap())));
        state.retain(|_, data| !data.is_null());
        assert_eq!(state, last);
    }
}

pub fn whoever_watches_is_told_at_once(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    let [phone, laptop] = ["phone", "laptop"].map(|device| service.device(&token, device));
    let stream = laptop.stream("/v1/sync/watch").unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut lines = BufReader::new(stream.into_body().into_reader()).lines().map(Result::unwrap);
    let mut told = |cursor: u64| {
        let wanted = format!("data: {{\"cursor\":{cursor}}}");
        assert!(lines.any(|line| line == wanted), "{wanted}");
    };
    told(0);
    for cursor in 1..=20 {
        phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}));
        told(cursor);
    }
}

/// Found by a user: it was given no answer, and what it had uploaded was mostly not stored. `nc -N` closes its side, and so do some load balancers.
pub fn a_client_that_closes_its_side_behind_its_request_is_answered(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let answered = |request: &str, body: &str| {
        let mut connection = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        write!(
            connection,
            "{request} HTTP/1.1\r\nhost: sync\r\nauthorization: Bearer {token}\r\nx-client: phone\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    };
    for cursor in 1..=10 {
        let upload = answered("POST /v1/sync/delta", r#"{"changes":[{"id":"a","data":"1"}]}"#);
        assert!(upload.ends_with(&format!("\"cursor\":{cursor}}}")), "{upload}");
        for path in ["/health/live", "/health/ready", "/v1/sync/delta", "/v1/sync/full"] {
            let answer = answered(&format!("GET {path}"), "");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
        }
    }
    assert_eq!(phone.follow(0).len(), 1);
}

/// Found by an attacker: a device whose token was revoked was told of changes for as long as it listened.
pub fn a_stream_ends_with_its_token_and_others_go_on(place: &Place) {
    let service = place.service(&[]);
    let [lost, kept] = ["ada", "ada"].map(|user| service.token(user));
    let stream = |token: &str, device: &str| {
        let stream = service.device(token, device).stream("/v1/sync/watch").unwrap();
        BufReader::new(stream.into_body().into_reader()).lines().map(Result::unwrap)
    };
    let (stolen, mut others) = (stream(&lost, "phone"), stream(&kept, "laptop"));
    let list = program().args(["token", "list", "--json", "--store"]).arg(&place.store).output().unwrap();
    let listed: Value = serde_json::from_slice(&list.stdout).unwrap();
    let hash = TokenHash::of(&lost).name();
    assert!(listed.as_array().unwrap().iter().any(|token| token["name"] == hash), "{listed}");
    assert!(
        program().args(["token", "revoke", &hash, "--store"]).arg(&place.store).status().unwrap().success()
    );
    assert_eq!(stolen.filter(|line| line.starts_with("data")).count(), 1, "it has an end, and was told once");
    let tablet = service.device(&kept, "tablet");
    tablet.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]}));
    assert!(others.any(|line| line == "data: {\"cursor\":1}"));
}

/// A path or a body, the status, and what the answer's words must have.
pub fn what_makes_no_sense_is_told_in_problem_details(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    let phone = service.device(&token, "phone");
    let long = "x".repeat(257);
    let long_id = json!({"changes": [{"id": long, "data": "1"}]}).to_string();
    let long_data = json!({"changes": [{"id": "a", "data": "x".repeat((1 << 20) + 1)}]}).to_string();
    let many = json!({"changes": vec![json!({"id": "a", "data": "1"}); 1_001]}).to_string();
    let bodies: &[(&str, u16, &str, &str)] = &[
        ("", 422, "malformed", "EOF"),
        ("{", 422, "malformed", "EOF"),
        ("[]", 422, "malformed", "not as it has to be"),
        ("{}", 422, "malformed", "changes"),
        (r#"{"changes":[]}"#, 422, "malformed", "has 0"),
        (r#"{"changes":[{"id":"a"}]}"#, 422, "malformed", "`changes[0]`"),
        (r#"{"changes":[{"id":"a","data":"1","deleted":true}]}"#, 422, "malformed", "not both"),
        (r#"{"changes":[{"id":"","data":"1"}]}"#, 422, "malformed", "its `id` has 0 bytes"),
        (r#"{"changes":[{"id":"a","data":1}]}"#, 422, "malformed", "expected a string"),
        (r#"{"changes":[{"id":"a","data":"1","dta":1}]}"#, 422, "malformed", "unknown field `dta`"),
        (r#"{"changes":[{"id":"a\u0000","data":""}]}"#, 422, "malformed", "U+0000"),
        (r#"[[["a","1"]]]"#, 422, "malformed", "expected an object"),
        (r#"{"changes":[["a","1"]]}"#, 422, "malformed", "expected an object"),
        (r#"{"changes":[{"id":"a","data":"1","base":-1}]}"#, 422, "malformed", "-1"),
        (r#"{"changes":[{"id":"a","data":"1"},{"id":7}]}"#, 422, "malformed", "`changes[1].id`: "),
        (r#"{"changes":[{"id":"a","data":"1"}"#, 422, "malformed", "the body is not as it has to be: EOF"),
        (r#"{"changes":[{"id":"a","data":"1","base":7}]}"#, 409, "conflict", "not at the base"),
        (r#"{"changes":[{"id":"a","data":"1"}],"history":"other"}"#, 409, "other-history", "full"),
        (&long_id, 422, "malformed", "257 bytes"),
        (&long_data, 422, "malformed", "1048577 bytes"),
        (&many, 422, "malformed", "has 1001"),
    ];
    for (body, status, kind, words) in bodies {
        let (given, problem) = phone.send("/v1/sync/delta", body.as_bytes(), &[]).unwrap();
        let shown = body.chars().take(80).collect::<String>();
        assert_eq!((given, &problem["status"]), (*status, &json!(status)), "{shown}: {problem}");
        assert_eq!(problem["type"], format!("/problems/{kind}"), "{shown}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{shown}: {problem}");
    }
    let words = format!("{{\"{}\":1}}", "é".repeat(100_000));
    let (_, problem) = phone.send("/v1/sync/delta", words.as_bytes(), &[]).unwrap();
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.ends_with('…') && detail.len() < 1_100,
        "it is not the client's own words: {}",
        detail.len()
    );
    let odd = phone.send("/v1/sync/delta", b"{}", &[("content-encoding", "gz\u{ef}p")]).unwrap();
    assert_eq!((odd.0, &odd.1["type"]), (415, &json!("/problems/media-type")));
    let paths: &[(&str, u16, &str)] = &[
        ("/v1/sync/delta?cursor=1", 409, "beyond the user's last revision"),
        ("/v1/sync/delta?cursor=-1", 422, "cursor"),
        ("/v1/sync/delta?cursor=18446744073709551616", 422, "cursor"),
        ("/v1/sync/delta?limit=0", 422, "`limit` is 0"),
        ("/v1/sync/delta?limit=1001", 422, "1 to 1000"),
        ("/v1/sync/delta?cursr=1", 422, "cursr"),
        ("/v1/sync/../clients", 404, "there is no path"),
        ("/v1/clients", 405, "no method GET"),
        ("/etc/passwd", 404, "there is no path"),
    ];
    for (path, status, words) in paths {
        let (given, problem) = phone.get(path);
        assert_eq!(given, *status, "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{path}: {problem}");
    }
    assert_eq!(phone.follow(0), Vec::<Value>::new(), "nothing of it is stored");
}

/// Found by an attacker: `2369229.0` was refused with *expected u64*, and nothing said of which number that was. `detail` says where it is, and what is
/// wanted.
pub fn a_revision_that_is_no_integer_is_told_with_its_place(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    let numbers = ["2369229.0", "1e3", "-1", "18446744073709551616", "\"7\"", "0.5"];
    for (place, body) in [
        ("`seen`: ", r#"{"changes":[{"id":"a","data":"1"}],"seen":N}"#),
        ("`changes[1].base`: ", r#"{"changes":[{"id":"a","data":"1"},{"id":"b","data":"1","base":N}]}"#),
    ] {
        for number in numbers {
            let body = body.replace('N', number);
            let (status, problem) = phone.send("/v1/sync/delta", body.as_bytes(), &[]).unwrap();
            assert_eq!((status, &problem["type"]), (422, &json!("/problems/malformed")), "{body}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            let is_said =
                detail.starts_with(place) && detail.contains("an integer from 0 to 18446744073709551615");
            assert!(is_said, "{body}: {detail}");
        }
    }
    for number in numbers.map(|number| number.replace('"', "%22")) {
        for name in ["cursor", "limit"] {
            let (status, problem) = phone.get(&format!("/v1/sync/delta?{name}={number}"));
            assert_eq!(
                (status, &problem["type"]),
                (422, &json!("/problems/malformed")),
                "{number}: {problem}"
            );
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains(&format!("{name}: it is `")) && detail.contains("an integer"),
                "{detail}"
            );
        }
    }
    let null = r#"{"changes":[{"id":"a","data":"1","base":null}]}"#;
    assert_eq!(phone.send("/v1/sync/delta", null.as_bytes(), &[]).unwrap().0, 200);
}

pub fn nobody_is_answered_without_a_token_that_is_valid(place: &Place) {
    let service = place.service(&[]);
    let token = service.token("ada");
    service.device(&token, "phone");
    let as_whom = |token: &str, device: &str| {
        let asking = Device { service: &service, token: token.into(), device: device.into() };
        asking.get("/v1/sync/delta").0
    };
    assert_eq!(
        (as_whom(&token, "phone"), as_whom("tsync_guess", "phone"), as_whom("", "phone")),
        (200, 401, 401)
    );
    assert_eq!(as_whom(&token, "laptop"), 401, "a device that is not registered");
    let [phone, tablet] = ["phone", "tablet"].map(|device| service.device(&token, device));
    let stored = |device: &Device<'_>| {
        device.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]})).0
    };
    assert_eq!([stored(&phone), stored(&phone), stored(&tablet)], [200; 3], "looked up, and found again");
    let second = service.token("ada");
    assert_eq!([as_whom(&second, "tablet"), as_whom(&second, "tablet")], [200; 2], "as well");
    let eve = service.token("eve");
    assert_eq!(as_whom(&eve, "phone"), 401, "another user's device is none of hers");
    let listed = program()
        .args(["token", "list", "--json", "--user", "ada", "--store"])
        .arg(&place.store)
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    for listed in listed.as_array().unwrap() {
        let name = listed["name"].as_str().unwrap();
        let revoked =
            program().args(["token", "revoke", name, "--store"]).arg(&place.store).status().unwrap();
        assert!(revoked.success());
    }
    assert_eq!(stored(&phone), 401, "at once");
    let broken = tablet.send("/v1/sync/delta", b"{", &[]).unwrap().0;
    assert_eq!(broken, 401, "whoever may not ask is not told what is wrong with a body");
    let asking = Device { service: &service, token: second, device: "tablet".into() };
    assert_eq!(asking.get("/v1/sync/delta?limit=0").0, 401, "nor what is wrong with a query");
    assert_eq!(as_whom(&token, "phone"), 401);
    let kept = place.bytes();
    let is_kept = |text: &[u8]| kept.windows(text.len()).any(|part| part == text);
    assert!(is_kept(b"phone"), "the newest commits are looked at");
    let secret = token.trim_start_matches("tsync_");
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!is_kept(secret.as_bytes()) && !is_kept(hex.as_bytes()), "the token is not kept");
}

/// Each took as much room as a body may have, from its first byte on: eight of them took all that a user may have.
fn bodies_of_unknown_length_take_room_as_they_come(service: &Service, tablet: &Device<'_>) {
    let begun: Vec<TcpStream> = (0..32)
        .map(|_| {
            let mut device = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
            let head = format!(
                "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nx-client: tablet\r\n\
                 content-type: application/json\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n",
                tablet.token
            );
            device.write_all(head.as_bytes()).unwrap();
            let mut line = String::new();
            BufReader::new(device.try_clone().unwrap()).read_line(&mut line).unwrap();
            assert!(line.starts_with("HTTP/1.1 100"), "{line}");
            device
        })
        .collect();
    assert_eq!(tablet.post("/v1/sync/delta", &json!({"changes": [{"id": "b", "data": ""}]})).0, 200);
    drop(begun);
}

/// Found by an attacker: nothing bounded the packed bytes of a body that did not say its length, and parts that unpack to nothing reach no limit of
/// unpacked bytes.
pub fn a_packed_body_that_unpacks_to_nothing_has_an_end(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    // A frame of zstd with nothing in it.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];
    let answer = |frames: usize, end: &str| {
        let mut connection = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        let body = frame.repeat(frames);
        write!(
            connection,
            "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nx-client: phone\r\n\
             content-type: application/json\r\ncontent-encoding: zstd\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
            phone.token,
            body.len()
        )
        .unwrap();
        connection.write_all(&body).unwrap();
        write!(connection, "\r\n{end}").unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        line
    };
    let most = (4 << 20) / frame.len();
    let whole = answer(most, "0\r\n\r\n");
    assert!(whole.starts_with("HTTP/1.1 422"), "it is as long as it may be, and no JSON: {whole}");
    let begun = answer(most + 1, "");
    assert!(begun.starts_with("HTTP/1.1 413"), "nobody waits for its end: {begun}");
}

/// Found by a reviewer: bodies of strangers took all the room, and every upload was told to come again.
pub fn a_stranger_takes_no_room_and_is_answered_before_its_body(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    let mut strangers = Vec::new();
    for _ in 0..32 {
        let mut stranger = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        let head = "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nx-client: phone\r\ncontent-type: application/json\r\n\
                    content-length: 4194304\r\n\r\n";
        stranger.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stranger.try_clone().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 401"), "{line}");
        strangers.push(stranger);
    }
    let change = json!({"changes": [{"id": "a", "data": "x".repeat(1 << 20)}]});
    assert_eq!(phone.post("/v1/sync/delta", &change).0, 200);
    let packed = phone.send("/v1/sync/delta", b"...", &[("content-encoding", "br")]).unwrap();
    assert_eq!((packed.0, &packed.1["type"]), (415, &json!("/problems/media-type")));
    let text = phone.send("/v1/sync/delta", b"...", &[("content-type", "text/plain")]).unwrap();
    assert!(text.1["detail"].as_str().unwrap().contains("`text/plain`"), "{}", text.1);
    // Found by an attacker: a user whose devices begin bodies and do not go on took the room of all users.
    let bob = service.device(&service.token("bob"), "tablet");
    let mut slow = Vec::new();
    let answered = (0..16).find_map(|_| {
        let mut device = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
        let head = format!(
            "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nx-client: phone\r\n\
             content-type: application/json\r\ncontent-length: 4194304\r\nexpect: 100-continue\r\n\r\n",
            phone.token
        );
        device.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(device.try_clone().unwrap()).read_line(&mut line).unwrap();
        slow.push(device);
        line.starts_with("HTTP/1.1 503").then_some(slow.len())
    });
    assert_eq!(answered, Some(9), "one user has half of the room");
    assert_eq!(bob.post("/v1/sync/delta", &change).0, 200);
    bodies_of_unknown_length_take_room_as_they_come(&service, &bob);
    drop(slow);
    // A body that is too long is refused before it is sent.
    let mut long = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nx-client: phone\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        phone.token,
        (4 << 20) + 1
    );
    long.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(long).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 413"), "{line}");
}

pub fn who_asks_too_much_is_told_when_to_come_again(place: &Place) {
    let service = place.service(&["--user-rate", "1", "--streams", "1"]);
    let phone = service.device(&service.token("ada"), "phone");
    let refused =
        (0..50).map(|_| phone.stream("/v1/sync/delta").unwrap()).find(|answer| answer.status() == 429);
    assert_eq!(refused.expect("fifty in a second are too many").headers()["retry-after"], "1");
    let tablet = service.device(&service.token("eve"), "tablet");
    // The registration took what the second allowed.
    let watch = || loop {
        let answer = tablet.stream("/v1/sync/watch").unwrap();
        if answer.status() != 429 {
            return answer;
        }
        std::thread::yield_now();
    };
    let open = watch();
    assert_eq!(open.status(), 200);
    let other = watch();
    assert_eq!((other.status().as_u16(), &other.headers()["retry-after"]), (503, &"1".parse().unwrap()));
}

pub fn the_service_ends_when_it_is_asked_to_and_streams_end_with_it(place: &Place) {
    let mut service = place.service(&[]);
    let token = service.token("ada");
    let stream = service.device(&token, "phone").stream("/v1/sync/watch").unwrap();
    // An upload of which half was sent is answered.
    let mut half = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
    let body = r#"{"changes":[{"id":"a","data":"1"}]}"#;
    write!(
        half,
        "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nx-client: phone\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    )
    .unwrap();
    let mut answer = BufReader::new(half.try_clone().unwrap());
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 100"), "it reads the body: {line}");
    service.signal("TERM");
    let rest: Vec<_> = BufReader::new(stream.into_body().into_reader()).lines().collect();
    assert!(rest.iter().all(Result::is_ok), "the stream has an end: {rest:?}");
    half.write_all(body.as_bytes()).unwrap();
    let status = answer.lines().map(Result::unwrap).find(|line| line.starts_with("HTTP/1.1"));
    assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"));
    assert!(service.child.wait().unwrap().success());
    let service = place.service(&[]);
    assert_eq!(service.device(&token, "phone").follow(0).len(), 1, "and kept");
}

/// A stranger is told 401, or that what it asks is not there: nothing that the document leaves out is served, nor the other way round.
fn assert_methods_are_those_that_are_served(service: &Service, paths: &Value) {
    for (path, described) in paths.as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"] {
            let mut connection = TcpStream::connect(service.address.trim_start_matches("http://")).unwrap();
            let asked = method.to_uppercase();
            write!(connection, "{asked} {path} HTTP/1.1\r\nhost: sync\r\nconnection: close\r\n\r\n").unwrap();
            let mut line = String::new();
            BufReader::new(connection).read_line(&mut line).unwrap();
            let is_served = !["404", "405"].iter().any(|status| line.contains(status));
            assert_eq!(is_served, described.get(method).is_some(), "{method} {path}: {line}");
        }
    }
}

pub fn the_document_has_every_path_and_the_program_prints_it(place: &Place) {
    let service = place.service(&[]);
    let phone = service.device(&service.token("ada"), "phone");
    let (_, served) = phone.get("/v1/openapi.json");
    let printed = program().arg("openapi").output().unwrap().stdout;
    assert_eq!(served, serde_json::from_slice::<Value>(&printed).unwrap());
    let paths: Vec<&String> = served["paths"].as_object().unwrap().keys().collect();
    for path in
        ["/v1/clients", "/v1/sync/delta", "/v1/sync/full", "/v1/sync/watch", "/health/live", "/health/ready"]
    {
        assert!(paths.iter().any(|known| *known == path), "{path}");
    }
    assert_methods_are_those_that_are_served(&service, &served["paths"]);
    assert_eq!((phone.get("/health/live").0, phone.get("/health/ready").0), (200, 200));
    // Found by schemathesis: what the document allowed was refused, and what it forbade was taken.
    let schemas = &served["components"]["schemas"];
    assert!(schemas["Registration"]["properties"]["device"]["pattern"].is_string());
    assert_eq!(schemas["Registered"]["required"], json!(["id", "user", "history"]));
    assert_eq!(schemas["Change"]["allOf"][1]["oneOf"].as_array().map(Vec::len), Some(2));
    assert_eq!(schemas["Change"]["allOf"][0]["properties"]["base"]["maximum"], json!(u64::MAX));
    let beyond = json!({"changes": [{"id": "a", "data": "1", "base": u64::MAX}]});
    assert_eq!(phone.post("/v1/sync/delta", &beyond).0, 409, "as for any other base that is none");
}
