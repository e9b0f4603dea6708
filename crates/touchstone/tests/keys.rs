//! Rows have a key where they are got by it, and only there: the page of `wcdb` has a table without one.

mod small;

use small::choice;
use touchstone::plan::Plan;

const SUITE: &str = r#"
[[dataset]]
name = "data"
record = "row"
records = 10
value_bytes = 10
[[case]]
id = "read"
title = "Read"
dataset = "data"
lanes = [{ verb = "read-all" }]
baseline = "one@plain"
arms = ["one@plain", { contender = "one@plain", variant = "other", lanes = [{ verb = "read-all" }] }]
"#;

fn keyed(suite: &str) -> Vec<bool> {
    let Plan { cases, .. } = small::plan(suite, &choice()).unwrap();
    cases[0].arms.iter().map(|arm| arm.schema(&cases[0], true).keyed).collect()
}

#[test]
fn rows_have_a_key_where_any_arm_gets_them() {
    assert_eq!(keyed(SUITE), [false, false]);
    assert_eq!(keyed(&SUITE.replacen("read-all", "get", 1)), [true, true]);
    let variant = "variant = \"other\", lanes = [{ verb = \"read-all\"";
    assert_eq!(keyed(&SUITE.replace(variant, &variant.replace("read-all", "get"))), [true, true]);
    let documents = SUITE.replace("\"row\"", "\"document\"").replacen("read-all", "get", 1);
    assert_eq!(keyed(&documents), [false, false], "documents have their own schema");
}
