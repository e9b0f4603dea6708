//! The text that `contains` looks for, with its searcher: prepared once for a query, not for each row.

use memchr::memmem::Finder;
use std::fmt;
use std::sync::Arc;

/// A text to look for, shared by the clones of a condition.
#[derive(Clone)]
pub(crate) struct Sought(Arc<Prepared>);

struct Prepared {
    text: String,
    finder: Finder<'static>,
}

impl Sought {
    pub(crate) fn new(text: String) -> Sought {
        let finder = Finder::new(&text).into_owned();
        Sought(Arc::new(Prepared { text, finder }))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the bytes contain the text.
    #[inline]
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.finder.find(bytes).is_some()
    }
}

impl PartialEq for Sought {
    fn eq(&self, other: &Sought) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Sought {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        #[test]
        fn a_text_contains_a_part_where_sqlite_says_so(text in "[abä]{0,40}", part in "[abä]{0,4}") {
            thread_local!(static SQLITE: rusqlite::Connection =
                rusqlite::Connection::open_in_memory().expect("it opens"));
            let by_sqlite: bool = SQLITE.with(|sqlite| {
                sqlite.query_row("select instr(?1, ?2) > 0", [&text, &part], |row| row.get(0))
            }).expect("it is asked");
            prop_assert_eq!(Sought::new(part).is_in(text.as_bytes()), by_sqlite);
        }
    }
}
