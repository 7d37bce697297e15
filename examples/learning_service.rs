//! A service that answers while it learns: questions and lessons over HTTP, a commit every second.
//!
//! Run: `cargo run --release --example learning_service --features service -- kb 127.0.0.1:8080`,
//! `curl -d 'the cat sleeps on the mat' localhost:8080/learn`, `curl -d 'the cat' localhost:8080/ask`

use std::io::{self, Write};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use kato::prelude::*;
use kato::{ErrorKind, HierarchyError};

type Done<T> = Result<T, HierarchyError>;
type Answer<T> = Result<T, (StatusCode, String)>;

/// Does what computes, or waits for a disk, on a thread that may block: the heart goes on beating.
async fn beside<T: Send + 'static, F: FnOnce() -> Done<T> + Send + 'static>(do_it: F) -> Answer<T> {
    let failed = |text: String| (StatusCode::INTERNAL_SERVER_ERROR, text);
    let done = tokio::task::spawn_blocking(do_it).await;
    done.map_err(|panic| failed(panic.to_string()))?
        .map_err(|error| failed(Error::from(error).to_string()))
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

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let dir = arguments.get(1).map_or("kato-kb", String::as_str);
    let addr = arguments.get(2).map_or("127.0.0.1:8080", String::as_str);
    let kb = match OpenOptions::new().for_writing().open(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2());
            OpenOptions::new().create(dir, &rules.build()?)?
        }
        opened => opened?,
    };
    let routes = Router::new()
        .route("/learn", post(learn))
        .route("/ask", post(ask));
    let routes = routes.route("/heart", get(heart)).with_state(kb.clone());
    let listener = tokio::net::TcpListener::bind(addr).await?;
    let addr = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{addr}")?;
    let committed = kb.clone();
    let commits = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let kb = committed.clone();
            if let Err((_, error)) = beside(move || kb.commit()).await {
                let told = writeln!(io::stderr(), "not committed yet: {error}");
                drop(told);
            }
        }
    });
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let service = axum::serve(listener, routes);
    service.with_graceful_shutdown(stop).await?;
    commits.abort();
    // All answers are given by now; what they have learned is written down.
    tokio::task::spawn_blocking(move || kb.commit()).await??;
    Ok(writeln!(io::stdout(), "all is committed")?)
}
