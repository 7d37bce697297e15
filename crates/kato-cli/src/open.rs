//! Opens a trained knowledge base for questions.

use std::io::{Write, stderr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use indicatif::{HumanDuration, ProgressBar};
use kato::{IndexPolicy, OpenOptions};
use kato_engine::Node;
use kato_hierarchy::{HeadOptions, Hierarchy, TextHead};
use kato_model::KatoGeneration;
use kato_store::EmbeddedStore;

use crate::advice::told;
use crate::byte_size::ByteSize;
use crate::indexing;
use crate::knowledge_base::DirectoryArgs;

/// Time that opening may take before standard error says that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens a knowledge base, with the tokenizer and settings that it recorded.
///
/// An index that is missing is written first where much would have to be loaded without it, or more than
/// there may be. When opening takes more than a second, standard error says so.
///
/// # Errors
///
/// When there is none, it cannot be read, its tokenizer is not at hand, or it fits into memory neither with
/// an index nor without.
pub(crate) fn open(
    kb: &DirectoryArgs,
    memory: Option<ByteSize>,
    generation: KatoGeneration,
) -> Result<Hierarchy> {
    // The index is written here, where the user can be told.
    let mut options = OpenOptions::new()
        .with_index(IndexPolicy::Never)
        .with_generation(generation);
    // More than a process can address is as much as it can.
    options.max_memory = memory.map(|size| usize::try_from(size.0).unwrap_or(usize::MAX));
    let store = kb.open_trained()?;
    warn_of_index(&store);
    index_first(&store, options.max_memory);
    let kb_name = kb.dir.display();
    let line = match memory {
        None => format!("loading {kb_name}"),
        Some(_) => format!("loading {kb_name}, or writing its index where it does not fit"),
    };
    patiently(kb, &line, || options.open_embedded(Arc::new(store)))
}

/// Writes the index of a store that lacks it, if that is worth it; says so where it cannot be written, as
/// the answers are the same without it.
pub(crate) fn index_first(store: &EmbeddedStore, max_memory: Option<usize>) {
    let options = kato::index_build_options(max_memory);
    if let Err(error) = indexing::keep(store, IndexPolicy::Auto, options) {
        let error = told(&error.into());
        // A closed standard error must not end the program.
        drop(writeln!(
            stderr(),
            "without an index, all of it is loaded: {error}"
        ));
    }
}

/// Opens the head of a knowledge base, and nothing else unless KATO's predictions are asked, too: over
/// its counts on the disk, which are written first where there are none and it holds much. When that takes
/// more than a second, standard error says so.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn open_head(kb: &DirectoryArgs, options: HeadOptions) -> Result<TextHead> {
    let store = kb.open_trained()?;
    let line = format!(
        "counting the patterns of {}; where the counts can be kept beside it, it opens at once the next time",
        kb.dir.display()
    );
    patiently(kb, &line, || {
        OpenOptions::new().open_head_of(Arc::new(store), options)
    })
}

/// Opens something, and says a line on standard error when that takes its time.
fn patiently<T>(
    kb: &DirectoryArgs,
    line: &str,
    open: impl FnOnce() -> Result<T, kato::Error>,
) -> Result<T> {
    telling(line, open).map_err(|error| match error {
        kato::Error::NotTrained(source) => Error::from(source).context(format!(
            "{} does not tell how it was trained: train it with `kato train`",
            kb.dir.display()
        )),
        error => error.into(),
    })
}

/// Does something, and says a line on standard error when that takes its time.
pub(crate) fn telling<T>(line: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Nothing is ever sent: dropping the sender ends the other thread, also when the work fails
        // or panics. The scope waits for it.
        let (done, waiting) = channel();
        scope.spawn(move || tell(line, &waiting));
        let done_with = work();
        drop(done);
        done_with
    })
}

/// Says on standard error that the index of a store cannot be used, which is passed over.
pub(crate) fn warn_of_index(store: &EmbeddedStore) {
    if let Err(error) = kato_prediction::disk::open(store) {
        // A closed standard error must not end the program.
        drop(writeln!(stderr(), "warning: {}", told(&Error::from(error))));
    }
}

/// Counts the patterns of all nodes.
#[must_use]
pub(crate) fn count_patterns(hierarchy: &Hierarchy) -> u64 {
    let totals = hierarchy.nodes().iter().map(Node::totals);
    totals.map(|totals| totals.patterns).sum()
}

/// Says on standard error that something takes its time, until the other end of the channel is
/// dropped.
fn tell(line: &str, opened: &Receiver<()>) {
    let start = Instant::now();
    // `Disconnected` says that opening took less than the patience.
    if opened.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let spinner = ProgressBar::new_spinner().with_message(line.to_owned());
    if !spinner.is_hidden() {
        spinner.enable_steady_tick(Duration::from_millis(100));
        let _ = opened.recv();
        spinner.finish_and_clear();
    } else {
        // A closed standard error must not end the program.
        drop(writeln!(stderr(), "{line}"));
        let _ = opened.recv();
    }
    let took = HumanDuration(start.elapsed());
    drop(writeln!(stderr(), "done in {took}"));
}
