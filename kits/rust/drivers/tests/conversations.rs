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
        // Objects are beyond some; the two conversations about them are played by the others.
        let count = if program.ends_with("redb") { 8 } else { 10 };
        conversation::play_all(&program, count);
    }
}

#[test]
fn canaries_speak_the_conversations_that_their_capabilities_allow() {
    // Neither of these does mischief to the few gets of a conversation.
    conversation::play_all(env!("CARGO_BIN_EXE_canary-slow"), 8);
    conversation::play_all(env!("CARGO_BIN_EXE_canary-wrong"), 7);
    // It has no rows, so it plays the two about documents.
    conversation::play_all(env!("CARGO_BIN_EXE_canary-hand"), 2);
}
