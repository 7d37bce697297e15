//! Opens a trained knowledge base for questions.

use std::sync::Arc;

use anyhow::{Error, Result};
use kato::{IndexPolicy, OpenOptions};
use kato_engine::Node;
use kato_hierarchy::{HeadOptions, Hierarchy, TextHead};
use kato_model::KatoGeneration;
use kato_store::EmbeddedStore;

use crate::advice::told;
use crate::byte_size::ByteSize;
use crate::indexing;
use crate::knowledge_base::DirectoryArgs;
use crate::notice::say;
use crate::patience;

/// Opens a knowledge base, with the tokenizer and settings that it recorded.
///
/// An index that is missing is written first where much would have to be loaded without it, or more than
/// there may be. When opening takes more than two seconds, standard error says so.
///
/// # Errors
///
/// When there is none, it cannot be read, no training made it, its tokenizer is not at hand, or it fits into
/// memory neither with an index nor without.
pub(crate) fn open(
    kb: &DirectoryArgs,
    memory: Option<ByteSize>,
    generation: KatoGeneration,
) -> Result<Hierarchy> {
    // The index is written here, where the user can be told.
    let mut options = OpenOptions::new()
        .with_index(IndexPolicy::Never)
        .with_generation(generation);
    options.max_memory = memory.map(ByteSize::in_memory);
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
    if let Err(error) = indexing::keep(store, IndexPolicy::Auto, &options) {
        let error = told(&error.into());
        say(format_args!("what no index holds is loaded: {error}"));
    }
}

/// Opens the head of a knowledge base, and nothing else unless KATO's predictions are asked, too: over
/// its counts on the disk, which are written first where there are none and it holds much. When that takes
/// more than two seconds, standard error says so.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn open_head(kb: &DirectoryArgs, options: HeadOptions) -> Result<TextHead> {
    open_head_of(kb, Arc::new(kb.open_trained()?), options)
}

/// Opens the head of the store of a knowledge base, as [`open_head`].
///
/// # Errors
///
/// As [`open`].
pub(crate) fn open_head_of(
    kb: &DirectoryArgs,
    store: Arc<EmbeddedStore>,
    options: HeadOptions,
) -> Result<TextHead> {
    let line = format!(
        "opening the head of {}: it may have to count the patterns first. It opens at once the next time if it can keep the counts",
        kb.dir.display()
    );
    patiently(kb, &line, || {
        OpenOptions::new().open_head_of(store, options)
    })
}

/// Opens something, and says a line on standard error when that takes its time.
fn patiently<T>(
    kb: &DirectoryArgs,
    line: &str,
    open: impl FnOnce() -> Result<T, kato::Error>,
) -> Result<T> {
    let opened = patience::patiently(line, open);
    opened.map_err(|error| match error {
        kato::Error::NotTrained(source) => Error::from(source).context(format!(
            "{} does not tell how it was trained: train it with `kato train`",
            kb.dir.display()
        )),
        error => error.into(),
    })
}

/// Says on standard error that the index of a store cannot be used, which is passed over.
pub(crate) fn warn_of_index(store: &EmbeddedStore) {
    if let Err(error) = kato_prediction::disk::open(store) {
        say(format_args!("warning: {}", told(&Error::from(error))));
    }
}

/// Counts the patterns of all nodes.
#[must_use]
pub(crate) fn count_patterns(hierarchy: &Hierarchy) -> u64 {
    let totals = hierarchy.nodes().iter().map(Node::totals);
    totals.map(|totals| totals.patterns).sum()
}
