//! The check for UTF-8 agrees with the standard library's, at whatever position a byte lies that is not ASCII. Values of
//! keys in messages are told apart.

use super::{Mismatch, Raw, text};

#[test]
fn text_is_what_the_library_takes_for_text() {
    let wrong: [&[u8]; 6] = [b"\x80", b"\xc3", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"];
    let right = ["", "\0", "a", "\u{7f}", "\u{80}", "é", "字", "𝄞"].map(str::as_bytes);
    for length in (0..40).chain(60..70).chain([200]) {
        for at in 0..=length {
            for part in right.iter().chain(&wrong) {
                let mut bytes = vec![b'a'; length];
                bytes.splice(at..at, part.iter().copied());
                let expected = std::str::from_utf8(&bytes).map_err(|_| Mismatch::Utf8);
                assert_eq!(text(&bytes), expected, "of {bytes:?}");
            }
        }
    }
}

#[test]
fn a_long_value_is_shortened_in_a_message() {
    assert_eq!(Raw::Null.in_words(), "null");
    assert_eq!(Raw::Integer(-7).in_words(), "-7");
    assert_eq!(Raw::Text("é\"".as_bytes()).in_words(), r#""é\"""#);
    assert_eq!(Raw::Blob(b"\x00\xfe").in_words(), "x'00fe'");
    let whole = "é".repeat(60);
    assert_eq!(Raw::Text(whole.as_bytes()).in_words(), format!("{whole:?}"));
    assert_eq!(Raw::Text(format!("{whole}a").as_bytes()).in_words(), format!("{whole:?}…"));
    assert_eq!(Raw::Blob(&[0; 61]).in_words(), format!("x'{}'…", "00".repeat(60)));
}
