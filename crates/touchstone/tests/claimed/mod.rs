//! A small suite's cases, and claims about them, for tests of what is decided and of what is refused.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub const CASES: &str = r#"
[[reference]]
id = "page"
kind = "page"
title = "its only table"
[[reference]]
id = "own"
kind = "ours"
title = "the suite's author"
[[stand_in]]
library = "Alpha"
subject = "one"
why = "it does as Alpha does"
[[stand_in]]
library = "Beta"
subject = "two"
why = "it does as Beta does"
[[dataset]]
name = "rows"
record = "row"
records = 10
value_bytes = 10
[[case]]
id = "read"
title = "Read"
dataset = "rows"
lanes = [{ verb = "read-all" }]
baseline = "two@plain"
arms = ["one@plain", "two@plain", { contender = "one@plain", variant = "again" }]
[[case]]
id = "write"
title = "Write"
dataset = "rows"
filled = 0
cache = "warm"
lanes = [{ verb = "insert-one" }]
baseline = "two@plain"
arms = ["one@plain", "two@plain"]
"#;

pub const ADVANTAGE: &str = r#"
[[claim]]
id = "claimed"
statement = "Alpha reads more than Beta"
words = "twice as much"
figure = [{ source = "page", value = 4.0, against = 2.0, unit = "rows/s" }]
pairs = [{ arm = "one@plain", against = "two@plain" }]
[[claim.test]]
measure = "rate"
case = "read"
rule = "advantage"
"#;

pub const EXACT: &str = r#"
[[claim]]
id = "claimed"
by = "ours"
statement = "Its plan says something"
[[claim.test]]
measure = "plan"
case = "read"
arm = "one@plain"
contains = "SEARCH"
"#;

pub const ELSEWHERE: &str = r#"
[[claim]]
id = "claimed"
statement = "About 70 reads a second on that device"
figure = [{ source = "page", value = 70.0, unit = "reads/s" }]
pairs = [{ arm = "one@plain" }]
[[claim.test]]
measure = "rate"
case = "read"
rule = "elsewhere"
"#;

pub const COUNTED: &str = r#"
[[claim]]
id = "claimed"
by = "ours"
statement = "It fails at nothing and keeps all"
[[claim.test]]
measure = "errors"
case = "read"
arm = "one@plain"
at_most = 0
[[claim.test]]
measure = "missing"
case = "read"
arm = "one@plain"
at_most = 0
"#;

pub const PERCENTILE: &str = r#"
[[claim]]
id = "claimed"
by = "ours"
statement = "A read takes less than a millisecond in 99 of 100"
[[claim.test]]
measure = "percentile"
percentile = 99.0
case = "read"
arm = "one@plain"
at_most = 1000000
[[claim.test]]
measure = "percentile"
percentile = 50.0
case = "read"
arm = "one@plain"
against = "two@plain"
at_most = 0.9
"#;

pub const SHARE: &str = r#"
[[claim]]
id = "claimed"
statement = "Its cache has a quarter of the pages"
figure = [{ source = "page", value = 25.0, unit = "%" }]
[[claim.test]]
measure = "hits"
case = "read"
arm = "one@plain"
rule = "level"
"#;

pub const TARGET: &str = r#"
[[claim]]
id = "claimed"
by = "ours"
statement = "Three of four reads find their page"
figure = [{ source = "page", value = 75.0, unit = "%" }]
[[claim.test]]
measure = "hits"
case = "read"
arm = "one@plain"
rule = "target"
"#;

/// How many reads a second stands in the place of `RATE`.
pub const RATE: &str = r#"
[[claim]]
id = "claimed"
by = "ours"
statement = "So many reads a second"
[[claim.test]]
measure = "rate"
case = "read"
arm = "one@plain"
at_least = RATE
"#;

pub const THROUGHPUT: &str = r#"
[[claim]]
id = "claimed"
statement = "Larger pages, more bytes a second"
figure = [{ source = "page", value = 4.0, against = 2.0, unit = "MiB/s" }]
[[claim.test]]
measure = "throughput"
case = "read"
arm = "one@plain"
against = "one@plain"
against_case = "read-small"
rule = "advantage"
[[case]]
id = "read-small"
title = "Read"
dataset = "rows"
operation_bytes = 4096
lanes = [{ verb = "read-all" }]
baseline = "one@plain"
arms = ["one@plain"]
"#;

pub const GROWTH: &str = r#"
[[claim]]
id = "claimed"
statement = "Its growth slows"
words = "growth slows"
[claim.refuted]
case = "read"
table = "Hits"
column = "hit_percent"
says = "growth-slows"
[[published_row]]
source = "page"
table = "Hits"
of = "1 page"
hit_percent = 1.01
[[published_row]]
source = "page"
table = "Hits"
of = "2 pages"
hit_percent = 2.01
[[published_row]]
source = "page"
table = "Hits"
of = "4 pages"
hit_percent = 8.01
"#;

pub const CURVE: &str = r#"
[[curve]]
title = "Reads by something"
shows = "rate"
along = "somethings"
point = [{ at = 1, case = "read" }, { at = 2, case = "write" }]
"#;
