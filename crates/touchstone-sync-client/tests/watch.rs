//! A watch: what comes from others and what is edited here is shared at once, whatever becomes of the stream.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use support::{COMES_WITHIN, Fault, Hosted, quick, shown, texts};
use touchstone_sync_client::{ErrorKind, Event, Replica, Watching};

/// A watch, and what it tells.
fn watch(replica: &Replica) -> (Watching, Receiver<Event>) {
    let (tell, told): (Sender<Event>, _) = channel();
    let watching = replica.watch(move |event| drop(tell.send(event))).unwrap();
    (watching, told)
}

/// Waits until an event is as it should be.
fn until(told: &Receiver<Event>, is_it: impl Fn(&Event) -> bool) {
    while !is_it(&told.recv_timeout(COMES_WITHIN).expect("it is told in time")) {}
}

fn until_shown(told: &Receiver<Event>, replica: &Replica, id: &str, data: &str) {
    until(told, |_| replica.get(id).unwrap().as_deref() == Some(data));
}

#[test]
fn what_one_device_edits_is_shown_by_the_other_at_once() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    let ((phones, phone_told), (laptops, laptop_told)) = (watch(&phone), watch(&laptop));
    for place in 0..10 {
        phone.put("a", &format!("phone {place}")).unwrap();
        until_shown(&laptop_told, &laptop, "a", &format!("phone {place}"));
        laptop.put("b", &format!("laptop {place}")).unwrap();
        until_shown(&phone_told, &phone, "b", &format!("laptop {place}"));
    }
    phones.stop().unwrap();
    laptops.stop().unwrap();
    assert_eq!(shown(&phone), texts([("a", "phone 9"), ("b", "laptop 9")]));
}

#[test]
fn edits_of_another_opening_of_the_file_are_sent_too() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    let (watching, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Synced(_)));
    // As a command has it that is run while another watches.
    hosted.copy("phone").put("a", "1").unwrap();
    until(&told, |event| matches!(event, Event::Synced(synced) if synced.sent == 1));
    laptop.sync().unwrap();
    assert_eq!(shown(&laptop), texts([("a", "1")]));
    watching.stop().unwrap();
}

#[test]
fn a_stream_that_ends_is_begun_anew() {
    let hosted = Hosted::start();
    let laptop = hosted.options().retry(quick(1)).open(hosted.path("laptop")).unwrap();
    let phone = hosted.copy("phone");
    let (watching, told) = watch(&laptop);
    for place in 0..5 {
        until(&told, |event| matches!(event, Event::Synced(_)));
        phone.put("a", &place.to_string()).unwrap();
        phone.sync().unwrap();
        until_shown(&told, &laptop, "a", &place.to_string());
        hosted.end_streams();
        until(&told, |event| matches!(event, Event::Away(_)));
        phone.put("b", &place.to_string()).unwrap();
        phone.sync().unwrap();
        until_shown(&told, &laptop, "b", &place.to_string());
        // For the next round's first wait.
        laptop.put("c", &place.to_string()).unwrap();
    }
    watching.stop().unwrap();
}

#[test]
fn a_service_that_is_away_is_asked_until_it_is_back() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    phone.put("a", "1").unwrap();
    hosted.faults(&[Fault::Busy, Fault::LosesRequest, Fault::LosesAnswer, Fault::Busy, Fault::LosesAnswer]);
    let (watching, told) = watch(&phone);
    for _ in 0..5 {
        until(&told, |event| matches!(event, Event::Away(_)));
    }
    until(&told, |event| matches!(event, Event::Synced(_)));
    assert_eq!(phone.pending().unwrap(), 0);
    watching.stop().unwrap();
}

#[test]
fn a_watch_that_is_dropped_ends_and_so_does_one_whose_token_is_revoked() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let (dropped, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Synced(_)));
    drop(dropped);
    while told.recv_timeout(COMES_WITHIN).is_ok() {}
    let (revoked, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Synced(_)));
    hosted.revoke();
    phone.put("a", "1").unwrap();
    assert_eq!(revoked.wait().unwrap_err().kind(), ErrorKind::Unauthenticated);
}

/// Found by a user: whoever only listened was never told that nothing more would come.
#[test]
fn the_last_that_a_watch_tells_is_what_has_ended_it() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let (watching, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Synced(_)));
    hosted.revoke();
    hosted.end_streams();
    let mut last = None;
    // The watch lets go of its function when it has ended.
    loop {
        match told.recv_timeout(COMES_WITHIN) {
            Ok(event) => assert!(last.replace(event).is_none_or(|event| !matches!(event, Event::Ended(_)))),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("it ends in time"),
        }
    }
    let Some(Event::Ended(error)) = last else { panic!("{last:?}") };
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(watching.wait().unwrap_err().to_string(), error.to_string());
}

/// Another function than the watch's own: that one would wait for ever.
#[test]
fn a_watch_that_ends_with_a_panic_of_another_function_tells_so() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    laptop.put("a", "theirs").unwrap();
    laptop.sync().unwrap();
    let options = hosted.options().device("phone").on_conflict(|_| panic!("the program's mistake"));
    let phone = options.open(hosted.path("phone")).unwrap();
    phone.put("a", "mine").unwrap();
    let (watching, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Ended(error) if error.kind() == ErrorKind::Program));
    let panic = catch_unwind(AssertUnwindSafe(|| watching.wait())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the program's mistake"));
    assert_eq!((phone.get("a").unwrap().as_deref(), phone.pending().unwrap()), (Some("mine"), 1));
}

/// One that is stopped ends by the program's own wish.
#[test]
fn a_watch_that_is_stopped_tells_no_end() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let (watching, told) = watch(&phone);
    until(&told, |event| matches!(event, Event::Synced(_)));
    watching.stop().unwrap();
    assert!(told.iter().all(|event| !matches!(event, Event::Ended(_))));
}

#[test]
fn a_function_that_panics_ends_its_watch_and_its_panic_goes_on_in_whoever_waits() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let watching = phone.watch(|_| panic!("the program's mistake")).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| watching.wait())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the program's mistake"));
    phone.put("a", "1").unwrap();
    assert_eq!(phone.sync().unwrap().sent, 1, "the copy is as it was");
}

#[test]
fn a_function_that_ends_its_own_watch_does_not_wait_for_itself() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    for ends in [Watching::stop, Watching::wait] {
        let place: Arc<Mutex<Option<Watching>>> = Arc::default();
        let (own, (tell, told)) = (Arc::clone(&place), channel());
        let mut held = place.lock().unwrap();
        let watching = phone.watch(move |_| {
            let watching = own.lock().unwrap().take().expect("it is told once");
            tell.send(ends(watching).is_ok()).unwrap();
        });
        *held = Some(watching.unwrap());
        drop(held);
        assert_eq!(told.recv_timeout(COMES_WITHIN), Ok(true));
        // The watch has let go of its function, so it has ended.
        assert_eq!(told.recv_timeout(COMES_WITHIN), Err(RecvTimeoutError::Disconnected));
    }
}
