//! The rules that every storage keeps, whatever it is made of. Each is a function over one that is empty.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub mod model;

use std::collections::BTreeMap;
use std::sync::Arc;
use touchstone_sync::change::{Change, Download, Page, Upload, Uploaded, Version};
use touchstone_sync::storage::{Client, Error, Known, Refusal, Storage, Usage};
use touchstone_sync::token::Token;

/// A test of each rule, by the function `kept` of the test program: a rule that stands here is asked of every storage.
macro_rules! every_rule_is_kept {
    () => {
        every_rule_is_kept!(
            a_change_is_given_with_the_next_revision,
            any_text_is_kept_as_it_is,
            pages_end_at_their_limit,
            what_was_uploaded_is_not_applied_again,
            the_last_writer_wins_and_is_told_what_it_has_overwritten,
            an_upload_with_a_base_is_refused_where_the_object_is_another,
            a_cursor_that_leads_nowhere_is_refused,
            a_cursor_from_before_a_forgotten_deletion_is_refused,
            a_device_may_leave_its_own_changes_out,
            users_have_their_own_objects_devices_and_revisions,
            a_token_is_valid_until_it_expires_or_is_revoked,
            whoever_watches_sees_the_last_revision,
            long_versions_come_in_shorter_pages,
            an_upload_of_much_is_stored_unless_its_answer_has_too_much,
            uploads_at_once_whose_answers_are_long_are_told_and_keep_their_order,
            a_version_as_large_as_its_share_of_a_page_is_given_once,
            whoever_has_stored_much_is_given_what_others_have,
            what_users_have_is_told_to_the_owner,
            uploads_at_once_have_one_order_without_a_gap_or_a_repeat,
        );
    };
    ($($rule:ident),+ $(,)?) => {
        $(
            #[test]
            fn $rule() {
                kept(rules::$rule);
            }
        )+
    };
}

pub type Shared = Arc<dyn Storage>;

/// A change of an object.
pub fn set(id: &str, data: &str) -> Change {
    Change { id: id.into(), data: Some(data.into()), base: None, name: None }
}

/// A deletion of an object.
pub fn delete(id: &str) -> Change {
    Change { id: id.into(), data: None, base: None, name: None }
}

pub fn named(name: &str, change: Change) -> Change {
    Change { name: Some(name.into()), ..change }
}

pub fn based(base: u64, change: Change) -> Change {
    Change { base: Some(base), ..change }
}

pub fn upload(changes: impl Into<Vec<Change>>) -> Upload {
    Upload { changes: changes.into(), ..Upload::default() }
}

pub fn after(cursor: u64) -> Download {
    Download { cursor, limit: 100, ..Download::default() }
}

pub fn version(id: &str, revision: u64, data: Option<&str>) -> Version {
    Version { id: id.into(), revision, data: data.map(str::to_owned) }
}

/// A device of a user, both made where they are not known.
pub async fn device(storage: &Shared, user: &str, device: &str) -> Client {
    let account = storage.user(user).await.unwrap();
    storage.register(account, device).await.unwrap()
}

pub async fn stored(storage: &Shared, client: Client, changes: impl Into<Vec<Change>>) -> Uploaded {
    storage.upload(client, upload(changes), None).await.unwrap()
}

/// Everything after a cursor, page by page.
pub async fn follow(storage: &Shared, client: Client, mut cursor: u64, limit: u32) -> (Vec<Version>, u64) {
    let mut versions = Vec::new();
    loop {
        let page = storage.download(client, Download { limit, ..after(cursor) }).await.unwrap();
        assert!(page.versions.len() <= limit as usize && page.cursor >= cursor);
        cursor = page.cursor;
        versions.extend(page.versions);
        if !page.more {
            return (versions, cursor);
        }
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result.expect_err("it is refused") {
        Error::Refused(refusal) => refusal,
        other => panic!("{other:?} is no refusal"),
    }
}

pub async fn a_change_is_given_with_the_next_revision(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    assert_eq!(stored(&storage, phone, [set("a", "1"), set("b", "2")]).await.revisions, [1, 2]);
    assert_eq!(
        stored(&storage, phone, [set("a", "3"), delete("b"), set("a", "4")]).await.revisions,
        [3, 4, 5]
    );
    let page = storage.download(phone, after(0)).await.unwrap();
    let versions = vec![version("b", 4, None), version("a", 5, Some("4"))];
    assert_eq!(page, Page { versions, cursor: 5, more: false });
    assert_eq!(storage.download(phone, after(5)).await.unwrap(), Page { cursor: 5, ..Page::default() });
    let account = phone.account();
    assert_eq!(storage.objects(account, 0, 5, 10).await.unwrap(), [version("a", 5, Some("4"))]);
    assert_eq!(storage.standing(account).await.unwrap().revision, 5);
}

pub async fn any_text_is_kept_as_it_is(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    let text = "é \u{2603} \u{1f680} \" \\ \n \0 \u{2028}";
    stored(&storage, phone, [set("a", text), set("", ""), set("é \u{1f680}", &"x".repeat(100_000))]).await;
    let (versions, _) = follow(&storage, phone, 0, 100).await;
    assert_eq!(versions[0].data.as_deref(), Some(text));
    assert_eq!((versions[1].data.as_deref(), versions[2].data.as_ref().unwrap().len()), (Some(""), 100_000));
    assert_eq!(versions[2].id, "é \u{1f680}");
}

pub async fn pages_end_at_their_limit(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    let changes: Vec<Change> = (0..100).map(|place| set(&format!("o{place}"), "x")).collect();
    stored(&storage, phone, changes).await;
    for (limit, first, more) in [(99, 99, true), (100, 100, false), (101, 100, false)] {
        let page = storage.download(phone, Download { limit, ..after(0) }).await.unwrap();
        assert_eq!((page.versions.len(), page.cursor, page.more), (first, first as u64, more));
    }
    assert_eq!(follow(&storage, phone, 0, 7).await.0.len(), 100);
}

pub async fn what_was_uploaded_is_not_applied_again(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    let first = stored(&storage, phone, [named("one", set("a", "1")), named("two", set("b", "1"))]).await;
    let again = stored(&storage, phone, [named("one", set("a", "1")), named("two", set("b", "1"))]).await;
    assert_eq!(first, again);
    // Half of it is new, and one is named twice within the upload.
    let half = [named("two", set("b", "1")), named("three", set("c", "1")), named("three", set("c", "2"))];
    assert_eq!(stored(&storage, phone, half).await.revisions, [2, 3, 3]);
    // What was superseded since stays so.
    stored(&storage, phone, [set("a", "newer")]).await;
    assert_eq!(stored(&storage, phone, [named("one", set("a", "1"))]).await.revisions, [1]);
    let (versions, cursor) = follow(&storage, phone, 0, 100).await;
    assert_eq!(versions.iter().find(|known| known.id == "a"), Some(&version("a", 4, Some("newer"))));
    assert_eq!(cursor, 4);
    // Names are the device's own.
    let laptop = device(&storage, "ada", "laptop").await;
    assert_eq!(stored(&storage, laptop, [named("one", set("d", "1"))]).await.revisions, [5]);
    let other = device(&storage, "eve", "phone").await;
    assert_eq!(stored(&storage, other, [named("one", set("a", "hers"))]).await.revisions, [1]);
}

pub async fn the_last_writer_wins_and_is_told_what_it_has_overwritten(storage: Shared) {
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    stored(&storage, phone, [set("a", "phone's")]).await;
    let told = stored(&storage, laptop, [set("a", "laptop's"), set("a", "laptop's second")]).await;
    assert_eq!(told.overwritten, [version("a", 1, Some("phone's"))]);
    // Where the answer was lost, the same upload is told the same.
    let tablet = device(&storage, "ada", "tablet").await;
    let changes = [named("one", set("b", "1")), named("two", set("a", "tablet's"))];
    let told = stored(&storage, tablet, changes.clone()).await;
    assert_eq!(told.overwritten, [version("a", 3, Some("laptop's second"))]);
    assert_eq!(stored(&storage, tablet, changes).await, told);
    stored(&storage, laptop, [set("a", "laptop's third")]).await;
    // Its own, and what it says that it has seen, it is not told.
    assert_eq!(stored(&storage, laptop, [set("a", "again")]).await.overwritten, []);
    let seen = Upload { seen: 7, ..upload([set("a", "phone's again")]) };
    assert_eq!(storage.upload(phone, seen, None).await.unwrap().overwritten, []);
}

pub async fn an_upload_with_a_base_is_refused_where_the_object_is_another(storage: Shared) {
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    stored(&storage, phone, [based(0, set("a", "1")), based(0, set("b", "1"))]).await;
    stored(&storage, laptop, [based(1, set("a", "2")), based(1, set("a", "3"))]).await;
    let late =
        upload([set("c", "1"), based(1, set("a", "mine")), based(2, delete("b")), based(7, set("d", "1"))]);
    let current = vec![version("a", 4, Some("3")), version("d", 0, None)];
    assert_eq!(refusal(storage.upload(phone, late, None).await), Refusal::Conflict { current });
    let (versions, cursor) = follow(&storage, phone, 0, 100).await;
    assert_eq!((versions.len(), cursor), (2, 4), "nothing of it is stored");
}

pub async fn a_cursor_that_leads_nowhere_is_refused(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    stored(&storage, phone, [set("a", "1")]).await;
    let ahead = refusal(storage.download(phone, after(2)).await);
    assert_eq!(ahead, Refusal::FutureCursor { cursor: 2, revision: 1 });
    let history = storage.standing(phone.account()).await.unwrap().history;
    let own = Download { history: Some(history.clone()), ..after(1) };
    storage.download(phone, own).await.unwrap();
    let others = Some("another".to_owned());
    let other = Download { history: others.clone(), ..after(1) };
    assert_eq!(
        refusal(storage.download(phone, other).await),
        Refusal::OtherHistory { history: history.clone() }
    );
    let other = Upload { history: others, ..upload([set("a", "2")]) };
    assert_eq!(refusal(storage.upload(phone, other, None).await), Refusal::OtherHistory { history });
    assert_eq!(follow(&storage, phone, 0, 100).await.1, 1, "nothing of it is stored");
}

pub async fn a_cursor_from_before_a_forgotten_deletion_is_refused(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    stored(
        &storage,
        phone,
        [named("one", set("a", "1")), set("b", "1"), delete("a"), delete("b"), set("b", "2")],
    )
    .await;
    assert_eq!(storage.forget(0).await.unwrap(), 0, "nothing is that old");
    let later = i64::MAX;
    assert_eq!(storage.forget(later).await.unwrap(), 2, "a deletion, and a name");
    let lost = refusal(storage.download(phone, after(2)).await);
    assert_eq!(lost, Refusal::LostCursor { cursor: 2, horizon: 3 });
    assert_eq!(
        refusal(storage.download(phone, after(0)).await),
        Refusal::LostCursor { cursor: 0, horizon: 3 }
    );
    for cursor in [3, 4] {
        let page = storage.download(phone, after(cursor)).await.unwrap();
        assert_eq!(page, Page { versions: vec![version("b", 5, Some("2"))], cursor: 5, more: false });
    }
    // A device that is new begins anew, and the object too.
    assert_eq!(stored(&storage, phone, [based(0, named("one", set("a", "2")))]).await.revisions, [6]);
    assert_eq!(follow(&storage, phone, 3, 100).await.0.len(), 2);
}

pub async fn a_device_may_leave_its_own_changes_out(storage: Shared) {
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    stored(&storage, phone, [set("a", "1"), set("b", "1")]).await;
    stored(&storage, laptop, [set("c", "1")]).await;
    stored(&storage, phone, [set("d", "1")]).await;
    let others = |cursor, limit| Download { others: true, limit, ..after(cursor) };
    let page = storage.download(phone, others(0, 100)).await.unwrap();
    assert_eq!(page, Page { versions: vec![version("c", 3, Some("1"))], cursor: 4, more: false });
    let page = storage.download(laptop, others(0, 2)).await.unwrap();
    assert_eq!((page.cursor, page.more), (2, true));
    let page = storage.download(laptop, others(2, 2)).await.unwrap();
    assert_eq!(page, Page { versions: vec![version("d", 4, Some("1"))], cursor: 4, more: false });
}

pub async fn users_have_their_own_objects_devices_and_revisions(storage: Shared) {
    let [ada, eve] = [device(&storage, "ada", "phone").await, device(&storage, "eve", "phone").await];
    stored(&storage, ada, [set("a", "Ada's")]).await;
    assert_eq!(follow(&storage, eve, 0, 100).await, (vec![], 0));
    assert_eq!(stored(&storage, eve, [set("a", "Eve's")]).await.overwritten, []);
    assert_eq!(follow(&storage, ada, 0, 100).await.0, [version("a", 1, Some("Ada's"))]);
    assert_eq!(storage.objects(eve.account(), 0, 9, 9).await.unwrap(), [version("a", 1, Some("Eve's"))]);
    assert!(storage.client(ada.account(), "laptop").await.unwrap().is_none());
    assert_eq!(storage.client(ada.account(), "phone").await.unwrap(), Some(ada));
    assert_ne!(ada, eve);
}

pub async fn a_token_is_valid_until_it_expires_or_is_revoked(storage: Shared) {
    let account = storage.user("ada").await.unwrap();
    let [token, short] = [Token::make().unwrap(), Token::make().unwrap()];
    storage.keep_token(account, &token.hash(), 100, None).await.unwrap();
    storage.keep_token(account, &short.hash(), 100, Some(200)).await.unwrap();
    let whose = async |token: &Token, now| storage.account(&token.hash(), now).await.unwrap();
    assert_eq!(whose(&token, 1_000).await, Some(account));
    assert_eq!((whose(&short, 199).await, whose(&short, 200).await), (Some(account), None));
    assert_eq!(whose(&Token::make().unwrap(), 1).await, None);
    assert_eq!(storage.tokens(Some("ada")).await.unwrap().len(), 2);
    assert!(storage.tokens(Some("eve")).await.unwrap().is_empty());
    assert_eq!(storage.revoke(&token.hash().name()).await.unwrap(), 1);
    assert_eq!(whose(&token, 1_000).await, None);
    assert_eq!(storage.revoke("nothing").await.unwrap(), 0);
}

pub async fn whoever_watches_sees_the_last_revision(storage: Shared) {
    let [ada, eve] = [device(&storage, "ada", "phone").await, device(&storage, "eve", "phone").await];
    stored(&storage, ada, [set("a", "0")]).await;
    let [mut one, mut other] =
        [storage.watch(ada.account()).await.unwrap(), storage.watch(ada.account()).await.unwrap()];
    assert_eq!(*one.revisions.borrow_and_update(), 1);
    let mut hers = storage.watch(eve.account()).await.unwrap();
    stored(&storage, eve, [set("a", "hers")]).await;
    hers.revisions.wait_for(|revision| *revision == 1).await.unwrap();
    assert!(!one.revisions.has_changed().unwrap(), "what another user does is nothing to her");
    for place in 0..50 {
        stored(&storage, ada, [set("a", &place.to_string())]).await;
    }
    one.revisions.wait_for(|revision| *revision == 51).await.unwrap();
    drop(one);
    stored(&storage, ada, [set("a", "last")]).await;
    other.revisions.wait_for(|revision| *revision == 52).await.unwrap();
    drop(other);
    let mut again = storage.watch(ada.account()).await.unwrap();
    assert_eq!(*again.revisions.borrow_and_update(), 52);
    stored(&storage, ada, [set("a", "more")]).await;
    again.revisions.wait_for(|revision| *revision == 53).await.unwrap();
}

/// Where a device leaves out its own, no request looks at all of them: pages may be empty, and none is the end before the end.
pub async fn whoever_has_stored_much_is_given_what_others_have(storage: Shared) {
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    let own = async |from: u64, to: u64| {
        let own: Vec<Change> = (from..to).map(|place| set(&place.to_string(), "own")).collect();
        for some in own.chunks(1_000) {
            stored(&storage, phone, some).await;
        }
    };
    own(0, 10_500).await;
    stored(&storage, laptop, [set("one", "1")]).await;
    own(10_500, 21_500).await;
    stored(&storage, laptop, [set("two", "2")]).await;
    let first = Download { cursor: 0, limit: 1_000, others: true, history: None };
    let first = storage.download(phone, first).await.unwrap();
    assert_eq!((first.versions.len(), first.cursor, first.more), (0, 10_000, true));
    for limit in [1, 2, 1_000] {
        let (mut cursor, mut given) = (0, Vec::new());
        loop {
            let asked = Download { cursor, limit, others: true, history: None };
            let page = storage.download(phone, asked).await.unwrap();
            given.extend(page.versions.into_iter().map(|version| version.id));
            assert!(page.cursor > cursor || !page.more, "it goes on");
            cursor = page.cursor;
            if !page.more {
                break;
            }
        }
        assert_eq!((given, cursor), (vec!["one".to_owned(), "two".to_owned()], 21_502));
    }
}

/// A page ends where it is long, and goes on with the next.
pub async fn long_versions_come_in_shorter_pages(storage: Shared) {
    let phone = device(&storage, "ada", "phone").await;
    for place in 0..20 {
        stored(&storage, phone, [set(&place.to_string(), &"x".repeat(1_000_000))]).await;
    }
    let page = storage.download(phone, after(0)).await.unwrap();
    assert!(page.more && (1..20).contains(&page.versions.len()), "{}", page.versions.len());
    assert_eq!(page.cursor, page.versions.len() as u64);
    assert_eq!(follow(&storage, phone, 0, 100).await.0.len(), 20);
    let some = storage.objects(phone.account(), 0, 20, 100).await.unwrap().len() as u64;
    assert!((1..20).contains(&some));
    assert_eq!(storage.objects(phone.account(), 19, 20, 100).await.unwrap().len(), 1);
    let laptop = device(&storage, "ada", "laptop").await;
    let all: Vec<Change> = (0..20).map(|place| set(&place.to_string(), "short")).collect();
    assert!(matches!(refusal(storage.upload(laptop, upload(all), None).await), Refusal::TooMuch { .. }));
    assert_eq!(storage.standing(phone.account()).await.unwrap().revision, 20);
}

/// What an upload names is read only where it is given back, and that is at most 4 MiB.
pub async fn an_upload_of_much_is_stored_unless_its_answer_has_too_much(storage: Shared) {
    let data = |letter: &str| letter.repeat(1_000_000);
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    for place in 0..8 {
        stored(&storage, phone, [set(&place.to_string(), &data("a"))]).await;
    }
    let ids = |places: std::ops::Range<u64>| places.map(|place| (place, place.to_string()));
    // At their bases nothing is given back; the device's own neither.
    let all: Vec<_> = ids(0..8).map(|(place, id)| based(place + 1, set(&id, "b"))).collect();
    let much: Vec<_> = ids(0..8).map(|(_, id)| set(&id, &data("c"))).collect();
    assert_eq!(stored(&storage, laptop, all).await.overwritten, []);
    for change in much {
        assert_eq!(stored(&storage, laptop, [change]).await.overwritten.len(), 0);
    }
    // The objects are at the revisions 17 to 24.
    let wrong: Vec<_> = ids(0..8).map(|(_, id)| based(1, set(&id, "d"))).collect();
    let few = refusal(storage.upload(phone, upload(&wrong[..4]), None).await);
    let Refusal::Conflict { current } = few else { panic!("{few}") };
    assert!(current.iter().all(|version| version.data == Some(data("c"))) && current.len() == 4);
    assert!(matches!(refusal(storage.upload(phone, upload(wrong), None).await), Refusal::TooMuch { .. }));
    let overwriting =
        |places| Vec::from_iter(ids(places).map(|(_, id)| named(&format!("n{id}"), set(&id, "e"))));
    let twice = [overwriting(0..4), overwriting(0..4)].concat();
    let given = stored(&storage, phone, twice.clone()).await.overwritten;
    assert!(given.iter().all(|version| version.data == Some(data("c"))) && given.len() == 4);
    assert_eq!(stored(&storage, phone, overwriting(0..4)).await.overwritten, given, "as before");
    let more = [overwriting(0..4), overwriting(4..5)].concat();
    assert!(matches!(refusal(storage.upload(phone, upload(more), None).await), Refusal::TooMuch { .. }));
    // Behind one that makes some of it short, at the same time, the rest is little enough.
    let tablet = device(&storage, "ada", "tablet").await;
    for (place, id) in ids(4..8) {
        stored(&storage, phone, [based(place + 17, set(&id, &data("f")))]).await;
    }
    stored(&storage, phone, [set("8", &data("f"))]).await;
    let first = Upload { seen: u64::MAX, ..upload([set("4", "g"), set("5", "g")]) };
    let second = upload(Vec::from_iter(ids(4..9).map(|(_, id)| set(&id, "h"))));
    let (first, second) =
        tokio::join!(storage.upload(laptop, first, None), storage.upload(tablet, second, None));
    assert_eq!(first.unwrap().overwritten, []);
    let sizes =
        second.unwrap().overwritten.into_iter().map(|version| version.data.map_or(0, |data| data.len()));
    assert_eq!(sizes.collect::<Vec<_>>(), [1, 1, 1_000_000, 1_000_000, 1_000_000]);
}

/// The answers of a group are not all in memory where they are long, and what is put off for that is in its order behind the rest.
pub async fn uploads_at_once_whose_answers_are_long_are_told_and_keep_their_order(storage: Shared) {
    let [bobs, adas, laptop] = [("bob", "phone"), ("ada", "phone"), ("ada", "laptop")]
        .map(|(user, name)| device(&storage, user, name));
    let (bobs, adas, laptop) = (bobs.await, adas.await, laptop.await);
    let data = "a".repeat(1_000_000);
    for place in 0..4 {
        stored(&storage, bobs, [set(&place.to_string(), &data)]).await;
    }
    stored(&storage, laptop, [set("z", "laptop's")]).await;
    let wrong = Vec::from_iter((0..4).map(|place| based(9, set(&place.to_string(), "b"))));
    let conflicts = |number| {
        futures_util::future::join_all((0..number).map(|_| storage.upload(bobs, upload(&wrong[..]), None)))
    };
    let older = storage.upload(adas, upload([set("x", "older"), set("z", "phone's")]), None);
    let newer = storage.upload(adas, upload([set("x", "newer")]), None);
    let (first, older, newer, last) = tokio::join!(conflicts(12), older, newer, conflicts(12));
    for conflict in first.into_iter().chain(last) {
        let Refusal::Conflict { current } = refusal(conflict) else { panic!("it is none") };
        assert!(current.len() == 4 && current.iter().all(|version| version.data.as_ref() == Some(&data)));
    }
    assert_eq!(older.unwrap().overwritten, [version("z", 1, Some("laptop's"))]);
    assert_eq!(newer.unwrap().overwritten, []);
    let (objects, _) = follow(&storage, adas, 0, 100).await;
    let x = objects.iter().find(|version| version.id == "x").and_then(|version| version.data.as_deref());
    assert_eq!(x, Some("newer"));
}

/// PostgreSQL reads a page with a version larger than that by another statement.
pub async fn a_version_as_large_as_its_share_of_a_page_is_given_once(storage: Shared) {
    const PAGE_BYTES: usize = 1 << 20;
    let [phone, laptop] = [device(&storage, "ada", "phone").await, device(&storage, "ada", "laptop").await];
    let limits = [1, 2, 9, 100, 1_000];
    let shares = limits.map(|limit| PAGE_BYTES / (limit as usize + 1));
    let sizes = shares.into_iter().flat_map(|share| [0, share - 1, share, 7, share + 1]);
    for (place, size) in sizes.enumerate() {
        let deleted = format!("deleted-{place}");
        let changes = [set(&place.to_string(), &"x".repeat(size)), set(&deleted, "y"), delete(&deleted)];
        stored(&storage, if place % 3 == 0 { laptop } else { phone }, changes).await;
    }
    let (all, last) = follow(&storage, phone, 0, 1).await;
    assert_eq!((all.len(), last), (50, 75));
    for limit in limits {
        assert_eq!(follow(&storage, phone, 0, limit).await, (all.clone(), last), "limit {limit}");
        for (place, version) in all.iter().enumerate().step_by(7) {
            let rest = follow(&storage, phone, version.revision, limit).await;
            assert_eq!(rest, (all[place + 1..].to_vec(), last), "limit {limit}, after {}", version.revision);
        }
        let page = storage.download(phone, Download { limit, ..after(0) }).await.unwrap();
        let bytes = |versions: &[Version]| -> usize {
            versions.iter().filter_map(|one| Some(one.data.as_ref()?.len())).sum()
        };
        let before_last = &page.versions[..page.versions.len() - 1];
        assert!(bytes(before_last) < PAGE_BYTES && page.versions.len() <= limit as usize);
    }
}

pub async fn what_users_have_is_told_to_the_owner(storage: Shared) {
    assert_eq!(storage.usage().await.unwrap(), []);
    let [phone, laptop] = ["phone", "laptop"].map(|name| device(&storage, "ada", name));
    let (phone, laptop) = (phone.await, laptop.await);
    stored(&storage, phone, vec![set("a", "milk"), set("b", "\0é"), set("c", ""), delete("a")]).await;
    stored(&storage, laptop, vec![set("b", "café")]).await;
    storage.user("bob").await.unwrap();
    let usage = |user: &str, devices, objects, deletions, bytes, revision| Usage {
        user: user.into(),
        devices,
        objects,
        deletions,
        bytes,
        revision,
    };
    assert_eq!(storage.usage().await.unwrap(), [usage("ada", 2, 2, 1, 5, 5), usage("bob", 0, 0, 0, 0, 0)]);
    let ada = storage.user_named("ada").await.unwrap().unwrap();
    let known = |name: &str, client| Known { name: name.into(), client };
    assert_eq!(storage.devices(ada).await.unwrap(), [known("laptop", laptop), known("phone", phone)]);
    assert_eq!(storage.user_named("eve").await.unwrap(), None);
    assert!(storage.room().await.unwrap().iter().any(|room| room.bytes > 0));
}

/// Many devices of several users upload at once, and each user has a device that follows. It is given each change that is not
/// superseded when it asks, in the order of revisions, and in the end the state that the answers say.
pub async fn uploads_at_once_have_one_order_without_a_gap_or_a_repeat(storage: Shared) {
    let mut users = Vec::new();
    for user in 0..4 {
        users.push(tokio::spawn(one_users_devices(Arc::clone(&storage), format!("user {user}"))));
    }
    for user in users {
        user.await.unwrap();
    }
}

async fn one_users_devices(storage: Shared, user: String) {
    const DEVICES: usize = 6;
    const UPLOADS: usize = 40;
    let mut uploading = Vec::new();
    for number in 0..DEVICES {
        let (storage, user) = (Arc::clone(&storage), user.clone());
        uploading.push(tokio::spawn(async move {
            let client = device(&storage, &user, &format!("device {number}")).await;
            let mut acknowledged = Vec::new();
            for place in 0..UPLOADS {
                let (object, data) =
                    (format!("{}", (place * 7 + number) % 11), format!("{user} {number} {place}"));
                let changes = vec![set(&object, &data), set(&format!("own {number}"), &data)];
                let revisions = stored(&storage, client, changes.clone()).await.revisions;
                acknowledged.extend(changes.into_iter().zip(revisions));
            }
            acknowledged
        }));
    }
    let follower = device(&storage, &user, "follower").await;
    let last = (DEVICES * UPLOADS * 2) as u64;
    let (mut cursor, mut seen) = (0, BTreeMap::new());
    while cursor < last {
        let page = storage.download(follower, Download { limit: 7, ..after(cursor) }).await.unwrap();
        for version in page.versions {
            assert!(version.revision > cursor, "{} is not beyond {cursor}", version.revision);
            assert!(version.data.as_ref().unwrap().starts_with(&user), "no stranger's");
            cursor = version.revision;
            assert!(seen.insert(cursor, version).is_none(), "given twice");
        }
        tokio::task::yield_now().await;
    }
    let mut told = BTreeMap::new();
    for device in uploading {
        for (change, revision) in device.await.unwrap() {
            assert!(told.insert(revision, change).is_none(), "{revision} was given twice");
        }
    }
    assert!(told.keys().copied().eq(1..=last), "revisions have no gap");
    for (revision, version) in &seen {
        let change = &told[revision];
        assert_eq!((&version.id, &version.data), (&change.id, &change.data));
    }
    let state: BTreeMap<_, _> = told.values().map(|change| (&change.id, &change.data)).collect();
    let followed: BTreeMap<_, _> = seen.values().map(|version| (&version.id, &version.data)).collect();
    assert_eq!(state, followed, "what it was given comes to the last state");
}
