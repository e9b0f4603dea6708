//! What the derives refuse, and what they say: each case in `tests/ui` has its message beside it.

#[test]
fn what_cannot_be_stored_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
