//! The scenario that the load generator is given: the suite's, with what a run alone knows.

use crate::error::{Error, ErrorKind, Result};
use crate::random::Stream;
use rand::RngExt;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use touchstone::plan::PlannedLoad;

/// What a run knows of a window.
#[derive(Clone)]
pub(super) struct Scene<'s> {
    pub(super) load: &'s PlannedLoad,
    pub(super) port: u16,
    /// What makes its objects' names unlike those of any other window.
    pub(super) run: String,
    /// What stands in the data of its changes behind the object's name.
    pub(super) text: Arc<str>,
    pub(super) seed: u64,
    pub(super) length_ms: u64,
    /// Whether users do all that a user does first, or only what later steps of theirs need.
    pub(super) is_first: bool,
    /// The processor that the generator is kept on, where there are several.
    pub(super) processor: Option<usize>,
}

/// What stands in the data of a window's changes behind their objects' names, which is not in any other window's: letters, twenty fewer
/// than a value of the dataset has bytes. So the lab knows what must come back.
pub(super) fn text(value_bytes: u64, random: &mut Stream) -> Arc<str> {
    let letter = |_| char::from(b'a' + random.random_range(0..26_u8));
    let letters: String = (0..value_bytes.saturating_sub(20)).map(letter).collect();
    Arc::from(letters)
}

impl Scene<'_> {
    /// The scenario's text for a window of that length.
    ///
    /// # Errors
    /// When the scenario cannot be written.
    pub(super) fn closed(&self) -> Result<String> {
        self.written(&self.scenario())
    }

    /// The suite's scenario with what a run alone knows: where the service is, how long and how many ask, names, a seed.
    fn scenario(&self) -> Value {
        let mut asks: Map<String, Value> = self.load.scenario.asks.clone();
        asks.insert("name".into(), json!(self.load.scenario.name));
        asks.insert("host".into(), json!(format!("http://127.0.0.1:{}", self.port)));
        let mut phase = json!({ "name": "window", "users": self.load.users });
        phase["length"] = json!(format!("{}ms", self.length_ms));
        asks.insert("phase".into(), json!([phase]));
        let load = asks.entry("load").or_insert_with(|| json!({}));
        load["seed"] = json!(self.seed >> 1);
        if let Some(processor) = self.processor {
            load["processors"] = json!([processor]);
        }
        let values = asks.entry("values").or_insert_with(|| json!({}));
        values["run"] = json!(self.run);
        values["text"] = json!(&*self.text);
        if !self.is_first {
            let needed = self.load.scenario.setting_up();
            if let Some(setup) = asks.get_mut("setup").and_then(Value::as_array_mut) {
                setup.retain(|name| name.as_str().is_some_and(|name| needed.contains(&name)));
            }
        }
        Value::Object(asks)
    }

    /// The scenario's text for whoever says how much is asked: without phases, and with names that no step of a search has twice. Its own
    /// name is the service's, for the page that the generator makes of it.
    ///
    /// # Errors
    /// When the scenario cannot be written.
    pub(super) fn open_ended(&self, service: &str, about: &str) -> Result<String> {
        let mut scenario = self.scenario();
        if let Some(asks) = scenario.as_object_mut() {
            asks.remove("phase");
            asks.insert("name".into(), json!(service));
            asks.insert("summary".into(), json!(about));
            asks["load"]["users"] = json!(self.load.users);
            let requests = asks.get_mut("request").and_then(Value::as_array_mut);
            requests.into_iter().flatten().for_each(ask_for_no_names);
        }
        Ok(self.written(&scenario)?.replace("${run}", "${uuid}"))
    }

    fn written(&self, scenario: &Value) -> Result<String> {
        toml::to_string(scenario).map_err(|error| {
            let name = &self.load.scenario.name;
            Error::new(ErrorKind::Input, format!("the scenario `{name}` cannot be written: {error}"))
        })
    }
}

/// Names that are random are not known when an answer comes.
fn ask_for_no_names(request: &mut Value) {
    if let Some(texts) = request.pointer_mut("/check/contains").and_then(Value::as_array_mut) {
        texts.retain(|text| !text.as_str().is_some_and(|text| text.contains("${run}")));
    }
}
