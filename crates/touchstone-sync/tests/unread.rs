//! Clients that ask and do not read: their answers take a bounded room, and others are answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use touchstone_store::Store;
use touchstone_sync::change::{Change, Upload};
use touchstone_sync::http::App;
use touchstone_sync::identity::Open;
use touchstone_sync::limits::Limits;
use touchstone_sync::serve::{Signals, serve};
use touchstone_sync::storage::embedded::Embedded;
use touchstone_sync::storage::{Client, Storage};

/// More than the system takes of an answer that nobody reads.
const OBJECTS: u64 = 60;

fn ask(address: SocketAddr, device: &str, path: &str) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    write!(client, "GET {path} HTTP/1.1\r\nhost: x\r\nx-client: {device}\r\nconnection: close\r\n\r\n")
        .unwrap();
    client
}

fn status(address: SocketAddr, device: &str) -> String {
    let mut answer = Vec::new();
    ask(address, device, "/v1/sync/delta?limit=1").read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[9..12]).into_owned()
}

async fn device(storage: &Arc<dyn Storage>, user: &str, name: &str) -> Client {
    let account = storage.user(user).await.unwrap();
    storage.register(account, name).await.unwrap()
}

/// A service that allows no more than one answer of a user that is not read, and has objects of one.
fn served(objects: u64, data: &str) -> (SocketAddr, Runtime, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("sync.db")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Embedded::to_serve(store).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let phone = device(&storage, "ada", "phone").await;
        device(&storage, "bob", "laptop").await;
        for place in 0..objects {
            let change = Change { id: place.to_string(), data: Some(data.into()), base: None, name: None };
            storage.upload(phone, Upload { changes: vec![change], ..Upload::default() }, None).await.unwrap();
        }
    });
    let limits = Limits { user_unread_bytes: 1, ..Limits::default() };
    let app = App::new(Arc::clone(&storage), Arc::new(Open::of(storage)), limits);
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listening.local_addr().unwrap();
    runtime.spawn(async move { serve(app, listening, None, Signals::catch()?).await });
    (address, runtime, folder)
}

/// Found by an attacker: what an upload meets was told in an answer that nobody counted, of 25 MB each.
#[test]
fn who_does_not_read_what_its_uploads_meet_is_answered_no_more() {
    let (address, _runtime, _folder) = served(6, &"\u{1}".repeat(690_000));
    let changes: Vec<_> =
        (0..6).map(|place| format!("{{\"id\":\"{place}\",\"data\":\"\",\"base\":0}}")).collect();
    let body = format!("{{\"changes\":[{}]}}", changes.join(","));
    let mut unread = TcpStream::connect(address).unwrap();
    write!(
        unread,
        "POST /v1/sync/delta HTTP/1.1\r\nhost: x\r\nx-client: phone\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut status_line = [0; 12];
    unread.read_exact(&mut status_line).unwrap();
    assert_eq!(status_line, *b"HTTP/1.1 409");
    assert_eq!((status(address, "phone").as_str(), status(address, "laptop").as_str()), ("503", "200"));
    drop(unread);
    while status(address, "phone") != "200" {}
}

#[test]
fn who_does_not_read_is_answered_no_more_until_it_does_and_others_are() {
    let (address, _runtime, _folder) = served(OBJECTS, &"x".repeat(1_000_000));
    let unread = ask(address, "phone", "/v1/sync/full");
    while status(address, "phone") != "503" {}
    assert_eq!(status(address, "laptop"), "200", "another user");
    drop(unread);
    while status(address, "phone") != "200" {}
}
