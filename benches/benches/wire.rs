//! What the wire costs: typical bodies to JSON and back, and whole round trips to a server in this
//! process. The limit of JSON is reading it without making anything of it, that of a round trip `health`,
//! the emptiest one.

use std::hint::black_box;
use std::net::SocketAddr;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_client::{KatoClient, SessionOptions};
use kato_protocol::extension::{BatchItem, LearnBatchRequest};
use kato_protocol::prediction::{FuturePotential, PredictionsAnswer};
use kato_protocol::{Observation, Prediction};
use kato_server::Server;
use kato_service::{Service, ServiceOptions};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Symbols of a chunk, as a tokenizer numbers them.
fn symbols(from: usize, n: usize) -> impl Iterator<Item = String> {
    (from..from + n).map(|id| (id * 7919 % 50_257).to_string())
}

fn batch(n: usize) -> LearnBatchRequest {
    let sequences = (0..n)
        .map(|item| BatchItem {
            events: symbols(item * 8, 8).map(|symbol| vec![symbol]).collect(),
            ..BatchItem::default()
        })
        .collect();
    LearnBatchRequest { sequences }
}

/// An answer as generation 3.10 writes it.
fn predictions(n: usize) -> Value {
    let events = |from, n| -> Vec<_> { symbols(from, n).map(|symbol| vec![symbol]).collect() };
    let predictions: Vec<_> = (0..n)
        .map(|idx| {
            json!({"type": "prototypical", "name": format!("{idx:040x}"), "frequency": idx + 1, "emotives": {},
                "matches": symbols(idx, 4).collect::<Vec<_>>(), "past": [], "present": events(idx, 4),
                "future": events(idx + 4, 4), "missing": [[], [], [], []], "extras": [[], [], [], []], "anomalies": [],
                "sequence": events(idx, 8), "evidence": 0.5, "confidence": 1.0, "similarity": 2.0 / 3.0, "snr": 1.0,
                "fragmentation": 0.0, "entropy": 2.0, "normalized_entropy": 0.21, "global_normalized_entropy": 0.13,
                "itfdf_similarity": 0.97, "confluence": 0.01, "predictive_information": 0.66,
                "pattern_probability": 0.01, "weighted_strength": 0.006, "tfidf_score": 1.7, "bayesian_prior": 0.01,
                "bayesian_likelihood": 0.66, "bayesian_posterior": 0.01, "weighted_similarity": null,
                "weighted_evidence": null, "weighted_confidence": null, "weighted_snr": null, "potential": 3.4})
        })
        .collect();
    json!({"predictions": predictions, "future_potentials": [], "session_id": "session-1", "processor_id": null,
        "count": n, "time": null, "unique_id": null})
}

fn both_ways<T: Serialize + DeserializeOwned>(c: &mut Criterion, name: &str, value: &T) {
    let text = serde_json::to_vec(value).expect("JSON");
    let mut group = c.benchmark_group("wire");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function(format!("encode {name}"), |b| {
        b.iter(|| serde_json::to_vec(black_box(value)).expect("JSON"));
    });
    group.bench_function(format!("decode {name}"), |b| {
        b.iter(|| serde_json::from_slice::<T>(black_box(&text)).expect("JSON"));
    });
    // Reading every character, and making nothing of it.
    group.bench_function(format!("limit of decode {name}: check it"), |b| {
        b.iter(|| serde_json::from_slice::<IgnoredAny>(black_box(&text)).expect("JSON"));
    });
    group.finish();
}

fn wire(c: &mut Criterion) {
    let observation = Observation::strings(symbols(0, 1)).with_metadata("title", "sample 1");
    both_ways(c, "observation", &observation);
    both_ways(c, "learn-batch of 1000", &batch(1000));
    let text = predictions(100).to_string();
    let mut group = c.benchmark_group("wire");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("decode 100 predictions", |b| {
        b.iter(|| {
            serde_json::from_str::<PredictionsAnswer<Prediction, FuturePotential>>(black_box(&text))
                .expect("JSON")
        });
    });
    group.bench_function("limit of decode 100 predictions: check them", |b| {
        b.iter(|| serde_json::from_str::<IgnoredAny>(black_box(&text)).expect("JSON"));
    });
    group.finish();
}

/// Client, loopback, server and engine together. In memory: how long a disk takes is not the
/// wire's.
fn round_trips(c: &mut Criterion) {
    let runtime = Runtime::new().expect("threads can be started");
    let service = Service::in_memory(ServiceOptions::default());
    let server = Server::builder(service).with_addr(SocketAddr::from(([127, 0, 0, 1], 0)));
    let server = runtime.block_on(server.bind()).expect("a free port");
    let url = format!("http://{}", server.local_addr());
    let serving = runtime.spawn(server.serve(std::future::pending()));
    let session = SessionOptions::new("node0").with_process_predictions(false);
    let client = KatoClient::builder(url, session).build().expect("a URL");

    let mut group = c.benchmark_group("round trip");
    group.bench_function("limit: health", |b| {
        b.iter(|| runtime.block_on(client.health()).expect("healthy"));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("observe, and clear now and then", |b| {
        b.iter(|| {
            runtime.block_on(async {
                let seen = client
                    .observe(Observation::strings(["a"]))
                    .await
                    .expect("observed");
                if seen.stm_length >= 50 {
                    client.clear_stm().await.expect("cleared");
                }
            });
        });
    });
    for n in [1, 100, 1000] {
        let items = batch(n).sequences;
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(format!("learn-batch of {n}"), |b| {
            b.iter(|| {
                runtime
                    .block_on(client.learn_all(&items, None))
                    .expect("learned")
            });
        });
    }
    group.finish();
    serving.abort();
}

criterion_group!(benches, wire, round_trips);
criterion_main!(benches);
