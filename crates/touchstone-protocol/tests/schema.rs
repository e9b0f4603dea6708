//! `protocol/schema.json` against the Rust types and the golden conversations: the three say the same.

use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use touchstone_protocol::{
    Clock, Delivery, Depth, Failure, FailureKind, Hello, Lane, LaneSample, Opened, PROTOCOL_VERSION, Plan,
    RecordKind, Reply, Request, Run, SETTING_NAMES, Sample, Schema, Served, Setting, Settings, Stretch,
    Usage, Verb,
};

fn protocol() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../protocol")
}

/// The schema itself, or one of its definitions: `request`, `reply`.
fn schema(definition: &str) -> Validator {
    let text = fs::read_to_string(protocol().join("schema.json")).expect("the schema is there");
    let mut schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    schema.as_object_mut().expect("the schema is an object").remove("oneOf");
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::draft202012::new(&schema).expect("the schema is one")
}

fn lane(verb: Verb, held: bool) -> Lane {
    let delivers = verb == Verb::Deliver;
    Lane {
        held,
        table: 2,
        above: (verb == Verb::Find).then_some(-3),
        changes: delivers.then_some(100),
        depth: delivers.then_some(if held { Depth::Diff } else { Depth::Iterated }),
        stretch: delivers.then_some(if held { Stretch::Commit } else { Stretch::Both }),
        transaction: (verb == Verb::Mix).then_some(10),
        lasts_ms: (verb == Verb::Mix && held).then_some(60_000),
        ..Lane::new(verb, 7, 50)
    }
}

/// One request of every kind, and a second where a field may be null.
fn requests() -> Vec<Request> {
    let lanes: Vec<Lane> =
        Verb::ALL.iter().flat_map(|verb| [lane(*verb, false), lane(*verb, true)]).collect();
    let settings = Settings::from([
        ("journal_mode".into(), Setting::from("WAL")),
        ("cache_size_bytes".into(), Setting::from(2_048_000)),
        ("odd".into(), Setting::from(-1)),
    ]);
    let schema = Schema { create: true, tables: 3, keyed: true, typed: true, indexes: vec!["id".into()] };
    let open = |record| Request::Open {
        directory: "launch/one".into(),
        record,
        schema: schema.clone(),
        settings: settings.clone(),
    };
    let prepare = |operations: Option<&str>| Request::Prepare {
        record: RecordKind::Row,
        dataset: "rows.dataset".into(),
        operations: operations.map(Into::into),
        states: operations.map(|_| "rows.states".into()),
        subscriptions: operations.map(|_| "rows.subscriptions".into()),
    };
    let requests = vec![
        Request::Hello { protocol: PROTOCOL_VERSION },
        prepare(Some("rows.operations")),
        prepare(None),
        open(RecordKind::Row),
        open(RecordKind::Document),
        open(RecordKind::Doc),
        Request::Fill { from: 0, count: 1000, table: 1 },
        Request::Churn { from: 0, count: 1000, table: 1, times: 10 },
        Request::Watch { count: 1000 },
        Request::Run(Run {
            latency: Some("latency.u64".into()),
            series: Some("series".into()),
            ..Run::of(lanes.clone())
        }),
        Request::Run(Run::of(lanes.clone())),
        Request::Explain { lanes },
        Request::Check { table: 3 },
        Request::Serve { directory: "launch/one".into(), port: 0, settings: settings.clone() },
        Request::Close,
        Request::Quit,
    ];
    // A new kind of request does not compile here until it stands in the list above.
    for request in &requests {
        match request {
            Request::Hello { .. } | Request::Prepare { .. } | Request::Open { .. } | Request::Fill { .. } => {
            }
            Request::Churn { .. }
            | Request::Watch { .. }
            | Request::Run(_)
            | Request::Explain { .. }
            | Request::Check { .. } => {}
            Request::Serve { .. } | Request::Close | Request::Quit => {}
        }
    }
    requests
}

/// One reply of every kind.
fn replies() -> Vec<Reply> {
    let usage = Usage {
        voluntary_switches: 1,
        involuntary_switches: 2,
        major_faults: 3,
        read_bytes: 4,
        written_bytes: 5,
    };
    let sample = LaneSample {
        wall_ns: 2_000_000,
        answers: 48,
        digest: "00c0ffee".into(),
        errors: [("busy".to_owned(), 2)].into(),
        delivery: Some(Delivery { write_ns: 4, commit_ns: 3, delivery_ns: 2, depth_ns: 1, differing: 0 }),
        played: Some(100),
    };
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        kit: "rust 0.1.0".into(),
        subject: "shelf".into(),
        version: "1.2".into(),
        engine: "none".into(),
        engine_source: String::new(),
        compile_options: vec!["THREADSAFE=1".into()],
        capabilities: ["row.get", "row.mix", "document.held", "doc.watch-one"].map(str::to_owned).to_vec(),
        clock: Clock { name: "monotonic".into(), cost_ns: 24.5, resolution_ns: 1 },
    };
    let error = |kind| Reply::Error(Failure { kind, message: "database is locked".into() });
    let mut replies = vec![
        Reply::Hello(hello),
        Reply::Prepare { records: 500, operations: 131_072, states: 40, subscriptions: 7 },
        Reply::Open(Opened { settings: [("synchronous".to_owned(), Setting::from("full"))].into() }),
        Reply::Fill,
        Reply::Churn,
        Reply::Watch,
        Reply::Run(Sample { wall_ns: 2_000_000, cpu_ns: 1_900_000, lanes: vec![sample], usage }),
        Reply::Explain(Plan {
            plan: vec!["SEARCH".into()],
            counters: [("vm_steps".to_owned(), 12), ("odd".to_owned(), -1)].into(),
        }),
        Reply::Check { answers: 500, digest: "00000000".into() },
        Reply::Serve(Served { port: 8000, settings: Settings::new() }),
        Reply::Close,
        Reply::Quit,
    ];
    use FailureKind::{Busy, Corrupt, Full, Io, Other, Protocol, Unsupported};
    replies.extend([Unsupported, Busy, Full, Io, Corrupt, Protocol, Other].map(error));
    // As above.
    for reply in &replies {
        match reply {
            Reply::Hello(_) | Reply::Prepare { .. } | Reply::Open(_) | Reply::Fill | Reply::Churn => {}
            Reply::Run(_) | Reply::Watch => {}
            Reply::Explain(_)
            | Reply::Check { .. }
            | Reply::Serve(_)
            | Reply::Close
            | Reply::Quit
            | Reply::Error(_) => {}
        }
    }
    replies
}

fn values<T: serde::Serialize>(messages: Vec<T>) -> Vec<Value> {
    messages.into_iter().map(|message| serde_json::to_value(message).expect("a message is JSON")).collect()
}

/// Where the objects of a message are, as JSON pointers; the message itself first.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(at.to_owned());
            fields.iter().for_each(|(name, field)| objects(field, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| objects(item, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// Whether an object's names are free: settings, counters and errors have whatever names they need.
fn is_map(pointer: &str) -> bool {
    ["/settings", "/counters", "/errors"].iter().any(|map| pointer.ends_with(map))
}

/// The message with each field of each object taken out in turn, and which it was.
fn with_one_field_less(message: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    objects(message, "", &mut pointers);
    let mut cut = Vec::new();
    for pointer in pointers.iter().filter(|pointer| !is_map(pointer)) {
        let object = message.pointer(pointer).and_then(Value::as_object).expect("an object was found there");
        for name in object.keys() {
            let mut less = message.clone();
            less.pointer_mut(pointer)
                .and_then(Value::as_object_mut)
                .expect("it is the same message")
                .remove(name);
            cut.push((format!("{pointer}/{name}"), less));
        }
    }
    cut
}

#[test]
fn every_request_of_the_types_is_one_of_the_schema() {
    let schema = schema("request");
    let mut kinds = BTreeSet::new();
    for request in values(requests()) {
        assert!(schema.is_valid(&request), "{request}: {:?}", schema.iter_errors(&request).next());
        kinds.insert(request["request"].as_str().expect("a request has a name").to_owned());
    }
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

#[test]
fn every_reply_of_the_types_is_one_of_the_schema() {
    let schema = schema("reply");
    let mut kinds = BTreeSet::new();
    for reply in values(replies()) {
        assert!(schema.is_valid(&reply), "{reply}: {:?}", schema.iter_errors(&reply).next());
        kinds.insert(reply["reply"].as_str().expect("a reply has a name").to_owned());
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

#[test]
fn a_request_is_no_reply_and_a_reply_is_no_request() {
    let (request_schema, reply_schema) = (schema("request"), schema("reply"));
    assert!(values(requests()).iter().all(|request| !reply_schema.is_valid(request)));
    assert!(values(replies()).iter().all(|reply| !request_schema.is_valid(reply)));
}

#[test]
fn a_request_with_a_field_too_many_is_refused() {
    let schema = schema("request");
    for request in values(requests()) {
        let mut pointers = Vec::new();
        objects(&request, "", &mut pointers);
        for pointer in pointers.iter().filter(|pointer| !is_map(pointer)) {
            let mut more = request.clone();
            more.pointer_mut(pointer).expect("an object was found there")["speed"] = json!(9);
            assert!(!schema.is_valid(&more), "{more}");
        }
    }
}

#[test]
fn a_request_with_a_field_too_few_is_refused() {
    let schema = schema("request");
    for request in values(requests()) {
        for (field, less) in with_one_field_less(&request) {
            let names = [
                "held",
                "keyed",
                "table",
                "typed",
                "above",
                "states",
                "subscriptions",
                "changes",
                "depth",
                "stretch",
                "transaction",
                "lasts_ms",
                "series",
            ];
            let optional = names.iter().any(|name| field.ends_with(&format!("/{name}")));
            assert_eq!(schema.is_valid(&less), optional, "{field} is missing: {less}");
        }
    }
}

/// The lab reads replies through the types, so the two must agree on what a kit may leave out.
#[test]
fn a_reply_with_a_field_too_few_is_refused_by_schema_and_types_alike() {
    let schema = schema("reply");
    let mut optional = BTreeSet::new();
    for reply in values(replies()) {
        for (field, less) in with_one_field_less(&reply) {
            let read = serde_json::from_value::<Reply>(less.clone()).is_ok();
            assert_eq!(schema.is_valid(&less), read, "{field} is missing: {less}");
            if read {
                optional.insert(field);
            }
        }
    }
    assert!(optional.contains("/usage") && optional.contains("/engine_source"), "{optional:?}");
    assert!(!optional.contains("/wall_ns") && !optional.contains("/digest"), "{optional:?}");
}

#[test]
fn values_that_no_kit_may_send_are_refused() {
    let schema = schema("reply");
    let bad = [
        json!({"reply": "check", "answers": -1, "digest": "00000000"}),
        json!({"reply": "check", "answers": 1, "digest": "C0FFEE00"}),
        json!({"reply": "check", "answers": 1.5, "digest": "00000000"}),
        json!({"reply": "check", "answers": 9_007_199_254_740_992_u64, "digest": "00000000"}),
        json!({"reply": "error", "kind": "tired", "message": ""}),
        json!({"reply": "open", "settings": {"journal_mode": "WAL"}}),
        json!({"reply": "open", "settings": {"cache_size_bytes": 1.5}}),
        json!({"reply": "dance"}),
        json!({}),
        json!([]),
    ];
    for reply in bad {
        assert!(!schema.is_valid(&reply), "{reply}");
    }
    let more = json!({"reply": "check", "answers": 1, "digest": "00000000", "mood": "good"});
    assert!(schema.is_valid(&more), "a reply may say more");
}

/// Puts a value of its type in the place of each `"<number>"` and its like.
fn filled(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.as_str() {
            "<number>" => json!(1),
            "<text>" => json!("00c0ffee"),
            "<list>" => json!([]),
            "<object>" => json!({}),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(filled).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), filled(field))).collect(),
        _ => value.clone(),
    }
}

#[test]
fn every_line_of_the_golden_conversations_is_a_message_of_the_schema() {
    let (request_schema, reply_schema) = (schema("request"), schema("reply"));
    let folder = fs::read_dir(protocol().join("conversations")).expect("there are conversations");
    let files = folder.filter_map(|entry| Some(entry.ok()?.path()));
    let mut messages = 0;
    for path in files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
        let text = fs::read_to_string(&path).expect("a conversation can be read");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
        for (index, line) in lines.iter().enumerate() {
            let at = format!("{}:{}", path.display(), index + 1);
            if let Some(request) = line.get("lab").filter(|said| !said.is_null()) {
                // What the kit must call a breach of protocol need not be a request.
                let answer = lines.get(index + 1).and_then(|line| line.get("kit"));
                let breach = answer.is_some_and(|answer| answer["kind"] == "protocol");
                assert!(breach || request_schema.is_valid(request), "{at}: {request}");
            } else if let Some(reply) = line.get("kit").filter(|said| !said.is_null()) {
                let reply = filled(reply);
                let error = reply_schema.iter_errors(&reply).next().map(|error| error.to_string());
                assert!(reply_schema.is_valid(&reply), "{at}: {reply}: {error:?}");
                messages += 1;
            }
        }
    }
    assert!(messages > 20, "only {messages} replies were found");
}

#[test]
fn the_neutral_names_of_settings_are_those_of_the_page() {
    let page = fs::read_to_string(protocol().join("README.md")).expect("the page is there");
    let begin = page.find("`settings` are asked by neutral name").expect("the page has their table");
    let rows = page[begin..]
        .lines()
        .skip_while(|line| !line.starts_with("| `"))
        .take_while(|line| line.starts_with('|'));
    let names = |row: &'_ str| -> Vec<String> {
        let cell = row.split('|').nth(1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let told: BTreeSet<String> = rows.flat_map(names).collect();
    let known: BTreeSet<String> = SETTING_NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(told, known);
}
