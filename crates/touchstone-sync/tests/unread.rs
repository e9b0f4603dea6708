//! Clients that ask and do not read: their answers take a bounded room, and others are answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use touchstone_store::Store;
use touchstone_sync::change::{Change, Upload};
use touchstone_sync::http::App;
use touchstone_sync::identity::Tokens;
use touchstone_sync::limits::Limits;
use touchstone_sync::serve::{Signals, serve};
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::embedded::Embedded;
use touchstone_sync::token::Token;

/// More than the system takes of an answer that nobody reads.
const OBJECTS: u64 = 60;

/// A service that allows no more than one answer of a user that is not read.
struct Served {
    address: SocketAddr,
    /// Of ada, who has the device `phone` and some objects, and of bob, who has the device `laptop`.
    tokens: [Token; 2],
    _runtime: Runtime,
    _folder: TempDir,
}

/// A service with so many objects of ada.
fn served(objects: u64, data: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("sync.db")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Embedded::to_serve(store).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let tokens = [Token::make().unwrap(), Token::make().unwrap()];
    runtime.block_on(async {
        let [ada, bob] = [storage.user("ada").await.unwrap(), storage.user("bob").await.unwrap()];
        let phone = storage.register(ada, "phone").await.unwrap();
        storage.register(bob, "laptop").await.unwrap();
        for (account, token) in [ada, bob].into_iter().zip(&tokens) {
            storage.keep_token(account, &token.hash(), 0, None).await.unwrap();
        }
        for place in 0..objects {
            let change = Change { id: place.to_string(), data: Some(data.into()), base: None, name: None };
            storage.upload(phone, Upload { changes: vec![change], ..Upload::default() }, None).await.unwrap();
        }
    });
    let limits = Limits { user_unread_bytes: 1, ..Limits::default() };
    let app = App::new(Arc::clone(&storage), Arc::new(Tokens::of(storage)), limits);
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listening.local_addr().unwrap();
    runtime.spawn(async move { serve(app, listening, None, Signals::catch()?).await });
    Served { address, tokens, _runtime: runtime, _folder: folder }
}

impl Served {
    /// Sends what a device asks, and does not read the answer.
    fn ask(&self, device: &str, request: &str, more: &str) -> TcpStream {
        let token = if device == "laptop" { &self.tokens[1] } else { &self.tokens[0] }.reveal();
        let mut client = TcpStream::connect(self.address).unwrap();
        write!(
            client,
            "{request} HTTP/1.1\r\nhost: x\r\nx-client: {device}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{more}"
        )
        .unwrap();
        client
    }

    fn get(&self, device: &str, path: &str) -> TcpStream {
        self.ask(device, &format!("GET {path}"), "\r\n")
    }

    fn status_of(&self, device: &str, path: &str) -> String {
        let mut answer = Vec::new();
        self.get(device, path).read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[9..12]).into_owned()
    }

    /// The status of a small page.
    fn status(&self, device: &str) -> String {
        self.status_of(device, "/v1/sync/delta?limit=1")
    }
}

/// Found by an attacker: what an upload meets was told in an answer that nobody counted, of 25 MB each.
#[test]
fn who_does_not_read_what_its_uploads_meet_is_answered_no_more() {
    let served = served(6, &"\u{1}".repeat(690_000));
    let changes: Vec<_> =
        (0..6).map(|place| format!("{{\"id\":\"{place}\",\"data\":\"\",\"base\":0}}")).collect();
    let body = format!("{{\"changes\":[{}]}}", changes.join(","));
    let more = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut unread = served.ask("phone", "POST /v1/sync/delta", &more);
    let mut status_line = [0; 12];
    unread.read_exact(&mut status_line).unwrap();
    assert_eq!(status_line, *b"HTTP/1.1 409");
    assert_eq!((served.status("phone").as_str(), served.status("laptop").as_str()), ("503", "200"));
    drop(unread);
    while served.status("phone") != "200" {}
}

/// Found by an attacker: uploads that are repeated at once give back at once what each has once overwritten, and took gigabytes.
#[test]
fn who_repeats_an_upload_and_does_not_read_what_it_gives_back_is_answered_once() {
    let served = served(6, &"\u{1}".repeat(690_000));
    let ask = |device: &str, body: &str| {
        let path = if body.contains("device") { "POST /v1/clients" } else { "POST /v1/sync/delta" };
        let head = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        served.ask(device, path, &head)
    };
    let status = |answer: &mut TcpStream| {
        let mut line = [0; 12];
        answer.read_exact(&mut line).unwrap();
        String::from_utf8_lossy(&line[9..]).into_owned()
    };
    assert_eq!(status(&mut ask("phone", "{\"device\":\"tablet\"}")), "200");
    let changes: Vec<_> =
        (0..6).map(|place| format!("{{\"id\":\"{place}\",\"data\":\"\",\"change\":\"{place}\"}}")).collect();
    let body = format!("{{\"changes\":[{}]}}", changes.join(","));
    let mut unread: Vec<_> = (0..20).map(|_| ask("tablet", &body)).collect();
    let mut statuses: Vec<_> = unread.iter_mut().map(status).collect();
    statuses.sort();
    assert_eq!((statuses[0].as_str(), statuses[1].as_str(), statuses.len()), ("200", "503", 20));
    assert_eq!(served.status("laptop"), "200", "another user");
    drop(unread);
    while served.status("phone") != "200" {}
    let mut again = ask("tablet", &body);
    assert_eq!(status(&mut again), "200");
    let mut text = String::new();
    again.read_to_string(&mut text).unwrap();
    assert!(text.contains("\"revisions\":[7,8,9,10,11,12]"), "it was stored once");
}

#[test]
fn who_does_not_read_is_answered_no_more_until_it_does_and_others_are() {
    let served = served(OBJECTS, &"x".repeat(1_000_000));
    let unread = served.get("phone", "/v1/sync/full");
    while served.status("phone") != "503" {}
    assert_eq!(served.status("laptop"), "200", "another user");
    // The list of devices is an answer too. The system's buffers may take some more of the first one meanwhile.
    while served.status_of("phone", "/v1/devices") != "503" {}
    assert_eq!(served.status_of("laptop", "/v1/devices"), "200");
    drop(unread);
    while served.status("phone") != "200" {}
    assert_eq!(served.status_of("phone", "/v1/devices"), "200");
}

/// Parts of everything are not refused: they wait until those before them are read, of other answers too.
#[test]
fn streams_of_everything_wait_for_each_other_and_each_is_whole() {
    let served = served(OBJECTS, &"x".repeat(1_000_000));
    let begun: Vec<_> = (0..6).map(|_| served.get("phone", "/v1/sync/full")).collect();
    while served.status("phone") != "503" {}
    let read = |mut answer: TcpStream| {
        let mut text = String::new();
        answer.read_to_string(&mut text).unwrap();
        text
    };
    let reading: Vec<_> = begun.into_iter().map(|answer| std::thread::spawn(move || read(answer))).collect();
    let answers: Vec<_> = reading.into_iter().map(|answer| answer.join().unwrap()).collect();
    let (whole, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|text| text.starts_with("HTTP/1.1 200"));
    assert!(!whole.is_empty());
    for text in whole {
        assert_eq!(text.matches("\"revision\":").count() as u64, OBJECTS);
        assert!(text.contains(&format!("\"cursor\":{OBJECTS}}}")), "{}", &text[text.len() - 200..]);
    }
    assert!(refused.iter().all(|text| text.starts_with("HTTP/1.1 503")), "{refused:?}");
}
