//! Settings at their bounds and beyond: the client refuses those that the server would, and sends all others.

use std::net::SocketAddr;

use kato_client::{ClientError, KatoClient};
use kato_model::KatoGeneration as G;
use kato_service::{Service, ServiceOptions};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Running, any_port, session};

/// Settings that are numbers, with values at their bounds and just beyond.
fn numbers() -> Vec<(&'static str, Value)> {
    vec![
        ("max_pattern_length", json!([-1, 0, 1_u64 << 40])),
        ("persistence", json!([0, 1, 100, 101])),
        ("recall_threshold", json!([-0.01, 0.0, 1e-9, 1.0, 1.01])),
        ("max_predictions", json!([0, 1, 10_000, 10_001])),
        ("vector_search_limit", json!([0, 1, 100, 101])),
        ("fuzzy_token_threshold", json!([-0.01, 0.0, 1.0, 1.01])),
        ("length_min_ratio", json!([-0.01, 0.0, 1.0, 1.01])),
        ("length_max_ratio", json!([0.99, 1.0, 1e9])),
        ("jaccard_threshold", json!([-0.01, 0.0, 1.0, 1.01])),
        ("jaccard_min_overlap", json!([0, 1, 1_u64 << 40])),
        ("minhash_threshold", json!([-0.01, 0.0, 1.0, 1.01])),
        ("minhash_bands", json!([0, 1, 100, 101])),
        ("minhash_rows", json!([0, 1, 20, 21])),
        ("minhash_num_hashes", json!([9, 10, 256, 257])),
        (
            "bloom_false_positive_rate",
            json!([0.00009, 0.0001, 0.1, 0.101]),
        ),
        ("max_candidates_per_stage", json!([99, 100, 1_u64 << 40])),
    ]
}

/// The status of a change of settings that no client has looked at.
async fn asked_bare(addr: SocketAddr, session: &str, changes: &Value) -> u16 {
    let body = json!({ "config": changes }).to_string();
    let request = format!(
        "POST /sessions/{session}/config HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Whether settings are sent; those that are must be taken.
fn is_sent<T>(result: Result<T, ClientError>, what: &str) -> bool {
    match result {
        Ok(_) => true,
        Err(ClientError::Config { .. }) => false,
        Err(error) => panic!("{what}: {error}"),
    }
}

#[tokio::test]
async fn numbers_are_refused_here_as_the_server_would_refuse_them() {
    for generation in [G::V3_10, G::V5, G::V6] {
        let options = ServiceOptions::default().with_generation(generation);
        let server = Running::of(Service::in_memory(options), any_port(), |server| server).await;
        let client = server.builder(session()).build().unwrap();
        let id = client.session_id().await.unwrap();
        let (mut taken, mut refused) = (0, 0);
        for (setting, values) in numbers() {
            for value in values.as_array().unwrap() {
                let what = format!("{setting} {value} for {generation}");
                let changes = Map::from_iter([(setting.to_owned(), value.clone())]);
                let status = asked_bare(server.addr, &id, &json!(changes)).await;
                let is_taken = status == 200;
                assert!(is_taken || status == 400, "{what}: {status}");
                let changed = client.update_config(changes).await;
                assert_eq!(is_sent(changed, &what), is_taken, "{what}, changed");
                let made = session().with_setting(setting, value.clone());
                let made = match server.builder(made).build() {
                    Ok(client) => made_with(&client, setting, value).await,
                    Err(error) => Err(error),
                };
                assert_eq!(is_sent(made, &what), is_taken, "{what}, at creation");
                *(if is_taken { &mut taken } else { &mut refused }) += 1;
            }
        }
        assert!(taken > 30 && refused > 5, "{taken} and {refused}");
        server.stop().await;
    }
}

/// Makes the session of a client, which must have the setting if its server knows such.
async fn made_with(client: &KatoClient, setting: &str, value: &Value) -> Result<(), ClientError> {
    client.session_id().await?;
    let config = client.config().await?;
    let found = config.get(setting);
    let is_same = found.is_none_or(|found| found.as_f64() == value.as_f64());
    assert!(is_same, "{setting}: {found:?} in place of {value}");
    Ok(())
}
