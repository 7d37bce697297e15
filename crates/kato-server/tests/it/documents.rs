//! The OpenAPI document and its page.

use std::collections::BTreeSet;

use kato_model::KatoGeneration;
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};

use crate::support::{Request, Running};

#[tokio::test]
async fn every_operation_of_the_document_exists_and_is_described() {
    for (generation, n_operations) in [
        (KatoGeneration::V3_10, 46),
        (KatoGeneration::V5, 47),
        (KatoGeneration::V6, 50),
    ] {
        let server = Running::memory_of(generation).await;
        assert_eq!(check_operations(&server).await, n_operations);
    }
}

/// Asks for every operation; their number.
async fn check_operations(server: &Running) -> usize {
    let api = server.get("/openapi.json").await.json();
    assert_eq!(api["info"]["title"], "KATO API");
    let id = server.session("n").await;
    let mut n_operations = 0;
    for (path, operations) in api["paths"].as_object().unwrap() {
        let target = path.replace("{session_id}", &id).replace(['{', '}'], "");
        for (method, operation) in operations.as_object().unwrap() {
            n_operations += 1;
            assert_ne!(
                operation["summary"], "",
                "{method} {path} has no description"
            );
            let method = method.to_uppercase();
            if method == "DELETE" {
                continue;
            }
            let answer = server.send(Request::new(&method, &target)).await;
            assert_ne!(answer.status, 405, "{method} {path}");
            assert_ne!(answer.json()["detail"], "Not Found", "{method} {path}");
        }
        if path == "/sessions/count" {
            // With another method than GET it is a session that does not exist.
            continue;
        }
        let allowed = server.send(Request::new("FOO", &target)).await;
        assert_eq!(allowed.status, 405);
        let allowed = allowed.header("allow").unwrap().to_lowercase();
        // Of KATO's paths the first method alone, as in Starlette.
        let is_own = operations
            .as_object()
            .unwrap()
            .values()
            .all(|own| own["x-extension"] == true);
        let n_named = allowed
            .split(", ")
            .filter(|method| operations.get(method).is_some())
            .count();
        let n_methods = operations.as_object().unwrap().len();
        assert_eq!(n_named, if is_own { n_methods } else { 1 }, "{path}");
    }
    n_operations
}

#[tokio::test]
async fn every_reference_of_the_document_leads_somewhere_and_every_schema_is_used() {
    for generation in [
        KatoGeneration::V3_10,
        KatoGeneration::V5,
        KatoGeneration::V6,
    ] {
        let server = Running::memory_of(generation).await;
        let api = server.get("/openapi.json").await.json();
        let mut references = BTreeSet::new();
        collect(&api, &mut references);
        let schemas = api["components"]["schemas"].as_object().unwrap();
        let schemas: BTreeSet<_> = schemas
            .keys()
            .map(|name| format!("#/components/schemas/{name}"))
            .collect();
        assert_eq!(references, schemas, "{generation}");
    }
}

#[tokio::test]
async fn the_document_lists_the_settings_that_there_are() {
    for generation in [KatoGeneration::V3_10, KatoGeneration::V6] {
        check_settings(&Running::memory_of(generation).await).await;
    }
}

async fn check_settings(server: &Running) {
    let api = server.get("/openapi.json").await.json();
    let listed = api["components"]["schemas"]["Settings"]["properties"].clone();
    let listed: BTreeSet<_> = listed.as_object().unwrap().keys().cloned().collect();
    let id = server.session("n").await;
    let target = format!("/sessions/{id}/config");
    // Those two are shown when they are set.
    let unset = json!({"fuzzy_token_threshold": 0.5, "affinity_emotive": "joy"});
    assert_eq!(server.post(&target, unset).await.status, 200);
    let there_are = server.get(&target).await.json()["config"].clone();
    let there_are: BTreeSet<_> = there_are.as_object().unwrap().keys().cloned().collect();
    assert_eq!(listed, there_are);
}

#[tokio::test]
async fn the_ranges_of_settings_are_those_that_are_checked() {
    for generation in [
        KatoGeneration::V3_10,
        KatoGeneration::V5,
        KatoGeneration::V6,
    ] {
        let server = Running::memory_of(generation).await;
        let api = server.get("/openapi.json").await.json();
        let settings = api["components"]["schemas"]["Settings"]["properties"].clone();
        let target = format!("/sessions/{}/config", server.session("n").await);
        let mut n_numbers = 0;
        for (name, schema) in settings.as_object().unwrap() {
            let Some(cases) = at_the_ends(schema) else {
                continue;
            };
            n_numbers += 1;
            for (value, is_taken) in cases {
                let status = server.post(&target, json!({name: value})).await.status;
                let expected = if is_taken { 200 } else { 400 };
                assert_eq!(status, expected, "{generation}: {name} {value} by {schema}");
            }
        }
        let expected = match generation {
            KatoGeneration::V3_10 | KatoGeneration::V5 => 15,
            _ => 14,
        };
        assert_eq!(n_numbers, expected, "{generation}");
    }
}

/// Returns numbers at both ends of a setting's range, and whether each is taken; `None` of what is no number.
fn at_the_ends(schema: &Value) -> Option<Vec<(i64, bool)>> {
    const FAR: i64 = 1_000_000;
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    let of_type = &schema["type"];
    if !is_number(of_type) && !of_type.as_array()?.iter().any(is_number) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "they are small, or MAX")]
    let whole = |bound: &Value, round: fn(f64) -> f64| bound.as_f64().map(|it| round(it) as i64);
    let mut cases = Vec::new();
    match whole(&schema["minimum"], f64::ceil) {
        // Of a range within 0 and 1 there may be no whole number.
        Some(least) if schema["minimum"] == 0.0001 => cases.push((least - 1, false)),
        Some(least) => cases.extend([(least, true), (least - 1, false)]),
        None if schema["exclusiveMinimum"] == 0 => cases.push((0, false)),
        None => cases.push((-FAR, true)),
    }
    match whole(&schema["maximum"], f64::floor) {
        Some(i64::MAX) | None => cases.push((FAR, true)),
        Some(most) if schema["maximum"] == 0.1 => cases.push((most + 1, false)),
        Some(most) => cases.extend([(most, true), (most + 1, false)]),
    }
    Some(cases)
}

#[tokio::test]
async fn a_conflict_is_told_of_what_can_have_one() {
    for (generation, teaching) in [
        (KatoGeneration::V3_10, &[][..]),
        (
            KatoGeneration::V6,
            &[
                "post learn",
                "post learn-batch",
                "post observe",
                "post observe-sequence",
            ][..],
        ),
    ] {
        let server = Running::memory_of(generation).await;
        let api = server.get("/openapi.json").await.json();
        let mut told = BTreeSet::new();
        for (path, operations) in api["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if operation["responses"].get("409").is_some() {
                    let name = path.trim_start_matches("/sessions/{session_id}/");
                    told.insert(format!("{method} {name}"));
                }
            }
        }
        let always = ["post /admin/backups", "put /runs/{run}"];
        let expected = always.iter().chain(teaching);
        let expected: BTreeSet<_> = expected.map(|it| (*it).to_owned()).collect();
        assert_eq!(told, expected, "{generation}");
    }
}

#[tokio::test]
async fn every_refusal_with_status_422_lists_faults() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let of_session = |what: &str| format!("/sessions/{id}/{what}");
    let too_many = json!({"sequences": [{"events": []}]});
    for (request, loc) in [
        (
            Request::new("POST", &of_session("learn")).header("idempotency-key", "two words"),
            json!(["header", "idempotency-key"]),
        ),
        (
            Request::new("POST", &of_session("learn-batch")).json(&too_many),
            json!(["body", "sequences"]),
        ),
        (Request::new("GET", "/runs/no-name"), json!(["path", "run"])),
        (
            Request::new("PUT", "/runs/r").json(&json!({"version": -1, "record": 0})),
            json!(["body", "version"]),
        ),
        (
            Request::new("GET", &of_session("next?fit=perhaps")),
            json!(["query", "fit"]),
        ),
        (
            Request::new("GET", &of_session("next?above=nowhere")),
            json!(["query", "above"]),
        ),
    ] {
        let answer = server.send(request.clone()).await;
        assert_eq!(answer.status, 422, "{request:?}");
        assert_eq!(answer.json()["detail"][0]["loc"], loc, "{request:?}");
    }
}

#[tokio::test]
async fn without_extensions_the_document_has_none() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| builder.with_extensions(false)).await;
    let api = server.get("/openapi.json").await.text();
    assert!(!api.contains("x-extension") && !api.contains("Idempotency-Key"));
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                references.insert(reference.clone());
            }
            map.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

#[tokio::test]
async fn the_status_of_a_copy_is_that_of_its_answer() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path().join("data"), ServiceOptions::default()).unwrap();
    let backups = dir.path().join("backups");
    let server = Running::of(service, |builder| builder.with_backups(&backups)).await;
    let copied = server.send(Request::new("POST", "/admin/backups")).await;
    let api = server.get("/openapi.json").await.json();
    let responses = &api["paths"]["/admin/backups"]["post"]["responses"];
    assert!(responses[copied.status.to_string()].is_object());
    assert!(responses["200"].is_null());
}

#[tokio::test]
async fn the_page_needs_no_other_server() {
    let server = Running::memory().await;
    for path in ["/docs", "/redoc"] {
        let page = server.get(path).await;
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(!page.text().contains("http://") && !page.text().contains("https://"));
        let head = server.send(Request::new("HEAD", path)).await;
        assert_eq!(
            head.header("content-length"),
            Some(page.body.len().to_string().as_str())
        );
    }
}
