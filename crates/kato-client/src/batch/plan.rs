//! Planning which items go into which request: a pure function, so that it can be tested without a
//! server.

use kato_model::PatternName;
use kato_protocol::extension::BatchItem;
use serde_json::Value;

/// How a server can be taught many sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMode {
    /// By `learn-batch`, on a kato-rs server.
    LearnBatch {
        /// Most sequences of a request; at least 1 is sent.
        max_sequences: usize,
        /// Most bytes of a request; a single sequence is sent however long it is.
        max_bytes: usize,
    },
    /// By long sequences on a session that learns whenever `chunk_size` events are complete
    /// (generation 3.10 or later).
    Runs {
        /// Events of a chunk.
        chunk_size: usize,
        /// Most events of a request; a single chunk is sent however long it is.
        max_events: usize,
    },
    /// By a request for each item (generation 2025-10, or items of any length); from 6.x on by two.
    OneByOne,
}

/// Items that are sent together. Numbers are positions in the list of items.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedRequest {
    /// All items in one `learn-batch`.
    Batch {
        /// The items, in order.
        items: Vec<usize>,
    },
    /// All items, one after the other, in one sequence that is learned chunk by chunk.
    Run {
        /// The items, in order.
        items: Vec<usize>,
    },
    /// One item as one sequence that is learned in the end, from 6.x on by a request of its own. After
    /// an item with emotives or metadata the session is cleared before the next, but on a server of
    /// generation 2025-10.
    Single {
        /// The item.
        item: usize,
    },
}

/// The requests that teach a list of items.
///
/// Laws: every item of two symbols or more is in exactly one request, the others in none; no
/// request of several items exceeds the limits of its mode; items with emotives or metadata keep their order.
///
/// # Examples
///
/// ```
/// use kato_client::batch::{BatchMode, BatchPlan};
/// use kato_client::protocol::extension::BatchItem;
///
/// let item = |text: &str| BatchItem {
///     events: text.chars().map(|symbol| vec![symbol.to_string()]).collect(),
///     ..BatchItem::default()
/// };
/// let items = [item("abcd"), item("efgh"), item("ij"), item("k")];
/// let mode = BatchMode::Runs { chunk_size: 4, max_events: 5_000 };
/// let (plan, _) = BatchPlan::new(&items, mode);
/// assert_eq!(plan.calls.len(), 2, "one run of two chunks, and the tail");
/// assert_eq!(plan.names[3], None, "one symbol is no pattern");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchPlan {
    /// The requests. Runs and singles may be carried out at the same time, each kind in order.
    pub calls: Vec<PlannedRequest>,
    /// The name of every item's pattern; `None` for those of fewer than two symbols.
    pub names: Vec<Option<PatternName>>,
}

impl BatchPlan {
    /// Plans the requests, and returns the items as they are sent: symbols sorted within their
    /// events, empty events left out.
    #[must_use]
    pub fn new(items: &[BatchItem], mode: BatchMode) -> (Self, Vec<BatchItem>) {
        let items: Vec<BatchItem> = items.iter().map(normalized).collect();
        // Of the items as they are sent: the server sorts the symbols of an event before it names
        // the pattern, and keeps no empty events.
        let names: Vec<Option<PatternName>> = items.iter().map(name_of).collect();
        let learnable = (0..items.len()).filter(|idx| names[*idx].is_some());
        let calls = match mode {
            BatchMode::LearnBatch {
                max_sequences,
                max_bytes,
            } => pack(learnable, max_sequences, max_bytes, |idx| {
                json_bytes(&items[idx])
            })
            .into_iter()
            .map(|items| PlannedRequest::Batch { items })
            .collect(),
            BatchMode::Runs {
                chunk_size,
                max_events,
            } => {
                // An item of another length would shift the borders of all chunks behind it in a
                // run.
                let (even, odd): (Vec<_>, Vec<_>) =
                    learnable.partition(|idx| is_chunk(&items[*idx], chunk_size));
                let mut calls: Vec<_> = pack(even, usize::MAX, max_events, |_| chunk_size)
                    .into_iter()
                    .map(|items| PlannedRequest::Run { items })
                    .collect();
                calls.extend(singles(&items, odd));
                calls
            }
            BatchMode::OneByOne => singles(&items, learnable).collect(),
        };
        (Self { calls, names }, items)
    }
}

/// Returns a request for each item, those without emotives and metadata first: after each of the
/// others the session must be cleared.
fn singles(
    items: &[BatchItem],
    chosen: impl IntoIterator<Item = usize>,
) -> impl Iterator<Item = PlannedRequest> {
    let (plain, attributed): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|idx| is_plain(&items[*idx]));
    plain
        .into_iter()
        .chain(attributed)
        .map(|item| PlannedRequest::Single { item })
}

/// Groups items in order, as many as fit together.
fn pack(
    chosen: impl IntoIterator<Item = usize>,
    max_n: usize,
    max_size: usize,
    size: impl Fn(usize) -> usize,
) -> Vec<Vec<usize>> {
    let mut packs: Vec<Vec<usize>> = Vec::new();
    let mut filled = 0;
    for idx in chosen {
        let size = size(idx);
        match packs.last_mut() {
            // The first item of a group is never checked: one that is too large goes alone.
            Some(pack) if pack.len() < max_n && filled + size <= max_size => {
                pack.push(idx);
                filled += size;
            }
            _ => {
                packs.push(vec![idx]);
                // Room for the braces and the key around the items.
                filled = size + 32;
            }
        }
    }
    packs
}

/// Returns the name of an item's pattern; `None` if it has fewer than two symbols, of which a
/// server learns nothing.
pub(crate) fn name_of(item: &BatchItem) -> Option<PatternName> {
    let n_symbols: usize = item.events.iter().map(Vec::len).sum();
    (n_symbols >= 2).then(|| PatternName::of_events(&item.events))
}

/// Returns whether an item has neither emotives nor metadata.
pub(crate) fn is_plain(item: &BatchItem) -> bool {
    item.emotives.is_empty() && item.metadata.is_empty()
}

/// Returns whether an item may be part of a run.
fn is_chunk(item: &BatchItem, chunk_size: usize) -> bool {
    is_plain(item)
        && item.events.len() == chunk_size
        && item.events.iter().all(|event| event.len() == 1)
}

/// Returns an item as it is sent: events sorted, none of them empty.
pub(crate) fn normalized(item: &BatchItem) -> BatchItem {
    let mut item = item.clone();
    item.events.retain(|event| !event.is_empty());
    for event in &mut item.events {
        event.sort_unstable();
    }
    item
}

/// Returns an upper bound of the bytes of an item as JSON.
fn json_bytes(item: &BatchItem) -> usize {
    // For each symbol two quotes and a comma, for each event two brackets and a comma; 64 for the
    // keys of the item.
    let symbols: usize = item
        .events
        .iter()
        .map(|event| {
            3 + event
                .iter()
                .map(|symbol| escaped_len(symbol) + 3)
                .sum::<usize>()
        })
        .sum();
    let attributes = |value: Value| value.to_string().len();
    let mut bytes = symbols + 64;
    if !item.emotives.is_empty() {
        bytes += serde_json::to_value(&item.emotives).map_or(0, attributes);
    }
    if !item.metadata.is_empty() {
        bytes += attributes(Value::Object(item.metadata.clone()));
    }
    bytes
}

/// Returns an upper bound of the length of a symbol in JSON.
fn escaped_len(symbol: &str) -> usize {
    symbol
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' => 2,
            // The longest escape of a byte, `\u00xx`. Characters beyond ASCII are written as they
            // are.
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}
