//! The OpenAPI document: the table of routes, with the descriptions of [`operations`] and the
//! schemas of the types that are sent.

mod operations;
mod schemas;

use kato_model::KatoGeneration;
use kato_protocol::ErrorBody;
use kato_protocol::error::{FailureBody, InvalidRequest};
use schemars::Schema;
use serde_json::{Map, Value, json};

use self::operations::{Form, Kind, Operation};
use self::schemas::{Generators, SchemaOf, of};
use crate::lines::JSON_LINES;
use crate::routes::{Group, Route};
use crate::workers::Work;

/// Returns the document of the routes that are switched on, without those of the documentation
/// itself, of a server of a generation.
pub(crate) fn document(routes: &[&Route], generation: KatoGeneration) -> Value {
    let has_extensions = routes.iter().any(|route| route.group == Group::Extension);
    let mut generators = Generators::new();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes.iter().filter(|route| route.group != Group::Docs) {
        let operation = operations::for_route(&route.method, route.template);
        let path = paths.entry(route.template).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            let method = route.method.as_str().to_ascii_lowercase();
            path.insert(
                method,
                described(
                    route,
                    &operation,
                    (has_extensions, generation),
                    &mut generators,
                ),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "KATO API",
            "version": generation.release(),
            "description": "Knowledge Abstraction for Traceable Outcomes with Multi-User Support. Events are broadcast on the WebSocket /ws/events.",
        },
        "paths": paths,
        "components": {
            "schemas": generators.into_schemas(generation),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// The refusals of all operations by status: what they mean, and the schema of their bodies, if they
/// have one.
const REFUSALS: [(&str, &str, Option<SchemaOf>); 13] = [
    (
        "400",
        "The body cannot be read, or what it asks for cannot be done",
        Some(of::<ErrorBody>),
    ),
    ("401", "The server requires a token", Some(of::<ErrorBody>)),
    (
        "403",
        "A page elsewhere may not use the server",
        Some(of::<ErrorBody>),
    ),
    (
        "404",
        "Not found; a session may have expired, and no name in a path has a slash",
        Some(of::<ErrorBody>),
    ),
    (
        "408",
        "The body did not arrive in time",
        Some(of::<ErrorBody>),
    ),
    (
        "409",
        "Something else has come first; look again",
        Some(of::<ErrorBody>),
    ),
    ("413", "More than is read or kept", Some(of::<ErrorBody>)),
    ("422", "Validation Error", Some(of::<InvalidRequest>)),
    // Such a head is not read to its end.
    ("431", "The head of the request is too large", None),
    (
        "500",
        "The server failed, or what a node has learned cannot be read",
        Some(of::<ErrorBody>),
    ),
    (
        "503",
        "Too much to do, a node that is loaded again or in use by another program, a failed disk, or shutting down; Retry-After says when to try again",
        Some(of::<ErrorBody>),
    ),
    (
        "504",
        "The prediction took too long and was ended",
        Some(of::<ErrorBody>),
    ),
    (
        "507",
        "The answer, or what is to be kept, is larger than the room for it",
        Some(of::<ErrorBody>),
    ),
];

/// Returns whether an operation may be refused with a status.
fn is_refused_with(
    status: &str,
    route: &Route,
    operation: &Operation,
    has_parameters: bool,
) -> bool {
    let by_shape = match status {
        // Those two need no token.
        "401" => !matches!(route.template, "/" | "/health"),
        "403" | "431" | "503" => true,
        "404" => route.template.contains('{'),
        "400" | "408" | "413" => route.has_body,
        "422" => route.has_body || has_parameters,
        // What is light works with nothing that could fail, and answers little.
        "500" | "507" => route.work != Work::Light,
        _ => false,
    };
    by_shape || operation.refusals.contains(&status)
}

/// Returns the schema of a parameter of a path.
fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "run" => json!({"type": "string", "pattern": "^[0-9A-Za-z_]{1,32}$"}),
        // A path is decoded before it is cut into segments.
        _ => json!({"type": "string", "pattern": "^[^/]+$"}),
    };
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

/// Returns the schema of a parameter of the query.
fn query_parameter(name: &str, kind: Kind) -> Value {
    let schema = match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Texts(max) => json!({"type": "array", "items": {"type": "string"}, "maxItems": max}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::AtMost(max) => json!({"type": "integer", "minimum": i64::MIN, "maximum": max}),
        Kind::UpTo(max) => json!({"type": "integer", "minimum": 0, "maximum": max}),
        Kind::Flag => json!({"type": "boolean"}),
    };
    json!({"name": name, "in": "query", "required": false, "schema": schema})
}

/// Describes the operation of a route of a server that has extensions or not, of a generation.
fn described(
    route: &Route,
    operation: &Operation,
    (has_extensions, generation): (bool, KatoGeneration),
    generators: &mut Generators,
) -> Value {
    let json = |schema: Schema| json!({"application/json": {"schema": schema}});
    let mut parameters: Vec<Value> = route
        .template
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(path_parameter)
        .collect();
    let query = operation.query.iter();
    parameters.extend(query.map(|&(name, kind)| query_parameter(name, kind)));
    // Keys are an extension of operations that a stock KATO has as well, so the parameter is
    // marked, not the operation.
    if operation.takes_key && has_extensions {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
            "description": "A request that succeeded acts once when it is repeated with its key, as long as that is known.",
            "x-extension": true,
        }));
    }
    let mut ok = json!({});
    match operation.form {
        Form::Text => {}
        Form::Json | Form::JsonOrText => {
            ok = json((operation.answer)(&mut generators.answers));
        }
        Form::Lines => {
            let line = (operation.answer)(&mut generators.answers);
            // OpenAPI 3.1 has no word for the type of a line; 3.2 calls it so.
            ok[JSON_LINES] = json!({"schema": {"type": "string"}, "x-itemSchema": line});
        }
    }
    if operation.form == Form::Text || operation.form == Form::JsonOrText && has_extensions {
        ok["text/plain"] = json!({"schema": {"type": "string"}});
    }
    let mut responses =
        json!({(operation.status): {"description": "Successful Response", "content": ok}});
    for (status, description, schema) in REFUSALS {
        let is_of_learning = status == "409" && operation.teaches && generation.can_retire();
        if is_of_learning || is_refused_with(status, route, operation, !parameters.is_empty()) {
            responses[status] = json!({"description": description});
            // What the server fails in has a form of its own from 5.x on.
            let is_failure = status.starts_with('5') && generation.failures_have_codes();
            let schema = schema.map(|schema| {
                if is_failure {
                    of::<FailureBody>
                } else {
                    schema
                }
            });
            if let Some(schema) = schema {
                responses[status]["content"] = json(schema(&mut generators.answers));
            }
        }
    }
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation_id(route),
        "responses": responses,
        // Either without or with a token: whether one is required is the operator's choice.
        "security": [{}, {"bearer": []}],
    });
    if !parameters.is_empty() {
        described["parameters"] = Value::from(parameters);
    }
    if let Some(body) = operation.body {
        let content = json(body(&mut generators.bodies));
        described["requestBody"] = json!({"required": true, "content": content});
    }
    if route.group == Group::Extension {
        described["x-extension"] = json!(true);
    }
    described
}

/// Returns an id that is unique among the operations, and an identifier in any language.
fn operation_id(route: &Route) -> String {
    let path = route
        .template
        .replace(['/', '-', '.'], "_")
        .replace(['{', '}'], "");
    format!("{}{}", route.method.as_str().to_ascii_lowercase(), path)
}
