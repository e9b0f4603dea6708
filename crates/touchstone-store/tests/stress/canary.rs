//! The mistakes by which a sanitizer shows that it sees, for `make sanitize`: a variable tells which.

/// Does nothing where no mistake is asked for.
#[test]
fn makes_a_mistake() {
    let Ok(mistake) = std::env::var("TOUCHSTONE_CANARY") else { return };
    assert!(touchstone_store::canary::make(&mistake), "there is no mistake `{mistake}`");
}
