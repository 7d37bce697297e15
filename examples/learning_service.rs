//! A service that answers while it learns: questions and lessons over HTTP, a commit every second.
//!
//! Run: `cargo run --release -p kato-examples --example learning_service --features service -- kb 127.0.0.1:8080`,
//! `curl -d 'the cat sleeps on the mat' localhost:8080/learn`, `curl -d 'the cat' localhost:8080/ask`

use axum::{Router, extract::State, http::StatusCode, routing};
use kato::{HierarchyError, prelude::*};
use kato_examples::{Arguments, Output, run};
use std::{io, io::Write, num::NonZeroUsize, process::ExitCode, sync::LazyLock, time::Duration};
use tokio::{sync::Semaphore, task::spawn_blocking};

type Done<T> = Result<T, HierarchyError>;
type Answer<T> = Result<T, (StatusCode, String)>;

/// Work that goes on at a time, a thread each: one core is left to the heart, and to the network.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Semaphore::new((cores - 1).max(1))
});

/// Does what computes, or waits for a disk, on a thread that may block: the heart goes on beating.
async fn beside<T: Send + 'static, F: FnOnce() -> Done<T> + Send + 'static>(work: F) -> Answer<T> {
    let _place = PLACES.acquire().await;
    let done = spawn_blocking(work).await.expect("it does not panic");
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
        tokio::time::sleep(Duration::from_secs(1)).await;
        let kb = kb.clone();
        if let Err((_, error)) = beside(move || kb.commit()).await {
            drop(writeln!(io::stderr(), "not committed yet: {error}"));
        }
    }
}

fn main() -> ExitCode {
    let kb = ("[KB]", "the knowledge base; kato-kb");
    run(&[kb, ("[ADDRESS]", "as in 127.0.0.1:8080")], serve)
}

#[tokio::main]
async fn serve(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;
    let options = OpenOptions::new().with_threads(NonZeroUsize::MIN);
    let kb = options.open_or_create(arguments.or(0, "kato-kb"), &rules)?;
    let routes = Router::new()
        .route("/learn", routing::post(learn))
        .route("/ask", routing::post(ask))
        .route("/heart", routing::get(heart))
        .with_state(kb.clone());
    let listener = tokio::net::TcpListener::bind(arguments.or(1, "127.0.0.1:8080")).await?;
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let serving = axum::serve(listener, routes).with_graceful_shutdown(stop);
    tokio::select! {
        served = serving.into_future() => served?,
        () = commit_every_second(kb.clone()) => {}
    }
    spawn_blocking(move || kb.commit()).await??;
    Ok(writeln!(out, "all that was answered is committed")?)
}
