//! MongoDBs that work, are down, hang, break off or are none.

use std::time::{Duration, Instant};

use kato_hardware::prediction::{Workload, WorkloadStore};
use kato_hardware::results::MongoResults;
use kato_hardware::step::{Step, StepEvent};
use kato_hardware::{HardwareAnalyzer, HardwareProfile};
use kato_mongo_server::{MongoServer, ServerOptions, is_installed};
use mongodb::bson::doc;

use crate::support::{analyzed_in_time, closed_port, reason, short, stand_in};

fn analyze(uri: &str) -> HardwareProfile {
    analyzed_in_time(|builder| builder.with_mongodb(uri))
}

fn figures(results: &MongoResults) -> [&kato_hardware::figure::Measured; 5] {
    [
        &results.ping_latency,
        &results.insert_latency,
        &results.upsert_latency,
        &results.bulk_upsert,
        &results.query_latency,
    ]
}

fn assert_unknown(profile: &HardwareProfile, expected: &str) {
    for figure in figures(&profile.benchmarks.mongodb) {
        assert!(reason(figure).contains(expected), "{figure}");
    }
}

/// Names of all databases, with what one of ours holds.
fn databases(uri: &str) -> Vec<String> {
    block_on(async {
        let client = mongodb::Client::with_uri_str(uri).await.unwrap();
        let mut names = client.list_database_names().await.unwrap();
        names.sort();
        names
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn figures_are_measured_in_a_database_that_is_gone_afterwards() {
    if !is_installed() {
        return;
    }
    let server = MongoServer::start_with(ServerOptions::default());
    let uri = server.uri();
    block_on(async {
        let client = mongodb::Client::with_uri_str(&uri).await.unwrap();
        let others = client.database("theirs").collection("patterns");
        others.insert_one(doc! {"name": "precious"}).await.unwrap();
    });
    let before = databases(&uri);
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_secs(20);
    let analyzer = short(dir.path())
        .with_time_limit(limit)
        .with_mongodb(&*uri)
        .build();
    let profile = analyzer.unwrap().analyze_full();
    for figure in figures(&profile.benchmarks.mongodb) {
        let figure = figure.known().unwrap_or_else(|| panic!("{figure}"));
        assert!(figure.value > 0.0);
    }
    assert_eq!(databases(&uri), before);
    let workload = Workload::of_samples(1000)
        .with_chunk_size(8)
        .with_levels(4)
        .with_backend(WorkloadStore::MongoDb);
    assert!(
        profile
            .predict(&workload)
            .unwrap()
            .bottleneck
            .known()
            .is_some()
    );
}

#[test]
fn a_server_that_dies_in_the_middle_gives_no_figure() {
    if !is_installed() {
        return;
    }
    let server = std::sync::Arc::new(std::sync::Mutex::new(MongoServer::start()));
    let uri = server.lock().unwrap().uri();
    let dir = tempfile::tempdir().unwrap();
    let dying = std::sync::Arc::clone(&server);
    let analyzer = short(dir.path())
        .with_time_limit(Duration::from_secs(10))
        .with_mongodb(uri)
        .on_step(move |event| {
            if matches!(
                event,
                StepEvent::Started {
                    step: Step::Mongodb,
                    ..
                }
            ) {
                let dying = std::sync::Arc::clone(&dying);
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(250));
                    dying.lock().unwrap().kill();
                });
            }
        });
    let start = Instant::now();
    let profile = analyzer.build().unwrap().analyze_full();
    assert!(start.elapsed() < Duration::from_secs(12));
    assert_unknown(&profile, "drop it by hand");
}

#[test]
fn a_server_that_is_down_hangs_or_is_another_is_unknown() {
    let hanging = stand_in(None, Duration::ZERO);
    let other = stand_in(Some("HTTP/1.1 400 Bad Request\r\n\r\n"), Duration::ZERO);
    for address in [closed_port(), hanging, other] {
        let profile = analyze(&format!("mongodb://{address}/?directConnection=true"));
        for figure in figures(&profile.benchmarks.mongodb) {
            assert!(reason(figure).contains("MongoDB"), "{figure}");
        }
    }
}

#[test]
fn an_address_that_cannot_be_read_is_told_without_its_password() {
    let profile = analyze("mongodb://user:cret@host/?w=-3");
    assert_unknown(&profile, "address cannot be read");
    assert!(!profile.to_string().contains("cret"));
    let builder = HardwareAnalyzer::builder().with_mongodb("mongodb://user:se/cret@host");
    let refused = builder.build().unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("cret"));
}
