//! Plays the golden conversations against every driver of this workspace that is a contender.

mod conversation;
mod lab;

#[test]
fn every_contender_speaks_the_golden_conversations() {
    for program in [
        env!("CARGO_BIN_EXE_sqlite-c"),
        env!("CARGO_BIN_EXE_rusqlite"),
        env!("CARGO_BIN_EXE_rusqlite-plain"),
        env!("CARGO_BIN_EXE_diesel"),
        env!("CARGO_BIN_EXE_redb"),
    ] {
        conversation::play_all(program, 8);
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
