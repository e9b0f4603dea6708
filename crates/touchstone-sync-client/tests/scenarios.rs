//! A copy and its service, one story each: what is lost, refused, restored, forgotten or decided.

mod support;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use support::{Fault, Hosted, quick, shown, texts};
use touchstone_sync::limits::Limits;
use touchstone_sync_client::{Conflict, Displaced, ErrorKind, Item, Options, Replica, Resolution, Service};

#[test]
fn two_devices_share_what_each_of_them_has_made() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    phone.put("list/1", "milk").unwrap();
    laptop.put("list/2", "bread").unwrap();
    assert_eq!((shown(&phone), phone.pending().unwrap()), (texts([("list/1", "milk")]), 1));
    assert_eq!(phone.sync().unwrap().sent, 1);
    laptop.sync().unwrap();
    phone.sync().unwrap();
    let both = texts([("list/1", "milk"), ("list/2", "bread")]);
    assert_eq!((shown(&phone), shown(&laptop)), (both.clone(), both));
    phone.delete("list/2").unwrap();
    assert_eq!(phone.get("list/2").unwrap(), None);
    phone.sync().unwrap();
    laptop.sync().unwrap();
    assert_eq!(shown(&laptop), texts([("list/1", "milk")]));
    assert_eq!(laptop.store().all::<Item>().unwrap().len(), 1, "a deletion leaves no row");
}

#[test]
fn edits_of_one_object_that_wait_are_sent_as_one_in_the_order_of_the_last() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    for text in ["m", "mi", "mil"] {
        phone.put("a", text).unwrap();
    }
    phone.put("b", "of a").unwrap();
    phone.put("a", "milk").unwrap();
    assert_eq!(phone.pending().unwrap(), 2);
    phone.sync().unwrap();
    let stored: Vec<_> =
        hosted.stored().into_iter().map(|stored| (stored.id, stored.data.unwrap())).collect();
    assert_eq!(stored, [("b".into(), "of a".into()), ("a".into(), "milk".into())]);
}

#[test]
fn more_edits_than_an_upload_takes_are_sent_in_parts() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    let long = "\"".repeat(600_000);
    for place in 0..1_100 {
        phone.put(&format!("{place:04}"), if place % 100 == 0 { &long } else { "short" }).unwrap();
    }
    let synced = phone.sync().unwrap();
    assert_eq!((synced.sent, synced.refused), (1_100, 0));
    assert_eq!(laptop.sync().unwrap().fetched, 1_100);
    assert_eq!(shown(&laptop), shown(&phone));
}

/// The answer to an upload is lost, and the program ends: the next one sends it again, and nothing is stored twice.
#[test]
fn an_upload_whose_answer_is_lost_is_applied_once_though_the_program_ends() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    hosted.copy("phone").sync().unwrap();
    hosted.copy("phone").put("a", "1").unwrap();
    // The first is asked whose the token is.
    hosted.faults(&[Fault::None, Fault::LosesAnswer]);
    let error = hosted.copy("phone").sync().unwrap_err();
    assert!(error.passes() && error.kind() == ErrorKind::Away, "{error}");
    laptop.sync().unwrap();
    laptop.put("a", "2").unwrap();
    laptop.sync().unwrap();
    hosted.copy("phone").put("b", "3").unwrap();
    let phone = hosted.copy("phone");
    assert_eq!(phone.sync().unwrap().sent, 2);
    assert_eq!(shown(&phone), texts([("a", "2"), ("b", "3")]), "the laptop's came after the phone's");
    let revisions: Vec<_> = hosted.stored().into_iter().map(|stored| stored.revision).collect();
    assert_eq!(revisions, [1, 1, 2, 3], "the first was answered twice and stored once");
}

/// The disk has a store as it was when its log was flushed last. Everything after that is lost, also the answer to the upload.
#[test]
fn an_edit_is_on_the_disk_before_the_service_has_it_so_a_loss_of_power_parts_no_device_from_the_others() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    let phone = hosted.copy("phone");
    phone.put("a", "1").unwrap();
    phone.sync().unwrap();
    phone.put("a", "2").unwrap();
    let (flushed, beside) = (phone.store().flushes(), hosted.path("beside"));
    hosted.faults(&[Fault::LosesAnswer]);
    phone.sync().unwrap_err();
    assert!(phone.store().flushes() > flushed, "the edit was sent, and is not on the disk");
    phone.store().backup(&beside).unwrap();
    phone.sync().unwrap();
    // Sent again by another start of the program, which does not know whether the first one has flushed it.
    let phone = hosted.copy("beside");
    phone.sync().unwrap();
    assert!(phone.store().flushes() > 0, "the edit was sent again, and may not be on the disk");
    laptop.sync().unwrap();
    let expected = texts([("a", "2")]);
    assert_eq!((shown(&phone), shown(&laptop), phone.pending().unwrap()), (expected.clone(), expected, 0));
}

#[test]
fn a_copy_whose_store_outlives_no_loss_of_power_is_synced_all_the_same() {
    let hosted = Hosted::start();
    let store = touchstone_store::Options::new().durability(touchstone_store::Durability::Process);
    let phone = hosted.options().store(store).open(hosted.path("phone")).unwrap();
    phone.put("a", "1").unwrap();
    assert_eq!((phone.sync().unwrap().sent, phone.store().flushes()), (1, 0));
}

#[test]
fn a_service_that_is_away_is_asked_again_and_one_that_refuses_is_not() {
    let hosted = Hosted::start();
    let patient = hosted.options().retry(quick(4)).open(hosted.path("patient")).unwrap();
    hosted.faults(&[Fault::Busy, Fault::LosesRequest, Fault::LosesAnswer]);
    patient.sync().unwrap();
    hosted.faults(&[Fault::Busy; 4]);
    let before = hosted.asked().len();
    assert!(patient.sync().unwrap_err().passes());
    assert_eq!(hosted.asked().len() - before, 4);
    hosted.revoke();
    let before = hosted.asked().len();
    let error = patient.sync().unwrap_err();
    assert_eq!((error.kind(), hosted.asked().len() - before), (ErrorKind::Unauthenticated, 1), "{error}");
    assert!(error.to_string().contains("the token is unknown"), "{error}");
}

#[test]
fn a_service_with_too_much_to_do_says_when_to_come_back() {
    let hosted = Hosted::limited(Limits { user_rate: NonZeroU32::new(1), ..Limits::default() });
    let phone = hosted.copy("phone");
    let refused = (0..10).find_map(|_| phone.sync().err()).expect("it asks more often than is allowed");
    assert_eq!(refused.kind(), ErrorKind::Away);
    assert_eq!(refused.retry_after(), Some(std::time::Duration::from_secs(1)));
}

/// A copy that tells of what is displaced, and what it was told.
fn telling(hosted: &Hosted, name: &str) -> (Replica, Arc<Mutex<Vec<Displaced>>>) {
    let told: Arc<Mutex<Vec<Displaced>>> = Arc::default();
    let tell = Arc::clone(&told);
    let options = hosted.options().on_displaced(move |displaced| tell.lock().unwrap().push(displaced));
    (options.open(hosted.path(name)).unwrap(), told)
}

#[test]
fn the_last_writer_wins_and_is_told_of_what_it_has_overwritten() {
    let hosted = Hosted::start();
    let (phone, told) = telling(&hosted, "phone");
    let laptop = hosted.copy("laptop");
    phone.sync().unwrap();
    laptop.put("a", "the laptop's").unwrap();
    laptop.sync().unwrap();
    phone.put("a", "the phone's").unwrap();
    assert_eq!(phone.sync().unwrap().overwritten, 1);
    laptop.sync().unwrap();
    assert_eq!(shown(&laptop), texts([("a", "the phone's")]));
    let overwritten = Displaced::Overwritten { id: "a".into(), data: Some("the laptop's".into()) };
    assert_eq!(*told.lock().unwrap(), [overwritten]);
    // What it knew it may overwrite without a word.
    phone.put("a", "again").unwrap();
    assert_eq!(phone.sync().unwrap().overwritten, 0);
}

#[test]
fn what_the_program_was_not_told_of_before_it_ended_it_is_told_of_later() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    let fails = hosted.options().on_displaced(|_| panic!("the program ends here"));
    let phone = fails.open(hosted.path("phone")).unwrap();
    phone.sync().unwrap();
    laptop.put("a", "the laptop's").unwrap();
    laptop.sync().unwrap();
    phone.put("a", "the phone's").unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| phone.sync())).is_err());
    drop(phone);
    let (phone, told) = telling(&hosted, "phone");
    phone.sync().unwrap();
    phone.sync().unwrap();
    assert_eq!(told.lock().unwrap().len(), 1);
}

/// The laptop makes the object, and the phone, which does not know of it, makes it too and overwrites that.
fn overwrite(laptop: &Replica, phone: &Replica, id: &str) {
    laptop.put(id, "the laptop's").unwrap();
    laptop.sync().unwrap();
    phone.put(id, "the phone's").unwrap();
    phone.sync().unwrap();
}

/// While one tells of the first, another tells of it too, and notes a second: that is not forgotten with the first.
#[test]
fn what_is_displaced_while_another_tells_is_told_of_too() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    let (beside, told) = telling(&hosted, "phone");
    let is_first = AtomicBool::new(true);
    let (others, mine) = (hosted.copy("laptop"), Arc::clone(&told));
    let ends = hosted.options().on_displaced(|_| panic!("the program ends here"));
    let ends = ends.open(hosted.path("phone")).unwrap();
    let slow = hosted.options().on_displaced(move |displaced| {
        if is_first.swap(false, Ordering::SeqCst) {
            beside.sync().unwrap();
            catch_unwind(AssertUnwindSafe(|| overwrite(&others, &ends, "b"))).unwrap_err();
        }
        mine.lock().unwrap().push(displaced);
    });
    let phone = slow.open(hosted.path("phone")).unwrap();
    phone.sync().unwrap();
    overwrite(&laptop, &phone, "a");
    phone.sync().unwrap();
    let told: BTreeSet<String> = told.lock().unwrap().iter().map(object).collect();
    assert_eq!(told, BTreeSet::from(["a".into(), "b".into()]));
}

fn object(displaced: &Displaced) -> String {
    match displaced {
        Displaced::Overwritten { id, .. } | Displaced::Refused { id, .. } => id.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_function_that_is_told_and_syncs_is_told_once_of_each() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    let copy: Arc<OnceLock<Replica>> = Arc::default();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (syncing, tell, others) = (Arc::clone(&copy), Arc::clone(&told), hosted.copy("laptop"));
    let telling = hosted.options().on_displaced(move |displaced| {
        tell.lock().unwrap().push(object(&displaced));
        let times = tell.lock().unwrap().len();
        assert!(times <= 2, "it is told again of what it is being told of");
        let phone = syncing.get().unwrap();
        if times == 1 {
            overwrite(&others, phone, "b");
        }
        phone.sync().unwrap();
    });
    let phone = copy.get_or_init(|| telling.open(hosted.path("phone")).unwrap());
    phone.sync().unwrap();
    overwrite(&laptop, phone, "a");
    assert_eq!(*told.lock().unwrap(), ["a", "b"], "the second within the same sync");
}

/// What the program is asked, and what it answers: a copy that decides by a function.
fn deciding(
    hosted: &Hosted,
    name: &str,
    decide: impl Fn(&Conflict) -> Resolution + Send + Sync + 'static,
) -> Replica {
    hosted.options().on_conflict(decide).open(hosted.path(name)).unwrap()
}

#[test]
fn the_program_decides_what_becomes_of_a_conflict() {
    let cases = [
        (Resolution::Mine, "mine"),
        (Resolution::Theirs, "theirs"),
        (Resolution::Merged(Some("both".into())), "both"),
        (Resolution::Merged(None), ""),
    ];
    for (resolution, expected) in cases {
        let hosted = Hosted::start();
        let asked: Arc<Mutex<Vec<Conflict>>> = Arc::default();
        let asking = Arc::clone(&asked);
        let phone = deciding(&hosted, "phone", move |conflict| {
            asking.lock().unwrap().push(conflict.clone());
            resolution.clone()
        });
        let laptop = hosted.copy("laptop");
        phone.put("a", "base").unwrap();
        phone.put("b", "not in conflict").unwrap();
        phone.sync().unwrap();
        laptop.sync().unwrap();
        laptop.put("a", "theirs").unwrap();
        laptop.sync().unwrap();
        phone.put("a", "mine").unwrap();
        phone.delete("b").unwrap();
        assert_eq!(phone.sync().unwrap().conflicts, 1);
        laptop.sync().unwrap();
        let expected = if expected.is_empty() { texts([]) } else { texts([("a", expected)]) };
        assert_eq!(
            (shown(&phone), shown(&laptop), phone.pending().unwrap()),
            (expected.clone(), expected, 0)
        );
        let text = |text: &str| Some(text.to_owned());
        let conflict =
            Conflict { id: "a".into(), base: text("base"), mine: text("mine"), theirs: text("theirs") };
        assert_eq!(*asked.lock().unwrap(), [conflict]);
    }
}

#[test]
fn nobody_is_asked_where_both_have_made_the_same_or_one_only_was_changed() {
    let hosted = Hosted::start();
    let phone = deciding(&hosted, "phone", |conflict| panic!("{conflict:?}"));
    let laptop = hosted.copy("laptop");
    for device in [&laptop, &phone] {
        device.put("same", "milk").unwrap();
        device.sync().unwrap();
    }
    // Deleted by the one, forgotten by the service, and made again by the other.
    laptop.delete("same").unwrap();
    laptop.sync().unwrap();
    phone.sync().unwrap();
    phone.put("same", "bread").unwrap();
    phone.sync().unwrap();
    laptop.sync().unwrap();
    assert_eq!(shown(&laptop), texts([("same", "bread")]));
}

#[test]
fn an_object_that_is_edited_while_the_program_decides_is_asked_about_again() {
    let hosted = Hosted::start();
    let laptop = hosted.copy("laptop");
    laptop.put("a", "theirs").unwrap();
    laptop.sync().unwrap();
    let editor = hosted.copy("phone");
    let times = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&times);
    let phone = deciding(&hosted, "phone", move |conflict| {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            editor.put("a", "edited meanwhile").unwrap();
        }
        Resolution::Merged(conflict.mine.as_ref().map(|mine| format!("{mine}, and theirs")))
    });
    phone.put("a", "mine").unwrap();
    phone.sync().unwrap();
    laptop.sync().unwrap();
    assert_eq!(times.load(Ordering::SeqCst), 2);
    assert_eq!(shown(&laptop), texts([("a", "edited meanwhile, and theirs")]));
}

#[test]
fn an_edit_that_the_service_does_not_take_holds_up_no_other() {
    let limits = Limits { data_bytes: 100, body_bytes: 2_000, ..Limits::default() };
    let hosted = Hosted::limited(limits);
    let (phone, told) = telling(&hosted, "phone");
    phone.put("a", "short").unwrap();
    phone.sync().unwrap();
    let [too_long, far_too_long] = [101, 3_000].map(|length| "x".repeat(length));
    phone.put("a", &too_long).unwrap();
    phone.put("b", &far_too_long).unwrap();
    for place in 0..50 {
        phone.put(&format!("c{place}"), "short").unwrap();
    }
    let synced = phone.sync().unwrap();
    assert_eq!((synced.sent, synced.refused, phone.pending().unwrap()), (50, 2, 0));
    assert_eq!(phone.get("a").unwrap().as_deref(), Some("short"), "it is what the service has");
    assert_eq!(phone.get("b").unwrap(), None);
    let told = told.lock().unwrap();
    for (id, data, words) in [("a", &too_long, "100 are taken"), ("b", &far_too_long, "2000")] {
        let is_told = |displaced: &Displaced| match displaced {
            Displaced::Refused { id: of, data: Some(refused), why } => {
                of == id && refused == data && why.contains(words)
            }
            _ => false,
        };
        assert!(told.len() == 2 && told.iter().any(is_told), "{id}: {told:?}");
    }
}

/// The answer was lost, and then the owner of the service allows less: the edit is refused, and was stored all the same.
#[test]
fn an_edit_that_is_refused_after_it_was_stored_is_shown_by_all() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    phone.sync().unwrap();
    phone.put("a", "long enough").unwrap();
    hosted.faults(&[Fault::LosesAnswer]);
    phone.sync().unwrap_err();
    hosted.limit(Limits { data_bytes: 5, ..Limits::default() });
    assert_eq!(phone.sync().unwrap().refused, 1);
    phone.sync().unwrap();
    laptop.sync().unwrap();
    let stored = texts([("a", "long enough")]);
    assert_eq!((shown(&phone), shown(&laptop)), (stored.clone(), stored));
}

#[test]
fn what_no_service_takes_is_refused_when_it_is_edited() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let long = "x".repeat((1 << 20) + 1);
    for (id, data, words) in [
        ("", "1", "has 0 bytes"),
        (&long[..257], "1", "has 257 bytes"),
        ("a\0", "1", "U+0000"),
        ("a", &long, "1048576 are taken"),
    ] {
        let error = phone.put(id, data).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Edit);
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!((shown(&phone), phone.pending().unwrap()), (texts([]), 0));
}

#[test]
fn what_could_never_be_asked_is_told_when_the_copy_is_opened() {
    let hosted = Hosted::start();
    let open = |options: Options| options.open(hosted.path("never")).unwrap_err();
    for (url, token, words) in [
        ("sync.example.org", "tsync_1", "give one such as"),
        ("https://sync.example.org", "", "the token is empty"),
        ("https://sync.example.org", "tsync_\n1", "has characters"),
    ] {
        let error = open(Options::new(Service::new(url, token)));
        assert!(error.kind() == ErrorKind::Setting && error.to_string().contains(words), "{error}");
    }
    let error = open(hosted.options().device("Grüße"));
    assert!(error.to_string().contains("printable characters of ASCII"), "{error}");
    assert!(!hosted.path("never").exists());
}

/// Found by a user: what waited in the outbox was sent as the other user's, and the copy became one of the other's objects.
#[test]
fn a_copy_that_is_opened_with_another_users_token_sends_nothing_takes_nothing_and_says_so() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    phone.put("a", "1").unwrap();
    phone.sync().unwrap();
    phone.put("b", "Ada's").unwrap();
    drop(phone);
    let stored = hosted.stored();
    let open = |token: &str| {
        let service = Service::new(&hosted.address, token);
        Options::new(service).retry(quick(1)).open(hosted.path("phone")).unwrap()
    };
    let mistaken = open(&hosted.token_of("eve"));
    let before = hosted.asked().len();
    let refused = |error: touchstone_sync_client::Error| {
        assert_eq!(error.kind(), ErrorKind::OtherUser, "{error}");
        assert!(error.to_string().contains("open it with a token of `ada`"), "{error}");
    };
    refused(mistaken.sync().unwrap_err());
    refused(mistaken.watch(|_| ()).unwrap().wait().unwrap_err());
    assert_eq!(hosted.devices("eve"), [""; 0]);
    // Such a mistake has registered it, before copies knew whose they are.
    hosted.register("eve", &stored[0].client);
    refused(mistaken.sync().unwrap_err());
    assert_eq!(hosted.asked()[before..], ["POST /v1/clients"; 3]);
    assert_eq!((shown(&mistaken), mistaken.pending().unwrap()), (texts([("a", "1"), ("b", "Ada's")]), 1));
    assert_eq!(hosted.stored(), stored);
    drop(mistaken);
    // Another token of the same user is as good as the first.
    assert_eq!(open(&hosted.token_of("ada")).sync().unwrap().sent, 1);
}

/// Whose it is the service has not told yet: nobody's.
#[test]
fn a_copy_becomes_that_of_the_user_by_whose_token_it_is_known_first() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    phone.put("a", "1").unwrap();
    hosted.faults(&[Fault::LosesRequest]);
    phone.sync().unwrap_err();
    drop(phone);
    let eves = Service::new(&hosted.address, hosted.token_of("eve"));
    let phone = Options::new(eves).open(hosted.path("phone")).unwrap();
    assert_eq!((phone.sync().unwrap().sent, hosted.devices("eve").len()), (1, 1));
    assert_eq!(hosted.copy("phone").sync().unwrap_err().kind(), ErrorKind::OtherUser);
    assert_eq!(hosted.devices("ada"), [""; 0]);
}

#[test]
fn what_is_no_sync_service_is_told() {
    let hosted = Hosted::start();
    let service = Service::new(format!("{}/elsewhere", hosted.address), &hosted.token);
    let elsewhere = Options::new(service).retry(quick(2)).open(hosted.path("elsewhere")).unwrap();
    let error = elsewhere.sync().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("there is no path"), "{error}");
    let nobody = Options::new(Service::new("http://127.0.0.1:9", "tsync_1")).retry(quick(2));
    assert!(nobody.open(hosted.path("nobody")).unwrap().sync().unwrap_err().passes());
}

/// A backup is restored, and what came after it is gone from the service: copies come to what it has, and keep what waits.
#[test]
fn after_a_restored_backup_copies_have_what_it_has_and_what_waited() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    phone.put("before", "1").unwrap();
    phone.sync().unwrap();
    let backup = hosted.backup("backup.db");
    laptop.sync().unwrap();
    laptop.put("after", "2").unwrap();
    laptop.put("before", "3").unwrap();
    laptop.sync().unwrap();
    phone.sync().unwrap();
    phone.put("waits", "4").unwrap();
    hosted.restore(&backup);
    for device in [&phone, &laptop, &phone] {
        device.sync().unwrap();
    }
    let expected = texts([("before", "1"), ("waits", "4")]);
    assert_eq!((shown(&phone), shown(&laptop)), (expected.clone(), expected));
}

/// An older state of the service's store that nobody has said is one: cursors are ahead of it.
#[test]
fn a_copy_that_is_ahead_of_the_service_fetches_everything() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    laptop.sync().unwrap();
    phone.put("before", "1").unwrap();
    phone.sync().unwrap();
    let backup = hosted.backup("backup.db");
    for text in ["2", "3"] {
        phone.put("after", text).unwrap();
        phone.sync().unwrap();
    }
    laptop.sync().unwrap();
    laptop.put("before", "waits").unwrap();
    hosted.go_back(&backup);
    laptop.sync().unwrap();
    assert_eq!(shown(&laptop), texts([("before", "waits")]));
    phone.sync().unwrap();
    assert_eq!(shown(&phone), texts([("before", "waits")]));
}

#[test]
fn a_copy_that_was_away_while_deletions_were_forgotten_fetches_everything_and_keeps_its_outbox() {
    let hosted = Hosted::start();
    let [phone, laptop] = ["phone", "laptop"].map(|name| hosted.copy(name));
    phone.put("a", "1").unwrap();
    phone.put("b", "2").unwrap();
    phone.sync().unwrap();
    laptop.sync().unwrap();
    phone.delete("a").unwrap();
    phone.sync().unwrap();
    hosted.forget();
    laptop.put("c", "3").unwrap();
    laptop.sync().unwrap();
    phone.sync().unwrap();
    let expected = texts([("b", "2"), ("c", "3")]);
    assert_eq!((shown(&phone), shown(&laptop)), (expected.clone(), expected));
    assert!(hosted.asked().iter().filter(|asked| asked.ends_with("/v1/sync/full")).count() > 2);
}

#[test]
fn threads_that_edit_and_sync_one_copy_together_store_each_edit_once() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    // Another opening of the same file, as another program has it.
    let beside = hosted.copy("phone");
    thread::scope(|scope| {
        for (place, copy) in [&phone, &beside, &phone, &beside].into_iter().enumerate() {
            scope.spawn(move || {
                for number in 0..20 {
                    copy.put(&format!("{place}-{number}"), "1").unwrap();
                    copy.sync().unwrap();
                }
            });
        }
    });
    assert_eq!((phone.pending().unwrap(), hosted.stored().len()), (0, 80));
    let laptop = hosted.copy("laptop");
    laptop.sync().unwrap();
    assert_eq!((shown(&laptop).len(), shown(&laptop)), (80, shown(&phone)));
}

/// The words of texts, each once.
fn words<'t>(texts: impl IntoIterator<Item = Option<&'t str>>) -> String {
    let words: BTreeSet<&str> =
        texts.into_iter().flat_map(|text| text.unwrap_or_default().split_whitespace()).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// A program adds words while another one syncs the same copy, on two devices. Where an edit was made on what it had not seen, some are gone.
#[test]
fn updates_beside_syncs_of_another_program_lose_nothing() {
    let hosted = Hosted::start();
    let both = |conflict: &Conflict| {
        Resolution::Merged(Some(words([conflict.mine.as_deref(), conflict.theirs.as_deref()])))
    };
    let [phone, laptop] = ["phone", "laptop"].map(|name| deciding(&hosted, name, both));
    thread::scope(|scope| {
        for (name, syncing) in [("phone", &phone), ("laptop", &laptop)] {
            let adding = hosted.copy(name);
            let added = scope.spawn(move || {
                for place in 0..100 {
                    let word = format!("{name}{place}");
                    adding.update("a", |data| Some(words([data, Some(word.as_str())]))).unwrap();
                }
            });
            scope.spawn(move || {
                while !added.is_finished() {
                    syncing.sync().unwrap();
                }
            });
        }
    });
    for device in [&phone, &laptop, &phone] {
        device.sync().unwrap();
    }
    let all: Vec<String> =
        (0..100).flat_map(|place| [format!("phone{place}"), format!("laptop{place}")]).collect();
    let all = words(all.iter().map(|word| Some(word.as_str())));
    let expected = texts([("a", &*all)]);
    assert_eq!((shown(&phone), shown(&laptop)), (expected.clone(), expected));
}

/// How many there are, as an object's text says.
fn number(data: Option<&str>) -> i64 {
    data.map_or(0, |data| data.parse().expect("it is a number"))
}

/// Why a program changes nothing.
#[derive(Debug)]
enum NotTaken {
    Failed(touchstone_sync_client::Error),
    TooFew(i64),
}

impl From<touchstone_sync_client::Error> for NotTaken {
    fn from(error: touchstone_sync_client::Error) -> NotTaken {
        NotTaken::Failed(error)
    }
}

#[test]
fn an_update_makes_changes_deletes_or_refuses() {
    let hosted = Hosted::start();
    let phone = hosted.copy("phone");
    let add = |more: i64| phone.update("milk", |data| Some((number(data) + more).to_string())).unwrap();
    assert_eq!((add(2).as_deref(), phone.pending().unwrap()), (Some("2"), 1));
    phone.sync().unwrap();
    assert_eq!((add(0).as_deref(), phone.pending().unwrap()), (Some("2"), 0), "what is as it was is no edit");

    let taken = phone.try_update("milk", |data| match number(data) {
        few @ ..3 => Err(NotTaken::TooFew(few)),
        enough => Ok(Some((enough - 3).to_string())),
    });
    assert!(matches!(taken, Err(NotTaken::TooFew(2))), "{taken:?}");
    let long = "x".repeat((1 << 20) + 1);
    let edit: Result<_, NotTaken> = phone.try_update("milk", |_| Ok(Some(long)));
    assert!(matches!(&edit, Err(NotTaken::Failed(error)) if error.kind() == ErrorKind::Edit), "{edit:?}");
    let nested: Result<_, NotTaken> =
        phone.try_update("milk", |_| Ok(phone.put("milk", "5").map(|()| None)?));
    let Err(NotTaken::Failed(nested)) = nested else { panic!("{nested:?}") };
    assert_eq!(nested.kind(), ErrorKind::Store);
    let told = nested.store().expect("it is the store's").to_string();
    assert_eq!(nested.to_string(), format!("the local copy failed: {told}"));
    assert!(nested.source().is_none(), "a chain of errors would tell the text twice");
    assert_eq!((shown(&phone), phone.pending().unwrap()), (texts([("milk", "2")]), 0));

    assert_eq!(phone.update("milk", |_| None).unwrap(), None);
    phone.sync().unwrap();
    assert_eq!((shown(&phone), hosted.stored().last().unwrap().data.clone()), (texts([]), None));
}
