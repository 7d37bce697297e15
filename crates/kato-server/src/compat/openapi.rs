//! The OpenAPI document: the table of routes, with the descriptions of [`operations`] and the
//! schemas of [`schemas`].

mod operations;
mod schemas;

use axum::http::Method;
use serde_json::{Map, Value, json};

use self::operations::Operation;
use crate::api::monitoring::KATO_VERSION;
use crate::routes::{Group, Route};

/// Returns the document of the routes that are switched on, without those of the documentation
/// itself.
pub(crate) fn document(routes: &[&Route]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes.iter().filter(|route| route.group != Group::Docs) {
        let operation = operations::for_route(&route.method, route.template);
        let path = paths.entry(route.template).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            let method = route.method.as_str().to_ascii_lowercase();
            path.insert(method, described(route, &operation));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "KATO API",
            "version": KATO_VERSION,
            "description": "Knowledge Abstraction for Traceable Outcomes with Multi-User Support. Events are broadcast on the WebSocket /ws/events.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Describes the operation of a route.
fn described(route: &Route, operation: &Operation) -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let content = |name: &str| json!({"application/json": {"schema": reference(name)}});
    let mut parameters: Vec<Value> = route
        .template
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(operation.query.iter().map(|(name, kind)| {
        json!({"name": name, "in": "query", "required": false, "schema": {"type": kind}})
    }));
    let ok = if operation.is_text {
        json!({"text/plain": {"schema": {"type": "string"}}})
    } else {
        content(operation.answer)
    };
    let mut responses =
        json!({(operation.status): {"description": "Successful Response", "content": ok}});
    let mut add = |status: &str, description: &str, schema: &str| {
        responses[status] = json!({"description": description, "content": content(schema)});
    };
    if route.template.contains("{session_id}") {
        add("404", "Session not found or expired", "ErrorBody");
    }
    if operation.body.is_some() || !parameters.is_empty() {
        add("422", "Validation Error", "HTTPValidationError");
    }
    if ["Predictions", "CognitionData", "Next"].contains(&operation.answer) {
        add(
            "504",
            "The prediction took too long and was ended",
            "ErrorBody",
        );
    }
    add(
        "503",
        "Too much to do, or shutting down; Retry-After says when to try again",
        "ErrorBody",
    );
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation_id(route),
        "responses": responses,
        // Either without or with a token: whether one is required is the operator's choice.
        "security": [{}, {"bearer": []}],
    });
    // Keys are an extension of operations that a stock KATO has as well, so the parameter is
    // marked, not the operation.
    if route.method != Method::GET && route.template.contains("{session_id}") && operation.takes_key
    {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "schema": {"type": "string", "maxLength": 255},
            "description": "A request repeated with its key acts once.",
            "x-extension": true,
        }));
    }
    if !parameters.is_empty() {
        described["parameters"] = Value::from(parameters);
    }
    if let Some(body) = operation.body {
        described["requestBody"] = json!({"required": true, "content": content(body)});
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
