//! Plays the golden conversations against every driver of this workspace that is a contender.

mod contenders;
mod conversation;
mod lab;

use std::collections::BTreeSet;

#[test]
fn every_contender_speaks_the_golden_conversations() {
    let programs: BTreeSet<String> =
        contenders::contenders().into_iter().map(|contender| contender.program).collect();
    for program in programs {
        // Objects are beyond some, and subscriptions to them beyond most; mixed load is beyond one.
        let count = match program.rsplit('/').next() {
            Some("redb") => 9,
            Some("rusqlite-plain") => 10,
            Some("refetch" | "naive") => 13,
            Some("store") => 14,
            _ => 12,
        };
        conversation::play_all(&program, count);
    }
}
