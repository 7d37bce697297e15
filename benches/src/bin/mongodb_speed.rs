//! Measures how much of a server's upserts a store keeps: stage and commit of a real batch beside
//! raw bulks of the same documents.
//!
//! ```text
//! KATO_SECANTUSD=…/secantusd-py cargo run --profile dist -p kato-benches --features programs --bin mongodb_speed
//! ```
//!
//! Prints one JSON object a repetition and the share over all. With `--uri` it measures a server
//! that runs already.
#![expect(clippy::print_stdout, reason = "a program reports to its user")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use kato_learner::HierarchicalConceptLearner;
use kato_model::SealedBatch;
use kato_mongo_server::{MongoServer, ServerOptions};
use kato_mongodb::{Guard, MongoRuns, MongoStore};
use kato_store::{MemoryStore, PatternStore, StoredPattern};
use mongodb::Client;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Measure the store for MongoDB.
#[derive(Debug, Parser)]
struct Args {
    /// A server that runs; else one is started
    #[arg(long)]
    uri: Option<String>,
    /// Bytes of text
    #[arg(long, default_value_t = 60_000)]
    bytes: u64,
    /// Repetitions
    #[arg(long, default_value_t = 3)]
    repetitions: u32,
    /// Bulks in flight
    #[arg(long, default_value_t = 8)]
    in_flight: usize,
    /// Upserts a bulk
    #[arg(long, default_value_t = 1000)]
    chunk: usize,
    /// Without transactions
    #[arg(long)]
    journal: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let server = match &args.uri {
        Some(_) => None,
        None => Some(MongoServer::start_with(ServerOptions {
            standalone: args.journal,
            ..ServerOptions::default()
        })),
    };
    let uri = match (&args.uri, &server) {
        (Some(uri), _) => uri.clone(),
        (None, server) => server.as_ref().context("a server was started")?.uri(),
    };
    let text = kato_benches::sample_text();
    let text: String = text.chars().take(args.bytes as usize).collect();
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let batch = || -> Result<SealedBatch> {
        let mut batch = learner.new_batch();
        let mut scratch = learner.new_scratch();
        learner.learn(text.as_str(), &mut batch, &mut scratch)?;
        Ok(batch.seal())
    };
    let nodes = learner.node_names();
    let bulks = raw_bulks(&nodes, batch()?, args.chunk)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let client = runtime.block_on(Client::with_uri_str(&uri))?;
    let runs = MongoRuns::connect(&uri)?;
    let (mut stored_s, mut raw_s) = (0.0, 0.0);
    let n_upserts: usize = bulks.iter().map(|bulk| bulk.n_upserts).sum();
    for repetition in 0..args.repetitions {
        let create = |name: String| -> Result<MongoStore> {
            let guard = if args.journal {
                Guard::Journal
            } else {
                Guard::Auto
            };
            let builder = MongoStore::builder(&uri, name.parse()?).with_guard(guard);
            let builder = builder
                .with_max_in_flight(args.in_flight)
                .with_chunk(args.chunk);
            Ok(builder.create(&nodes, Value::Null)?)
        };
        // The order alternates, so that neither always meets the warmer server.
        let store_first = repetition % 2 == 0;
        for is_store in [store_first, !store_first] {
            let name = format!(
                "speed_{}_{repetition}",
                if is_store { "store" } else { "raw" }
            );
            // Also for the raw bulks: both write into collections with the same indexes.
            let store = create(name.clone())?;
            let seconds = if is_store {
                let batch = batch()?;
                let start = Instant::now();
                store.commit(vec![store.stage(batch)?], json!(1))?;
                let seconds = start.elapsed().as_secs_f64();
                stored_s += seconds;
                seconds
            } else {
                let start = Instant::now();
                runtime.block_on(write_raw(&client, &name, &bulks, args.in_flight))?;
                let seconds = start.elapsed().as_secs_f64();
                raw_s += seconds;
                seconds
            };
            println!(
                "{}",
                json!({"repetition": repetition, "who": name, "upserts": n_upserts, "seconds": seconds,
                       "upserts_per_s": n_upserts as f64 / seconds, "guard": format!("{:?}", store.guard())})
            );
            drop(store);
            std::thread::park_timeout(Duration::from_secs(1));
            runs.delete(&name.parse()?)?;
        }
    }
    println!(
        "{}",
        json!({"share": raw_s / stored_s, "bulks": bulks.len()})
    );
    Ok(())
}

/// Upserts of one collection.
struct Bulk {
    node: String,
    command: RawDocumentBuf,
    n_upserts: usize,
}

/// Returns what a store writes, as plain bulks.
fn raw_bulks(nodes: &[&str], batch: SealedBatch, chunk: usize) -> Result<Vec<Bulk>> {
    let store = MemoryStore::new(nodes, Value::Null);
    store.commit(vec![store.stage(batch)?], Value::Null)?;
    let mut bulks = Vec::new();
    for (node_idx, node) in nodes.iter().enumerate() {
        let patterns = store
            .scan(node_idx)?
            .map(|pattern| Ok(upsert_pattern(&pattern?)));
        let symbols = store.symbol_counts(node_idx)?.map(|counted| {
            let (symbol, counts) = counted?;
            Ok(doc! {"q": {"name": symbol.to_string()}, "upsert": true, "u": {"$inc": {
                // Counts of a short text fit 32 bits.
                "pattern_member_frequency": counts.member_frequency as i32, "frequency": counts.frequency as i32}}})
        });
        let both: [(&str, Result<Vec<Document>>); 2] = [
            ("patterns_kb", patterns.collect()),
            ("symbols_kb", symbols.collect()),
        ];
        for (collection, updates) in both {
            for updates in updates?.chunks(chunk) {
                let command = doc! {"update": collection, "updates": updates, "ordered": false};
                bulks.push(Bulk {
                    node: (*node).to_owned(),
                    command: RawDocumentBuf::try_from(&command)?,
                    n_upserts: updates.len(),
                });
            }
        }
    }
    Ok(bulks)
}

/// Returns the upsert of a pattern, as a KATO of 2025-10 writes it.
fn upsert_pattern(pattern: &StoredPattern) -> Document {
    let events = pattern.events();
    let events = events
        .iter()
        .map(|event| Bson::from(event.symbols().to_vec()));
    doc! {"q": {"name": pattern.name.to_string()}, "upsert": true, "u": {
        "$inc": {"frequency": pattern.frequency as i32},
        "$setOnInsert": {"pattern_data": events.collect::<Vec<_>>(), "length": pattern.symbols.len() as i32, "emotives": {}, "metadata": {}},
    }}
}

/// Writes bulks, several at a time.
async fn write_raw(client: &Client, run: &str, bulks: &[Bulk], in_flight: usize) -> Result<()> {
    let room = Arc::new(Semaphore::new(in_flight));
    let mut tasks = Vec::new();
    for bulk in bulks {
        // Held by the task until the reply, so that as many are in flight as of the store's.
        let permit = Arc::clone(&room).acquire_owned().await?;
        let database = client.database(&format!("{run}_{}_kato", bulk.node));
        let command = bulk.command.clone();
        tasks.push(tokio::spawn(async move {
            let reply = database.run_raw_command(command).await;
            drop(permit);
            reply
        }));
    }
    for task in tasks {
        let reply = task.await??;
        ensure!(
            !reply.contains_key("writeErrors"),
            "raw upserts failed: {reply}"
        );
    }
    Ok(())
}
