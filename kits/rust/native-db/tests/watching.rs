//! The driver keeps objects and tells of each that changes, once; what it cannot watch it says.

#[path = "../../drivers/tests/lab/mod.rs"]
mod lab;

use lab::{Session, lane};
use touchstone_protocol::{
    DeliveryDigest, Depth, Doc, FailureKind, Lane, RecordKind, Reply, Request, Run, Schema, Settings,
    Subscription, Verb, record_crc32, write_dataset, write_subscriptions,
};

const DOCS: u64 = 20;
const WATCHED: u64 = 5;

fn doc(number: u64, tag: &str) -> Doc {
    Doc {
        title: format!("title{number}"),
        tag: tag.into(),
        priority: Some(-(number as i64)),
        ..Doc::default()
    }
}

#[test]
fn every_observer_is_told_once_of_each_transaction_that_changes_its_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let docs: Vec<Doc> = (0..DOCS).map(|number| doc(number, "old")).collect();
    // Each transaction changes one object that is watched and one that is not.
    let states: Vec<Doc> =
        (0..WATCHED).flat_map(|number| [doc(number, "new"), doc(number + 10, "new")]).collect();
    let mut subscriptions: Vec<Subscription> =
        (0..WATCHED).map(|number| Subscription::Object { title: format!("title{number}") }).collect();
    subscriptions.push(Subscription::One { title: "title0".into() });
    write_dataset(&path("docs"), &docs).unwrap();
    write_dataset(&path("states"), &states).unwrap();
    write_subscriptions(&path("subscriptions"), &subscriptions).unwrap();
    let mut session = Session::start(env!("CARGO_BIN_EXE_native_db"), &[]);
    let capabilities = session.hello().capabilities;
    assert!(capabilities.contains(&"doc.watch-object".to_owned()), "{capabilities:?}");
    assert!(!capabilities.contains(&"doc.watch-window".to_owned()), "{capabilities:?}");
    session.ask(&Request::Prepare {
        record: RecordKind::Doc,
        dataset: path("docs"),
        operations: None,
        states: Some(path("states")),
        subscriptions: Some(path("subscriptions")),
    });
    session.open(Request::Open {
        directory: folder.path().to_owned(),
        record: RecordKind::Doc,
        schema: Schema { create: true, tables: 1, indexes: Vec::new(), ..Schema::default() },
        settings: Settings::new(),
    });
    assert_eq!(session.ask(&Request::Fill { from: 0, count: DOCS, table: 1 }), Reply::Fill);
    let Reply::Error(refused) = session.ask(&Request::Watch { count: WATCHED + 1 }) else {
        panic!("a query cannot be watched")
    };
    assert_eq!(refused.kind, FailureKind::Unsupported);
    assert_eq!(session.ask(&Request::Watch { count: WATCHED }), Reply::Watch);
    let mut digest = DeliveryDigest::default();
    for number in 0..WATCHED {
        let crc = record_crc32(&doc(number, "new"), &mut Vec::new());
        digest.add(number as u32, number as u32, &[crc]);
    }
    let deliver = Lane { changes: Some(2), depth: Some(Depth::Diff), ..lane(Verb::Deliver, 0, WATCHED) };
    let sample = session.run(&[deliver]).lanes.remove(0);
    assert_eq!((sample.answers, sample.digest), (WATCHED, digest.to_string()));
    assert_eq!(sample.delivery.unwrap().differing, 0);
    let mut digest = DeliveryDigest::default();
    for number in 0..WATCHED {
        let crc = record_crc32(&doc(number, "new"), &mut Vec::new());
        digest.add(number as u32, number as u32, &[crc]);
    }
    let sample = session.run(&[lane(Verb::Subscribe, 0, WATCHED)]).lanes.remove(0);
    assert_eq!((sample.answers, sample.digest), (WATCHED, digest.to_string()));
    let lanes = vec![lane(Verb::Subscribe, 0, WATCHED + 1)];
    let Reply::Error(refused) = session.ask(&Request::Run(Run::of(lanes))) else {
        panic!("a subscription to a query cannot be begun")
    };
    assert_eq!(refused.kind, FailureKind::Unsupported);
    assert_eq!(session.ask(&Request::Quit), Reply::Quit);
    assert!(session.end().success());
}
