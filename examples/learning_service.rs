//! A service that answers while it learns: questions and lessons over HTTP, a commit every second.
//!
//! Run: `cargo run --release --example learning_service --features service -- kb 127.0.0.1:8080`,
//! `curl -d 'the cat sleeps on the mat' localhost:8080/learn`, `curl -d 'the cat' localhost:8080/ask`

use std::io::{self, Write};
use std::process::ExitCode;

use axum::{Router, extract::State, http::StatusCode, routing};
use kato::prelude::*;
use kato::{ErrorKind, HierarchyError};
use kato_examples::{Arguments, Output, run};
use tokio::sync::Semaphore;

type Done<T> = Result<T, HierarchyError>;
type Answer<T> = Result<T, (StatusCode, String)>;

/// Work that goes on at a time: more would take the processor from the heart, and wait for each other.
static PLACES: Semaphore = Semaphore::const_new(2);

/// Does what computes, or waits for a disk, on a thread that may block: the heart goes on beating.
async fn beside<T: Send + 'static, F: FnOnce() -> Done<T> + Send + 'static>(work: F) -> Answer<T> {
    let _place = PLACES.acquire().await;
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    let failed = |text: String| (StatusCode::INTERNAL_SERVER_ERROR, text);
    done.map_err(|error| failed(Error::from(error).to_string()))
}

async fn learn(State(kb): State<Hierarchy>, text: String) -> Answer<String> {
    let learned = beside(move || kb.learn(text.as_str())).await?;
    Ok(format!("{} tokens learned\n", learned.n_tokens))
}

async fn ask(State(kb): State<Hierarchy>, text: String) -> Answer<String> {
    let options = GenerationOptions::default().with_max_tokens(50);
    let generation = beside(move || kb.generate(text.as_str(), &options)).await?;
    Ok(generation.whole_text + "\n")
}

/// Waits for nobody: totals are read beside whatever goes on.
async fn heart(State(kb): State<Hierarchy>) -> String {
    format!("{} patterns\n", kb.nodes()[0].totals().patterns)
}

async fn commit_every_second(kb: Hierarchy) {
    loop {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let kb = kb.clone();
        if let Err((_, error)) = beside(move || kb.commit()).await {
            drop(writeln!(io::stderr(), "not committed yet: {error}"));
        }
    }
}

fn main() -> ExitCode {
    let kb = (
        "[KB]",
        "the knowledge base, made where it is missing; kato-kb",
    );
    let address = ("[ADDRESS]", "an address and a port; 127.0.0.1:8080");
    run(&[kb, address], serve)
}

#[tokio::main]
async fn serve(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let dir = arguments.or(0, "kato-kb").to_owned();
    let addr: std::net::SocketAddr = arguments.parse(1, "127.0.0.1:8080")?;
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;
    let kb = match OpenOptions::new().for_writing().open(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().create(&dir, &rules)?
        }
        opened => opened?,
    };
    let routes = Router::new()
        .route("/learn", routing::post(learn))
        .route("/ask", routing::post(ask))
        .route("/heart", routing::get(heart));
    let listener = tokio::net::TcpListener::bind(addr).await?;
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let service = axum::serve(listener, routes.with_state(kb.clone()));
    tokio::select! {
        served = service.with_graceful_shutdown(stop).into_future() => served?,
        () = commit_every_second(kb.clone()) => {}
    }
    // All answers are given by now; what they have learned is written down.
    tokio::task::spawn_blocking(move || kb.commit()).await??;
    Ok(writeln!(out, "all is committed")?)
}
