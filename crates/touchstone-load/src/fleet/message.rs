//! A message between Locust's master and a worker: its type, its data and the worker's name, in MessagePack.

use rmpv::Value;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What it is, as `spawn`.
    pub kind: String,
    /// What goes with it.
    pub data: Value,
    /// The worker that sends it, or to which it goes.
    pub node: String,
}

/// A map whose keys are words.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// What stands in a map under a word.
pub fn entry<'v>(map: &'v Value, key: &str) -> Option<&'v Value> {
    map.as_map()?.iter().find(|(known, _)| known.as_str() == Some(key)).map(|(_, value)| value)
}

/// A number, whether it has a fraction or not.
pub fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_i64().map(|whole| whole as f64))
}

impl Message {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = vec![self.kind.as_str().into(), self.data.clone(), self.node.as_str().into()];
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &Value::Array(parts)).expect("a vector takes all bytes");
        bytes
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Message, String> {
        let value =
            rmpv::decode::read_value(&mut bytes).map_err(|error| format!("it is no MessagePack: {error}"))?;
        let Value::Array(parts) = value else { return Err("it is no array".into()) };
        let Ok([kind, data, node]) = <[Value; 3]>::try_from(parts) else {
            return Err("it has not the three parts: type, data and node".into());
        };
        let kind = kind.as_str().ok_or("its type is no text")?.to_owned();
        Ok(Message { kind, data, node: node.as_str().unwrap_or_default().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let data = map([("state", "ready".into()), ("current_cpu_usage", 12.5.into())]);
        let message = Message { kind: "heartbeat".into(), data, node: "a_1".into() };
        assert_eq!(Message::from_bytes(&message.to_bytes()), Ok(message.clone()));
        assert_eq!(entry(&message.data, "current_cpu_usage").and_then(number), Some(12.5));
        assert_eq!((entry(&message.data, "other"), entry(&Value::Nil, "state")), (None, None));
    }

    /// What Python's `msgpack.dumps(("ack", {"index": 3}, "w"))` writes.
    #[test]
    fn what_python_writes_is_read() {
        let message = Message::from_bytes(b"\x93\xa3ack\x81\xa5index\x03\xa1w").expect("it is one");
        assert_eq!((message.kind.as_str(), message.node.as_str()), ("ack", "w"));
        assert_eq!(entry(&message.data, "index").and_then(Value::as_u64), Some(3));
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Message::from_bytes(&bytes);
        }
    }
}
