//! The embedded storage keeps the rules of every storage, and its own.

mod rules;

use proptest::test_runner::{Config, TestRunner};
use rules::model::{asked, does_as_the_model};
use rules::{Shared, device, follow, set, stored};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use touchstone_store::{Durability, Options};
use touchstone_sync::storage::embedded::Embedded;

fn open(path: &Path, durability: Durability) -> Shared {
    let store = Options::new().durability(durability).open(path).unwrap();
    Arc::new(Embedded::new(store).unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

/// A rule, of a new store of each class.
fn kept<F: Future<Output = ()>>(rule: impl Fn(Shared) -> F) {
    for durability in [Durability::Consistent, Durability::Strict] {
        let folder = tempfile::tempdir().unwrap();
        runtime().block_on(rule(open(&folder.path().join("sync.db"), durability)));
    }
}

macro_rules! rules_are_kept {
    ($($rule:ident),+ $(,)?) => {
        $(
            #[test]
            fn $rule() {
                kept(rules::$rule);
            }
        )+
    };
}

rules_are_kept!(
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
    uploads_at_once_have_one_order_without_a_gap_or_a_repeat,
);

#[test]
fn requests_in_any_order_are_answered_as_the_model_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (runtime, storage) = (runtime(), open(&folder.path().join("sync.db"), Durability::Consistent));
    let users = std::cell::Cell::new(0);
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(&asked(), |asked| {
        users.set(users.get() + 1);
        runtime.block_on(does_as_the_model(&storage, &users.get().to_string(), &asked));
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn a_store_that_is_opened_again_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sync.db");
    let runtime = runtime();
    for round in 0..3_u64 {
        let storage = open(&path, Durability::Consistent);
        runtime.block_on(async {
            let phone = device(&storage, "ada", "phone").await;
            assert_eq!(stored(&storage, phone, [set("a", &round.to_string())]).await.revisions, [round + 1]);
            assert_eq!(follow(&storage, phone, 0, 10).await.0.len(), 1);
        });
    }
}
