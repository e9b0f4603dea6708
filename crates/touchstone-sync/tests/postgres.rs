//! The PostgreSQL storage keeps the rules of every storage, and several processes of the service may have one database.

mod cluster;
#[macro_use]
mod rules;

use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use proptest::test_runner::{Config, TestRunner};
use rules::Shared;
use rules::model::{asked, does_as_the_model};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use touchstone_sync::change::Download;
use touchstone_sync::http::{App, router};
use touchstone_sync::identity::Tokens;
use touchstone_sync::limits::Limits;
use touchstone_sync::storage::postgres::Postgres;
use touchstone_sync::storage::{Error, Refusal, Remembered, Tried};
use touchstone_sync::token::Token;
use tower::ServiceExt;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

async fn connect(url: &str) -> Shared {
    Arc::new(Postgres::to_serve(url, 8, false).await.unwrap())
}

fn kept<F: Future<Output = ()>>(rule: impl Fn(Shared) -> F) {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async { rule(connect(&url).await).await });
}

every_rule_is_kept!();

#[test]
fn requests_in_any_order_are_answered_as_the_model_answers() {
    let Some(cluster) = cluster::shared() else { return };
    let (runtime, url) = (runtime(), cluster.database().1);
    let storage = runtime.block_on(connect(&url));
    let users = std::cell::Cell::new(0);
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(&asked(), |asked| {
        users.set(users.get() + 1);
        runtime.block_on(does_as_the_model(&storage, &users.get().to_string(), &asked));
        Ok(())
    });
    tested.unwrap();
}

/// A page for a device that was looked up before is the page of one that is looked up, as long as its token is good.
#[test]
fn a_device_that_is_remembered_is_asked_for_again_with_its_page() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let (storage, other) = (connect(&url).await, connect(&url).await);
        let [phone, eves] =
            [rules::device(&storage, "ada", "phone").await, rules::device(&storage, "eve", "phone").await];
        rules::stored(&storage, phone, [rules::set("a", "1")]).await;
        rules::stored(&storage, eves, [rules::set("e", "hers")]).await;
        let token = Token::make().unwrap().hash();
        storage.keep_token(phone.account(), &token, 100, Some(200)).await.unwrap();
        let wanted = Download { limit: 10, ..Download::default() };
        let page = async |remembered: &Remembered, now| {
            let page = storage.download_remembered(remembered.clone(), now, wanted.clone()).await.unwrap();
            if page.is_none() {
                storage.forget_remembered(remembered);
            }
            page
        };

        assert!(storage.remembered(Some(&token), "phone").is_none(), "nobody has asked yet");
        storage.asking(&token, 150, "phone").await.unwrap().unwrap();
        let remembered = storage.remembered(Some(&token), "phone").unwrap();
        assert_eq!(remembered.client(), phone);
        let looked_up = storage.download(phone, wanted.clone()).await.unwrap();
        assert_eq!(page(&remembered, 199).await, Some(looked_up.clone()));
        // What is wrong with a page of it is told as of any.
        let future = Download { cursor: 9, ..wanted.clone() };
        let refused = storage.download_remembered(remembered.clone(), 199, future).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::FutureCursor { .. }))), "{refused:?}");

        // Expired, and then forgotten.
        assert_eq!(page(&remembered, 200).await, None);
        assert!(storage.remembered(Some(&token), "phone").is_none());
        // Revoked by another process.
        storage.asking(&token, 150, "phone").await.unwrap().unwrap();
        assert_eq!(page(&remembered, 150).await, Some(looked_up.clone()));
        other.revoke(&token.name()).await.unwrap();
        assert_eq!(page(&remembered, 150).await, None);
        // The same token is another user's: what was the one's is given to neither.
        other.keep_token(eves.account(), &token, 100, None).await.unwrap();
        assert_eq!(page(&remembered, 150).await, None);

        // By its name alone, which is enough where the service asks for no token.
        let tablet = rules::device(&storage, "ada", "tablet").await;
        assert_eq!(storage.client_named("tablet").await.unwrap(), Some(tablet));
        let named = storage.remembered(None, "tablet").unwrap();
        assert_eq!(page(&named, 0).await, Some(looked_up));
        assert!(storage.client_named("nobody").await.unwrap().is_none());
        assert!(storage.remembered(None, "nobody").is_none());
    });
}

/// An upload of a device that was looked up before is stored as that of one that is looked up, as long as its token is good, and not after.
#[test]
fn a_device_that_is_remembered_is_asked_for_again_with_its_upload() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let (storage, other) = (connect(&url).await, connect(&url).await);
        let [phone, eves] =
            [rules::device(&storage, "ada", "phone").await, rules::device(&storage, "eve", "phone").await];
        let token = Token::make().unwrap().hash();
        storage.keep_token(phone.account(), &token, 100, Some(200)).await.unwrap();
        let look = async || {
            storage.asking(&token, 150, "phone").await.unwrap().unwrap();
            storage.remembered(Some(&token), "phone").unwrap()
        };
        let store = async |remembered: &Remembered, now, upload| match storage
            .upload_remembered(remembered.clone(), now, upload, None)
            .await
        {
            Ok(Tried::Stored(stored)) => Ok(Some(stored.revisions)),
            Ok(Tried::Unknown(..)) => {
                storage.forget_remembered(remembered);
                Ok(None)
            }
            Err(error) => Err(error),
        };
        let set = |data| rules::upload([rules::set("a", data)]);

        let remembered = look().await;
        assert_eq!(store(&remembered, 199, set("1")).await.unwrap(), Some(vec![1]));
        let named = rules::upload([rules::named("n", rules::set("b", "1"))]);
        assert_eq!(store(&remembered, 199, named.clone()).await.unwrap(), Some(vec![2]));
        assert_eq!(store(&remembered, 199, named).await.unwrap(), Some(vec![2]), "it is not stored again");
        let based = rules::upload([rules::based(9, rules::set("a", "2"))]);
        let refused = store(&remembered, 199, based).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::Conflict { .. }))), "{refused:?}");
        // One that has its right and one that has not, in one group.
        let (good, expired) =
            tokio::join!(store(&remembered, 199, set("3")), store(&remembered, 200, set("never")));
        assert_eq!((good.unwrap(), expired.unwrap()), (Some(vec![3]), None));
        assert!(storage.remembered(Some(&token), "phone").is_none(), "it is looked up the next time");

        look().await;
        other.revoke(&token.name()).await.unwrap();
        assert_eq!(store(&remembered, 150, set("never")).await.unwrap(), None, "revoked by another process");
        // The same token is another user's: nothing is stored of either.
        other.keep_token(eves.account(), &token, 100, None).await.unwrap();
        assert_eq!(store(&remembered, 150, set("never")).await.unwrap(), None);
        assert_eq!(storage.standing(eves.account()).await.unwrap().revision, 0);
        let (versions, _) = rules::follow(&storage, phone, 0, 10).await;
        assert_eq!(versions, [rules::version("b", 2, Some("1")), rules::version("a", 3, Some("3"))]);

        // By its name alone, which is enough where the service asks for no token.
        let tablet = rules::device(&storage, "ada", "tablet").await;
        assert_eq!(storage.client_named("tablet").await.unwrap(), Some(tablet));
        let tablet = storage.remembered(None, "tablet").unwrap();
        assert_eq!(store(&tablet, 0, set("4")).await.unwrap(), Some(vec![4]));
    });
}

/// Two processes begin at once on an empty database, share users, and tell each other's streams.
#[test]
fn two_services_share_a_database() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let (one, other) = tokio::join!(connect(&url), connect(&url));
        let [phone, laptop] =
            [rules::device(&one, "ada", "phone").await, rules::device(&other, "ada", "laptop").await];
        let mut watch = other.watch(laptop.account()).await.unwrap();
        let mut uploading = Vec::new();
        for (storage, client) in [(&one, phone), (&other, laptop)] {
            let storage = Arc::clone(storage);
            uploading.push(tokio::spawn(async move {
                for place in 0..50 {
                    rules::stored(&storage, client, [rules::set("a", &place.to_string())]).await;
                }
            }));
        }
        for uploading in uploading {
            uploading.await.unwrap();
        }
        watch.revisions.wait_for(|revision| *revision == 100).await.unwrap();
        assert_eq!(rules::follow(&one, phone, 0, 10).await, rules::follow(&other, laptop, 0, 10).await);
    });
}

/// As the file's own test: a wall clock that has jumped ahead by years since makes nothing old.
#[test]
fn a_wall_clock_that_jumps_makes_nothing_old() {
    let Some(cluster) = cluster::shared() else { return };
    let (name, url) = cluster.database();
    let set_back = "update sync_applied set stored = stored - 315360000; update sync_object set stored = stored - 315360000";
    let changes = || [rules::named("one", rules::set("a", "1")), rules::named("two", rules::delete("b"))];
    for (place, time) in ["delete from sync_time", "update sync_time set seconds = seconds - 315360000"]
        .into_iter()
        .enumerate()
    {
        let user = place.to_string();
        runtime().block_on(async {
            let storage = connect(&url).await;
            let phone = rules::device(&storage, &user, "phone").await;
            let told = rules::stored(&storage, phone, changes()).await;
            cluster
                .print("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-c", &format!("{set_back}; {time}"), &name]);
            let next = connect(&url).await;
            assert_eq!(next.forget(next.time() - 90 * 86_400).await.unwrap(), 0, "{time}");
            assert_eq!(rules::stored(&next, phone, changes()).await, told, "it is not stored twice");
            assert_eq!(next.forget(i64::MAX).await.unwrap(), 3, "two names and a deletion");
        });
    }
}

/// A trigger that fails a group for the sake of one object, with an error of this code, and counts how often the object was written.
fn failing(code: &str) -> String {
    format!(
        "create sequence if not exists tries; select setval('tries', 1, false); \
         create or replace function fail() returns trigger language plpgsql as $$ begin \
            if new.id = 'bad' then perform nextval('tries'); raise exception 'failed' using errcode = '{code}'; end if; \
            return new; end $$; \
         create or replace trigger fail before insert or update on sync_object for each row execute function fail()"
    )
}

#[test]
fn a_group_of_unknown_outcome_is_not_stored_again() {
    let Some(cluster) = cluster::shared() else { return };
    let (name, url) = cluster.database();
    // On one thread both uploads wait before the task that writes looks: they are one group.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let storage = runtime.block_on(connect(&url));
    let [phone, laptop] =
        ["phone", "laptop"].map(|device| runtime.block_on(rules::device(&storage, "ada", device)));
    for (code, is_unknown) in [("08P01", true), ("40003", true), ("57P02", true), ("23514", false)] {
        cluster.print("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-c", &failing(code), &name]);
        let (bad, good) = runtime.block_on(async {
            let bad = storage.upload(phone, rules::upload([rules::set("bad", "1")]), None);
            tokio::join!(bad, storage.upload(laptop, rules::upload([rules::set("good", "1")]), None))
        });
        let tries =
            String::from_utf8(cluster.print("psql", &["-Atc", "select last_value from tries", &name]));
        let tries = tries.unwrap().trim().to_owned();
        if is_unknown {
            assert!(
                matches!((&bad, &good), (Err(Error::Away), Err(Error::Away))),
                "{code}: {bad:?} {good:?}"
            );
            assert_eq!(tries, "1", "{code}");
        } else {
            assert!(matches!((&bad, &good), (Err(Error::Failed(_)), Ok(_))), "{code}: {bad:?} {good:?}");
            assert_eq!(tries, "2", "{code}: together, and alone");
        }
    }
}

#[test]
fn an_upload_that_waits_keeps_its_room_when_nobody_waits_for_it() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    // On one thread the task that writes does not look before the upload is given up.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = connect(&url).await;
        let phone = rules::device(&storage, "ada", "phone").await;
        let room = Arc::new(Semaphore::new(1));
        let taken = Arc::clone(&room).try_acquire_owned().unwrap();
        let upload = storage.upload(phone, rules::upload([rules::set("a", "1")]), Some(taken.into()));
        assert!(timeout(Duration::ZERO, upload).await.is_err());
        assert_eq!(room.available_permits(), 0, "its data are in memory still");
        drop(room.acquire().await.unwrap());
    });
}

/// Found by an attacker: one who had lost its right began bodies and gave them up, and was believed each time.
#[test]
fn a_remembered_device_that_gives_its_body_up_is_looked_up_the_next_time() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let storage = connect(&url).await;
        let phone = rules::device(&storage, "ada", "phone").await;
        let token = Token::make().unwrap();
        storage.keep_token(phone.account(), &token.hash(), 100, None).await.unwrap();
        let identity = Arc::new(Tokens::of(Arc::clone(&storage)));
        let router = router(App::new(Arc::clone(&storage), identity, Limits::default()));
        let upload = |body| {
            let head = Request::post("/v1/sync/delta").header("content-type", "application/json");
            let head = head
                .header("authorization", format!("Bearer {}", token.reveal()))
                .header("x-client", "phone");
            router.clone().oneshot(head.body(body).unwrap())
        };
        let known = || storage.remembered(Some(&token.hash()), "phone").is_some();
        for _ in 0..2 {
            let body = Body::from(r#"{"changes":[{"id":"a","data":"1"}]}"#);
            assert_eq!(upload(body).await.unwrap().status(), 200);
            assert!(known());
        }
        let never = Body::from_stream(futures_util::stream::pending::<Result<&[u8], std::io::Error>>());
        assert!(timeout(Duration::ZERO, upload(never)).await.is_err(), "its body is waited for");
        assert!(!known());
        storage.asking(&token.hash(), 150, "phone").await.unwrap().unwrap();
        assert!(known());
        // It had its right then. One more of the token, which may have lost it since, is not believed before the token is found again.
        rules::device(&storage, "ada", "tablet").await;
        storage.asking(&token.hash(), 150, "tablet").await.unwrap().unwrap();
        let never = Body::from_stream(futures_util::stream::pending::<Result<&[u8], std::io::Error>>());
        assert!(timeout(Duration::ZERO, upload(never)).await.is_err());
        let tablet = || storage.remembered(Some(&token.hash()), "tablet").is_some();
        assert!(!known() && !tablet());
        storage.asking(&token.hash(), 150, "phone").await.unwrap().unwrap();
        assert!(known() && tablet());
    });
}

/// Found by an attacker: where few uploads waited, a group that waited for a row that another process had kept all others waiting; and one user's
/// uploads took the places of all.
#[test]
fn a_user_whose_row_is_locked_keeps_nobody_else_waiting() {
    const FLOOD: usize = 600;
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let storage = connect(&url).await;
        let [phone, eves] =
            [rules::device(&storage, "ada", "phone").await, rules::device(&storage, "eve", "phone").await];
        let (other, speaking) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(speaking);
        other.batch_execute("begin; select id from sync_user where name = 'ada' for update").await.unwrap();
        let upload = |number: usize| {
            let storage = Arc::clone(&storage);
            let upload = rules::upload([rules::set("a", &number.to_string())]);
            Box::pin(async move { storage.upload(phone, upload, None).await })
        };
        let first = tokio::spawn(upload(0));
        let waits =
            "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while other.query(waits, &[]).await.unwrap().is_empty() {
            // Within a transaction the list of sessions is else that of the first look.
            other.batch_execute("select pg_stat_clear_snapshot()").await.unwrap();
        }
        let flood = that_wait((1..=FLOOD).map(upload)).await;
        assert_eq!(flood.len(), 512, "one user's wait in half of the places");
        for number in 0..10 {
            rules::stored(&storage, eves, [rules::set("e", &number.to_string())]).await;
        }
        assert!(!first.is_finished(), "the row is still locked");
        other.batch_execute("rollback").await.unwrap();
        assert_eq!(first.await.unwrap().unwrap().revisions.len(), 1);
    });
}

/// Found by attackers: of a group with users whose rows were locked, one upload of each was tried alone and waited for its lock again, before those of
/// others were tried. Behind six of them another user's was not answered in time.
#[test]
fn users_whose_rows_are_locked_keep_nobody_of_their_group_waiting() {
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    // On one thread all uploads wait before the task that writes looks: they are one group.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = connect(&url).await;
        let eves = rules::device(&storage, "eve", "phone").await;
        let mut phones = Vec::new();
        for number in 0..12 {
            phones.push(rules::device(&storage, &format!("ada-{}", number / 2), "phone").await);
        }
        let (other, speaking) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(speaking);
        other.batch_execute("begin; select id from sync_user where name <> 'eve' for update").await.unwrap();
        let upload = |client| storage.upload(client, rules::upload([rules::set("a", "1")]), None);
        let locked = join_all(phones.into_iter().map(upload));
        let (locked, stored) = tokio::join!(locked, upload(eves));
        assert!(locked.iter().all(|upload| matches!(upload, Err(Error::Busy))), "{locked:?}");
        assert_eq!(stored.unwrap().revisions, [1]);
    });
}

/// Found by an attacker: while no statement came back, downloads whose clients had left kept all places, and one user's took them all.
#[test]
fn downloads_of_one_user_and_of_clients_that_have_left_leave_places_to_others() {
    const FLOOD: usize = 600;
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    // On one thread nothing is taken from those that wait while they come.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = connect(&url).await;
        let [phone, bobs, eves] = ["ada", "bob", "eve"].map(|user| rules::device(&storage, user, "phone"));
        let (phone, bobs, eves) = (phone.await, bobs.await, eves.await);
        let (other, speaking) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(speaking);
        other.batch_execute("begin; lock table sync_object in access exclusive mode").await.unwrap();
        let download = |client| {
            let storage = Arc::clone(&storage);
            Box::pin(
                async move { storage.download(client, Download { limit: 1, ..Download::default() }).await },
            )
        };
        let waits = "select 1 from pg_locks where relation = 'sync_object'::regclass and not granted";
        // One after the other: they are two statements, as many as there are.
        let mut first = Vec::new();
        for client in [phone, bobs] {
            first.push(tokio::spawn(download(client)));
            while other.query(waits, &[]).await.unwrap().len() < first.len() {
                tokio::task::yield_now().await;
            }
        }
        let mut flood = that_wait((0..FLOOD).map(|_| download(phone))).await;
        assert_eq!(flood.len(), 512, "one user's wait in half of the places");
        flood.extend(that_wait((0..FLOOD).map(|_| download(bobs))).await);
        assert_eq!(flood.len(), 2 * 512);
        // As many as a statement answers stay, and are the next.
        tokio::task::yield_now().await;
        flood.truncate(16);
        // A device that finds no place wakes the task, which looks for those that have left.
        assert!(matches!(download(phone).await, Err(Error::Busy)), "their places were taken until now");
        let hers = that_wait([download(eves)].into_iter()).await;
        assert_eq!(hers.len(), 1, "who has none has one beyond them");
        tokio::task::yield_now().await;
        let more = that_wait((0..FLOOD).map(|_| download(phone))).await;
        assert_eq!(more.len(), 512 - flood.len(), "those who have left have none");
        other.batch_execute("rollback").await.unwrap();
        for hers in hers {
            assert_eq!(hers.await.unwrap().cursor, 0);
        }
        for first in first {
            first.await.unwrap().unwrap();
        }
    });
}

/// Those of these that wait; the others are answered at once.
async fn that_wait<F: Future + Unpin>(asked: impl Iterator<Item = F>) -> Vec<F> {
    let mut waiting = Vec::new();
    for mut asked in asked {
        if poll_fn(|context| Poll::Ready(Pin::new(&mut asked).poll(context).is_pending())).await {
            waiting.push(asked);
        }
    }
    waiting
}

/// Found by a reviewer: looks at the health, which need no token, and questions of one user that were no pages took the places before the connections.
#[test]
fn looks_at_the_health_and_one_users_questions_leave_places_to_others() {
    const FLOOD: usize = 2_000;
    let Some(cluster) = cluster::shared() else { return };
    let url = cluster.database().1;
    // On one thread nothing is taken from those that wait while they come.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = connect(&url).await;
        let [phone, eves] = ["ada", "eve"].map(|user| rules::device(&storage, user, "phone"));
        let (phone, eves) = (phone.await, eves.await);
        let looks = that_wait((0..FLOOD).map(|_| Box::pin(storage.check()))).await;
        let adas = phone.account();
        let standings = that_wait((0..FLOOD).map(|_| Box::pin(storage.standing(adas)))).await;
        let names: Vec<_> = (0..FLOOD).map(|number| format!("device {number}")).collect();
        let registrations = that_wait(names.iter().map(|name| storage.register(adas, name))).await;
        assert_eq!([looks.len(), standings.len(), registrations.len()], [1024, 512, 8]);

        let all = async { tokio::join!(join_all(looks), join_all(standings), join_all(registrations)) };
        let upload = storage.upload(eves, rules::upload([rules::set("e", "1")]), None);
        let register = storage.register(eves.account(), "tablet");
        let (_, uploaded, standing, registered) =
            tokio::join!(all, upload, storage.standing(eves.account()), register);
        assert_eq!(uploaded.unwrap().revisions, [1]);
        standing.unwrap();
        registered.unwrap();
    });
}

/// Found by a reviewer: all that was old of a user was one transaction, which the database ended where it was much, and nothing was forgotten any more.
#[test]
fn what_is_old_is_forgotten_in_parts_and_whatever_is_locked() {
    let Some(cluster) = cluster::shared() else { return };
    let (name, url) = cluster.database();
    runtime().block_on(async {
        let storage = connect(&url).await;
        for user in ["ada", "bob", "eve"] {
            storage.user(user).await.unwrap();
        }
        let old = "insert into sync_applied select id, 1, 'change ' || number, number, number, null, 0, null \
            from sync_user, generate_series(1, 1200) number; \
            create table part (id bigint); \
            create function note() returns trigger language plpgsql as $$ begin \
                insert into part select txid_current() from gone having count(*) > 0; return null; end $$; \
            create trigger note after delete on sync_applied referencing old table as gone for each statement execute function note()";
        cluster.print("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-c", old, &name]);
        let (other, speaking) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(speaking);
        other.batch_execute("begin; select id from sync_user where name = 'bob' for update").await.unwrap();
        assert_eq!(storage.forget(1_101).await.unwrap(), 2 * 1_100);
        other.batch_execute("rollback").await.unwrap();
        let parts: i64 =
            other.query_one("select count(distinct id) from part", &[]).await.unwrap().get(0);
        assert_eq!(parts, 2 * 3, "500 each");
        assert_eq!(storage.forget(1_101).await.unwrap(), 1_100, "bob's");
        assert_eq!(storage.forget(i64::MAX).await.unwrap(), 3 * 100);
    });
}

/// A number that a crash of the database took back would be given to another device, while other processes remember the first.
#[test]
fn a_registration_survives_a_crash_of_the_database_in_each_class() {
    // Nothing is flushed but by those who wait for it.
    let Some(cluster) = cluster::Cluster::with(5432, |_| vec!["wal_writer_delay=10s".into()]) else { return };
    let url = cluster.database().1;
    runtime().block_on(async {
        let storage = connect(&url).await;
        let account = storage.user("ada").await.unwrap();
        let registered = storage.register(account, "phone").await.unwrap();
        cluster.crash();
        assert_eq!(connect(&url).await.client(account, "phone").await.unwrap(), Some(registered));
    });
}

#[test]
fn a_storage_without_a_connection_is_refused() {
    let refused = runtime().block_on(Postgres::connect("postgres://sync@localhost/sync", 0));
    assert!(refused.unwrap_err().to_string().contains("allow one at least"));
}
