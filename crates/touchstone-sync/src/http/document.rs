//! The OpenAPI document. It is made of the code, and kept beside it: what the service gives out is read in a review like the code, and a
//! build of the service makes none. A test says where the code makes another.

/// The document, as it is given out.
pub const OPENAPI: &str = include_str!("openapi.json");

#[cfg(feature = "openapi")]
pub use made::made;

#[cfg(feature = "openapi")]
mod made {
    use crate::http::{devices, download, full, health, register, upload, watch};
    use serde_json::json;
    use utoipa::Modify;
    use utoipa::openapi::OpenApi;
    use utoipa::openapi::schema::{AllOfBuilder, Schema};
    use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

    #[derive(utoipa::OpenApi)]
    #[openapi(
        info(
            title = "touchstone-sync",
            description = "Devices of one user upload changes of objects, and download those of the user's other devices.",
            license(name = "MIT OR Apache-2.0")
        ),
        paths(
            register::register,
            upload::upload,
            download::download,
            full::full,
            watch::watch,
            devices::devices,
            health::alive,
            health::ready,
        ),
        modifiers(&Bearer, &Kinds),
        security(("token" = []))
    )]
    struct Document;

    /// The document that the code makes, as it is kept.
    ///
    /// # Panics
    /// Never: every document can be written as JSON.
    pub fn made() -> String {
        let document = <Document as utoipa::OpenApi>::openapi();
        document.to_pretty_json().expect("a document is JSON") + "\n"
    }

    /// Adds how a request says who asks.
    struct Bearer;

    impl Modify for Bearer {
        fn modify(&self, document: &mut OpenApi) {
            let components = document.components.get_or_insert_default();
            let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
            components.add_security_scheme("token", scheme);
        }
    }

    /// Adds what a struct cannot say: a change has data, or it is a deletion.
    struct Kinds;

    impl Modify for Kinds {
        fn modify(&self, document: &mut OpenApi) {
            let kinds = json!({"oneOf": [
                {"type": "object", "required": ["data"], "properties": {
                    "data": {"type": "string"}, "deleted": {"type": "boolean", "enum": [false]},
                }},
                {"type": "object", "required": ["deleted"], "properties": {
                    "data": {"type": "null"}, "deleted": {"type": "boolean", "enum": [true]},
                }},
            ]});
            let kinds: Schema = serde_json::from_value(kinds).expect("it is a schema");
            let schemas = &mut document.components.get_or_insert_default().schemas;
            let change = schemas.get_mut("Change").expect("uploads have changes");
            *change = AllOfBuilder::new().item(change.clone()).item(kinds).into();
        }
    }
}
