//! What the requests of a scenario must be like, so that the lab can follow which changes were uploaded and with what data: otherwise an
//! honest service would look like one that loses changes, or makes some up. Everything else about a scenario is for the load generator to
//! say.

use crate::suite::{DELTA, Scenario};
use serde_json::Value;

/// An upload's body.
const UPLOAD: &str = r#"{"changes":[${changes}]}"#;

/// Whose an upload is, as the lab knows the devices that it has made.
const CLIENT: &str = "device-${user}";

/// A change that users upload: the lab fills these places in itself, and so knows what must come back. `run` and `text` are other in
/// each window.
const CHANGE: &str =
    r#"{"id":"${run}-${user}-${iteration}-${item}","data":"${run}-${user}-${iteration}-${item} ${text}"}"#;

impl Scenario {
    /// Says what the lab could not follow, in words that name the request.
    pub(super) fn check_followed(&self) -> Result<(), String> {
        let requests = self.asks.get("request").and_then(Value::as_array).into_iter().flatten();
        requests.clone().try_for_each(check_name)?;
        if self.asks.get("flow").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            return Err(
                "it has no `[[flow]]`: what users do once they are set up is told by flows alone".into()
            );
        }
        let text = |request: &Value, key: &str| request[key].as_str().unwrap_or_default().to_owned();
        let uploads = requests
            .filter(|request| request.get("body").is_some() && text(request, "path").starts_with(DELTA));
        for upload in uploads {
            let (name, path) = (text(upload, "name"), text(upload, "path"));
            if path != DELTA {
                return Err(format!(
                    "request `{name}` has a body and the path `{path}`: an upload's path is {DELTA} alone, by which the lab knows it"
                ));
            }
            if text(upload, "body") != UPLOAD {
                return Err(format!("request `{name}` uploads, so its `body` is '{UPLOAD}'"));
            }
            check_client(upload, &name)?;
            self.check_changes().map_err(|message| format!("request `{name}` uploads, and {message}"))?;
        }
        Ok(())
    }

    fn check_changes(&self) -> Result<(), String> {
        let changes = self.asks.get("fragment").map_or(&Value::Null, |fragments| &fragments["changes"]);
        if changes["count"].as_u64().is_none_or(|count| count == 0) {
            return Err("there is no fragment `changes` with a `count` of at least 1".into());
        }
        if changes["text"].as_str() != Some(CHANGE) {
            return Err(format!(
                "the `text` of the fragment `changes` is not '{CHANGE}': with that the lab knows what must come back"
            ));
        }
        if changes["separator"].as_str() != Some(",") {
            return Err("the `separator` of the fragment `changes` is not \",\"".into());
        }
        Ok(())
    }
}

fn check_client(upload: &Value, name: &str) -> Result<(), String> {
    let client = upload["headers"].as_object().and_then(|headers| {
        let (_, client) = headers.iter().find(|(header, _)| header.eq_ignore_ascii_case("x-client"))?;
        client.as_str()
    });
    if client != Some(CLIENT) {
        return Err(format!("request `{name}` uploads, so its header `x-client` is \"{CLIENT}\""));
    }
    if upload.get("status").is_some() {
        return Err(format!(
            "request `{name}` uploads, so it has no `status`: an answer from 200 to 299 acknowledges, and no other"
        ));
    }
    Ok(())
}

/// The generator writes a line of fields for each request, with a comma between them.
fn check_name(request: &Value) -> Result<(), String> {
    match request["name"].as_str() {
        Some(name) if name.contains([',', '"', '\n', '\r']) => Err(format!(
            "the request's name `{}` has a comma, a quotation mark or a line break: name it without, for it is a field of a line",
            name.escape_debug()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(body: &str, text: &str, separator: &str) -> Result<(), String> {
        let headers = json!({ "X-Client": CLIENT });
        let upload = json!({ "name": "upload", "path": DELTA, "headers": headers, "body": body });
        let changes = json!({ "count": 3, "separator": separator, "text": text });
        let flow = json!({ "name": "upload", "steps": ["upload"] });
        let asks =
            json!({ "name": "s", "request": [upload], "flow": [flow], "fragment": { "changes": changes } });
        serde_json::from_value::<Scenario>(asks).expect("it is a scenario").check_followed()
    }

    #[test]
    fn an_upload_is_what_the_lab_can_compare() {
        assert_eq!(checked(UPLOAD, CHANGE, ","), Ok(()));
        let told = |body: &str, text: &str, separator: &str| {
            checked(body, text, separator).expect_err("it cannot be compared")
        };
        assert!(told("{}", CHANGE, ",").contains("`upload` uploads, so its `body` is"));
        let letters = CHANGE.replace("${text}", "${letters 170}");
        assert!(told(UPLOAD, &letters, ",").contains("the `text` of"));
        assert!(told(UPLOAD, CHANGE, ", ").contains("the `separator`"));
    }
}
