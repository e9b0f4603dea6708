//! Plays the golden conversation of services against the driver.

#[path = "../../../drivers/tests/conversation/mod.rs"]
mod conversation;
#[path = "../../../drivers/tests/lab/mod.rs"]
mod lab;

#[test]
fn the_service_speaks_the_golden_conversations() {
    conversation::play_all(env!("CARGO_BIN_EXE_touchstone-sync"), 1);
}
