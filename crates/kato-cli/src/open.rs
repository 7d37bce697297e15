//! Opens a trained knowledge base for questions.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{HumanDuration, ProgressBar};
use kato_engine::{Engine, Node};
use kato_hierarchy::Hierarchy;
use kato_scheduler::RunConfiguration;
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::Tokenizer;

use crate::backend::warn_of_recovery;

/// Time that opening may take before standard error says that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens a knowledge base, with the tokenizer and settings that it recorded.
///
/// All of it is loaded; when that takes more than a second, standard error says so.
///
/// # Errors
///
/// When there is none, it cannot be read, or its tokenizer is not at hand.
pub(crate) fn open(kb: &Path) -> Result<Hierarchy> {
    let store = EmbeddedStore::open_read_only(kb)?;
    warn_of_recovery(&store);
    let run = RunConfiguration::from_json(store.configuration()).with_context(|| {
        format!(
            "{} does not tell how it was trained: train it with `kato train`",
            kb.display()
        )
    })?;
    let tokenizer = tokenizer_of(&run)?;
    let engine = thread::scope(|scope| {
        // Nothing is ever sent: dropping the sender ends the other thread, also when opening fails
        // or panics. The scope waits for it.
        let (opened, waiting) = channel();
        scope.spawn(move || tell(kb, &waiting));
        let engine = Engine::open(Arc::new(store));
        drop(opened);
        engine
    })?;
    Ok(Hierarchy::new(engine, tokenizer, run.learner)?)
}

/// Loads the tokenizer that a run used.
///
/// # Errors
///
/// When it is not at hand, or another one has its name.
pub(crate) fn tokenizer_of(run: &RunConfiguration) -> Result<Arc<dyn Tokenizer>> {
    let tokenizer = kato_tokenizer::load(&run.tokenizer)?;
    // Another tokenizer of the same name would cut texts into symbols that the nodes never learned.
    if tokenizer.fingerprint() != run.tokenizer_fingerprint {
        bail!(
            "the tokenizer {} is not the one of the training: put that one in its place",
            run.tokenizer
        );
    }
    Ok(tokenizer)
}

/// Counts the patterns of all nodes.
#[must_use]
pub(crate) fn count_patterns(hierarchy: &Hierarchy) -> u64 {
    let totals = hierarchy.nodes().iter().map(Node::totals);
    totals.map(|totals| totals.patterns).sum()
}

/// Says on standard error that opening takes its time, until the other end of the channel is
/// dropped.
fn tell(kb: &Path, opened: &Receiver<()>) {
    let start = Instant::now();
    // `Disconnected` says that opening took less than the patience.
    if opened.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let line = format!("loading {}", kb.display());
    if stderr().is_terminal() {
        let spinner = ProgressBar::new_spinner().with_message(line);
        spinner.enable_steady_tick(Duration::from_millis(100));
        let _ = opened.recv();
        spinner.finish_and_clear();
    } else {
        // A closed standard error must not end the program.
        drop(writeln!(stderr(), "{line}"));
        let _ = opened.recv();
    }
    let took = HumanDuration(start.elapsed());
    drop(writeln!(stderr(), "loaded in {took}"));
}
