//! Names in the file: how a type's name becomes a table's, and which names are refused.

/// The type's name in snake case: `HTTPServer` is `http_server`.
pub fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let word_starts = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if word_starts {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Why a table cannot have the name.
pub fn table_complaint(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    if let Some(prefix) = ["sqlite_", "touchstone"].into_iter().find(|prefix| lower.starts_with(prefix)) {
        return Some(format!(
            "the table name `{name}` begins with `{prefix}`, which is reserved: choose another with \
             `#[record(name = \"…\")]`"
        ));
    }
    if lower.ends_with("_in_collections") {
        return Some(format!(
            "the table name `{name}` ends with `_in_collections`, as tables of named collections do: choose another \
             with `#[record(name = \"…\")]`"
        ));
    }
    let what = format!("the table name `{name}`");
    (!is_plain(name)).then(|| plain_complaint(&what, "name"))
}

/// Why a column cannot have the name.
pub fn column_complaint(name: &str) -> Option<String> {
    // SQLite answers to these names with the row's number, unless a column takes them away.
    if ["rowid", "oid", "_rowid_"].iter().any(|hidden| name.eq_ignore_ascii_case(hidden)) {
        return Some(format!(
            "the column name `{name}` is SQLite's own for the row's number: choose another with \
             `#[record(column = \"…\")]`"
        ));
    }
    if name.to_ascii_lowercase().starts_with("touchstone_") {
        return Some(format!(
            "the column name `{name}` begins with `touchstone_`, which is reserved: choose another with \
             `#[record(column = \"…\")]`"
        ));
    }
    let what = format!("the column name `{name}`");
    (!is_plain(name)).then(|| plain_complaint(&what, "column"))
}

fn plain_complaint(what: &str, attribute: &str) -> String {
    format!(
        "{what} is not made of ASCII letters, digits and `_`, or begins with a digit: choose another with \
         `#[record({attribute} = \"…\")]`"
    )
}

/// Plain names need no quotes in hand-written SQL.
fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_tables_in_snake_case() {
        for (name, table) in [
            ("Task", "task"),
            ("TaskList", "task_list"),
            ("HTTPServer", "http_server"),
            ("Point2D", "point2_d"),
            ("V2", "v2"),
            ("Already_Snake", "already_snake"),
            ("ÉtéTard", "été_tard"),
        ] {
            assert_eq!(snake_case(name), table);
        }
    }

    #[test]
    fn reserved_and_strange_names_are_refused() {
        for name in [
            "sqlite_master",
            "SQLite_x",
            "touchstone",
            "TouchStone_meta",
            "note_In_Collections",
            "",
            "1a",
            "a b",
            "été",
        ] {
            assert!(table_complaint(name).is_some(), "{name}");
        }
        for name in ["rowid", "OID", "_RowID_", "Touchstone_collection", "", "9", "a-b", "a\"b"] {
            assert!(column_complaint(name).is_some(), "{name}");
        }
        for name in ["task", "_", "Task2", "sqlite", "order"] {
            assert_eq!(table_complaint(name), None);
            assert_eq!(column_complaint(name), None);
        }
    }
}
