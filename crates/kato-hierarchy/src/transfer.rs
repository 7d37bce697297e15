//! Transfers predictions of one session to another as symbols.

use std::str::FromStr;

use kato_engine::{Observation, Session};
use kato_model::Event;
use kato_prediction::Prediction;
use kato_prediction::config::RankMetric;

use crate::HierarchyError;

/// The part of a prediction that is transferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each is the field of that name of a prediction"
)]
#[non_exhaustive]
pub enum TransferField {
    /// The name, with the prefix `PTRN|` that it has as a symbol.
    #[default]
    Name,
    Past,
    Present,
    Future,
    Missing,
    Matches,
    Extras,
}

impl FromStr for TransferField {
    type Err = HierarchyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "name" => Self::Name,
            "past" => Self::Past,
            "present" => Self::Present,
            "future" => Self::Future,
            "missing" => Self::Missing,
            "matches" => Self::Matches,
            "extras" => Self::Extras,
            _ => {
                return Err(HierarchyError::Option {
                    option: "transfer field",
                    value: format!("{name:?}"),
                    expected: "name, past, present, future, missing, matches or extras",
                });
            }
        })
    }
}

/// Predictions that can be transferred, wherever they come from.
pub trait Transferable {
    /// Returns the symbols of a field, event after event.
    fn symbols(&self, field: TransferField) -> Vec<String>;

    /// Returns a metric; `None` if the prediction does not have it, which counts as 0.
    fn metric(&self, metric: RankMetric) -> Option<f64>;
}

impl Transferable for Prediction {
    fn symbols(&self, field: TransferField) -> Vec<String> {
        let events = |events: &[Event]| events.iter().flat_map(Event::symbols).cloned().collect();
        match field {
            TransferField::Name => vec![self.name.prefixed().to_string()],
            TransferField::Past => events(&self.past),
            TransferField::Present => events(&self.present),
            TransferField::Future => events(&self.future),
            TransferField::Missing => self.missing.concat(),
            TransferField::Matches => self.matches.clone(),
            TransferField::Extras => self.extras.concat(),
        }
    }

    fn metric(&self, metric: RankMetric) -> Option<f64> {
        Self::metric(self, metric)
    }
}

/// The choice of predictions that are transferred, and how often each is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub enum Transfer {
    /// Each, in order.
    #[default]
    All,
    /// Those whose metric is great enough; the first one if there are none.
    Threshold {
        /// The metric that is compared. The original's default: the potential.
        metric: RankMetric,
        /// Its least value, inclusive. The original's default: 0.3.
        threshold: f64,
    },
    /// Those with the greatest metric, greatest first, ties in the order given.
    TopN {
        /// Number of predictions. The original's default: 3.
        n: usize,
        /// The metric by which they are sorted. The original's default: the potential.
        metric: RankMetric,
    },
    /// Those whose weight is great enough, each repeated max(1, min(`max_repeats`, ⌊weight ·
    /// `max_repeats`⌋)) times; the first one, once, if there are none.
    Weighted {
        /// The metric that is the weight. The original's default: the confidence.
        metric: RankMetric,
        /// Least weight, inclusive. The original's default: 0.3.
        min_weight: f64,
        /// Most repeats. The original's default: 5.
        max_repeats: usize,
    },
}

impl Transfer {
    /// Returns the symbols to transfer.
    pub fn apply<P: Transferable>(&self, predictions: &[P], field: TransferField) -> Vec<String> {
        match *self {
            Self::All => symbols(predictions, field),
            Self::Threshold { metric, threshold } => {
                let is_chosen = |one: &&P| value(*one, metric) >= threshold;
                or_first(predictions.iter().filter(is_chosen), predictions, field)
            }
            Self::TopN { n, metric } => {
                let mut sorted: Vec<&P> = predictions.iter().collect();
                // A stable sort, which keeps ties in the order given.
                sorted.sort_by(|one, other| value(*other, metric).total_cmp(&value(*one, metric)));
                symbols(sorted.into_iter().take(n), field)
            }
            Self::Weighted {
                metric,
                min_weight,
                max_repeats,
            } => {
                let repeated = |one| {
                    let weight = value(one, metric);
                    // The cast saturates, so a negative weight gives 0, and an infinite one the
                    // greatest number.
                    let wanted = (weight * max_repeats as f64).floor() as usize;
                    let n = match weight >= min_weight {
                        true => wanted.min(max_repeats).max(1),
                        false => 0,
                    };
                    std::iter::repeat_n(one, n)
                };
                or_first(predictions.iter().flat_map(repeated), predictions, field)
            }
        }
    }
}

/// Returns a metric, or 0 if the prediction does not have it.
fn value<P: Transferable>(prediction: &P, metric: RankMetric) -> f64 {
    prediction.metric(metric).unwrap_or(0.0)
}

/// Returns the field of these predictions, one after the other.
fn symbols<'a, P: Transferable + 'a>(
    predictions: impl IntoIterator<Item = &'a P>,
    field: TransferField,
) -> Vec<String> {
    let symbols = predictions.into_iter().map(|one| one.symbols(field));
    symbols.collect::<Vec<_>>().concat()
}

/// Returns the field of the chosen predictions, or of the first of all if none was chosen.
fn or_first<'a, P: Transferable + 'a>(
    chosen: impl Iterator<Item = &'a P>,
    all: &'a [P],
    field: TransferField,
) -> Vec<String> {
    let mut chosen = chosen.peekable();
    if chosen.peek().is_some() {
        symbols(chosen, field)
    } else {
        symbols(all.first(), field)
    }
}

/// The outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransferOutcome {
    /// Number of predictions of the source that could be chosen from.
    pub n_predictions: usize,
    /// Number of symbols that the target observed, each as an event of its own.
    pub n_items: usize,
}

/// Lets the target observe, one by one, the symbols that `transfer` makes of the source's first `n`
/// predictions. The source stays as it is.
///
/// The original's default is [`Transfer::All`] of 5 predictions.
///
/// ```
/// use kato_engine::{Engine, Observation, Sequence, SessionConfig};
/// use kato_hierarchy::transfer::{Transfer, TransferField, transfer_predictions};
///
/// let engine = Engine::in_memory(&["node0", "node1"]);
/// let mut source = engine.node("node0")?.session(SessionConfig::default());
/// source.observe_sequence(Sequence::new(["a", "b", "c"].map(|word| Observation::strings([word]))).learn_at_end())?;
/// source.observe(Observation::strings(["a"]))?;
/// let mut target = engine.node("node1")?.session(SessionConfig::default());
/// let done = transfer_predictions(&source, &mut target, TransferField::Future, &Transfer::All, 5)?;
/// assert_eq!((done.n_items, target.stm().len()), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`HierarchyError::Engine`] when the source's node cannot be read, and
/// [`HierarchyError::Transfer`] with the first item that the target refuses.
pub fn transfer_predictions(
    source: &Session,
    target: &mut Session,
    field: TransferField,
    transfer: &Transfer,
    n: usize,
) -> Result<TransferOutcome, HierarchyError> {
    let mut predictions = source.predict()?.predictions;
    predictions.truncate(n);
    let items = transfer.apply(&predictions, field);
    let n_items = items.len();
    for (item_idx, item) in items.into_iter().enumerate() {
        let observed = target.observe(Observation::strings([item]));
        observed.map_err(|source| HierarchyError::Transfer { item_idx, source })?;
    }
    Ok(TransferOutcome {
        n_predictions: predictions.len(),
        n_items,
    })
}
