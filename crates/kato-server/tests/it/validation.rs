//! Malformed and unusual requests, answered as FastAPI answers them: recorded from an application
//! with KATO's schemas (FastAPI 0.116, pydantic 2.11, Python 3.11).

use kato_model::KatoGeneration;
use kato_service::{Service, ServiceOptions};
use serde_json::Value;

use crate::support::{Request, Running};

const RECORDED: &str = include_str!("../data/validation.jsonl");

#[tokio::test]
async fn requests_are_checked_as_fastapi_checks_them() {
    // It is as open as KATO, and was asked by the name `x`.
    let options = ServiceOptions::default().with_generation(KatoGeneration::V3_10);
    let service = Service::in_memory(options);
    let server = Running::of(service, |builder| builder.with_cors(true)).await;
    let mut differing = Vec::new();
    for line in RECORDED.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let session = server.session("n").await;
        if let Some(difference) = difference(&server, &session, &row).await {
            differing.push(format!("{line}\n    {difference}"));
        }
    }
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

async fn difference(server: &Running, session: &str, row: &Value) -> Option<String> {
    let own = |text: &str| text.replace("SID", session);
    let target = own(row["target"].as_str().unwrap());
    let mut request = Request::new(row["method"].as_str().unwrap(), &target).host("x");
    if row["json"] == true {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap());
    }
    if let Some(body) = row["body"].as_str() {
        request = request.body(body);
    } else if let Some(hex) = row["body_hex"].as_str() {
        let byte = |idx| u8::from_str_radix(&hex[idx..idx + 2], 16).unwrap();
        request = request.body((0..hex.len()).step_by(2).map(byte).collect::<Vec<_>>());
    }
    let answer = server.send(request).await;
    let status = row["status"].as_u64().unwrap();
    if let Some(reason) = deviation(row) {
        let fine = (200..500).contains(&answer.status);
        return (!fine).then(|| format!("{reason}, but {}", answer.status));
    }
    if u64::from(answer.status) != status {
        return Some(format!("{} {}", answer.status, answer.text()));
    }
    for (name, value) in row["answer_headers"].as_object().into_iter().flatten() {
        if answer.header(name) != Some(own(value.as_str().unwrap()).as_str()) {
            return Some(format!("{name}: {:?}", answer.header(name)));
        }
    }
    let expected = row.get("answer")?;
    (answer.json() != *expected).then(|| answer.text())
}

/// Why an answer is another one here, on purpose.
fn deviation(row: &Value) -> Option<&'static str> {
    let target = row["target"].as_str().unwrap();
    let body = row["body"].as_str().unwrap_or_default();
    let status = row["status"].as_u64().unwrap();
    if status == 500 {
        return Some("FastAPI fails where it cannot write what it was sent");
    }
    if status == 200
        && target == "/sessions/SID/observe"
        && ["NaN", "nan", "nf", "1e400"]
            .iter()
            .any(|n| body.contains(n))
    {
        return Some("numbers that are not finite are refused at once");
    }
    if status == 200
        && [
            "ttl_seconds\":\"-",
            "ttl_seconds\":-",
            "90909",
            "ttl_seconds=-",
            "89012345678",
            "9223372036854775",
            "18446744073709551616",
            "1e18",
        ]
        .iter()
        .any(|part| body.contains(part) || target.contains(part))
    {
        return Some("lives of sessions are bounded");
    }
    let elsewhere = [
        ("/sessions/SID/learn", "there is nothing to learn"),
        ("/sessions/count", "the session named count does not exist"),
        ("/metrics/a%3Fb", "there is no such series"),
    ];
    if let Some((_, reason)) = elsewhere.iter().find(|(path, _)| *path == target) {
        return (row["method"] != "GET" || target.contains("metrics")).then_some(*reason);
    }
    if target.ends_with("learn-batch") && body.contains("\"events\":[]") {
        return Some("a sequence of a batch has events");
    }
    None
}
