//! The OpenAPI document and its page.

use std::collections::BTreeSet;

use kato_service::{Service, ServiceOptions};
use serde_json::Value;

use crate::support::{Request, Running};

#[tokio::test]
async fn every_operation_of_the_document_exists_and_is_described() {
    let server = Running::memory().await;
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
        assert!(
            operations
                .get(allowed.header("allow").unwrap().to_lowercase())
                .is_some(),
            "{path}"
        );
    }
    assert_eq!(n_operations, 45);
}

#[tokio::test]
async fn every_reference_of_the_document_leads_somewhere_and_every_schema_is_used() {
    let server = Running::memory().await;
    let api = server.get("/openapi.json").await.json();
    let mut references = BTreeSet::new();
    collect(&api, &mut references);
    let schemas = api["components"]["schemas"].as_object().unwrap();
    let schemas: BTreeSet<_> = schemas
        .keys()
        .map(|name| format!("#/components/schemas/{name}"))
        .collect();
    assert_eq!(references, schemas);
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
    let service = Service::open(&dir.path().join("data"), ServiceOptions::default()).unwrap();
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
