//! The view of what one node predicts from a state, for people or for programs.

use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::HumanCount;
use kato_engine::{Node, SessionConfig};
use kato_hierarchy::unravel::Unraveller;
use kato_hierarchy::{ActivationOptions, Hierarchy};
use kato_model::{Event, KatoGeneration};
use kato_prediction::config::DEFAULT_GENERATION;
use kato_prediction::prediction::FutureShare;
use kato_prediction::{Prediction, Predictions, last_symbols};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::{as_usage, bail_as};
use crate::inspect::View;
use crate::inspect::decode::short;
use crate::inspect::layout::{dim, heading, one_line, quoted, table};
use crate::numbers::counted;

/// Most tokens of one column.
const MAX_TOKENS: usize = 256;

/// The question that a node is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Question {
    /// The state that a node is in after this text, cut as training cut it.
    Text(String),
    /// This short-term memory: a list of events, each a list of symbols.
    Stm(Vec<Vec<String>>),
}

impl Question {
    /// What a question looks like as JSON.
    pub(crate) const FORM: &str = r#"{"text": "The cat"} or {"stm": [["The"],["Ġcat"]]}"#;

    /// Reads the value of `--stm`.
    ///
    /// # Errors
    ///
    /// When it is no short-term memory.
    pub(crate) fn of_stm(json: &str) -> Result<Self> {
        let stm = serde_json::from_str(json)
            .context("--stm must be a list of events, such as [[\"a\"],[\"b\",\"c\"]]")
            .map_err(|error| as_usage(&error))?;
        Ok(Self::Stm(stm))
    }
}

/// One node's answer. As JSON `predictions` and `future_potentials` are KATO's.
#[derive(Debug, Serialize)]
pub(crate) struct PredictionView {
    /// The node.
    pub(crate) node: String,
    /// Patterns that the node knows.
    pub(crate) patterns: u64,
    /// The generation of KATO that answers.
    generation: String,
    /// The state that was asked.
    pub(crate) state: Vec<Event>,
    /// Milliseconds that the prediction took.
    pub(crate) milliseconds: f64,
    /// The best, as many as were asked for.
    pub(crate) predictions: Vec<Prediction>,
    /// The heaviest futures, as many.
    pub(crate) future_potentials: Vec<FutureShare>,
    /// The texts for people; `None` for programs.
    #[serde(skip)]
    texts: Option<Texts>,
    #[serde(skip)]
    n_found: usize,
}

/// The texts that the symbols of an answer stand for.
#[derive(Debug)]
struct Texts {
    state: String,
    /// By prediction.
    patterns: Vec<String>,
    /// By future.
    futures: Vec<String>,
}

/// The reader of texts of one level.
struct Decoder<'h> {
    unraveller: Unraveller<'h>,
    level: usize,
}

impl PredictionView {
    /// Asks a node, with the end of the state alone if a `window` is given, and keeps `limit`
    /// predictions and futures at most. `decodes` says whether their texts are read, for people.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized, or a node cannot be read.
    pub(crate) fn of(
        hierarchy: &Hierarchy,
        node: &Node,
        question: Question,
        (window, limit): (Option<usize>, usize),
        decodes: bool,
    ) -> Result<Self> {
        let level = node.node_idx();
        let mut state = match question {
            Question::Text(text) => {
                let substitutes = ActivationOptions::default().substitutes;
                hierarchy.state(&text, level, substitutes)?
            }
            Question::Stm(events) => events
                .into_iter()
                // KATO adds no event for an observation without symbols.
                .filter(|symbols| !symbols.is_empty())
                .map(Event::new)
                .collect(),
        };
        if let Some(window) = window {
            state = last_symbols(&state, window).to_vec();
        }
        let config = hierarchy.config(level).cloned().unwrap_or_default();
        let start = Instant::now();
        let Predictions {
            mut predictions,
            mut future_potentials,
            ..
        } = node.predict(&state, &config)?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        // Before the cut: the heading says how many there are in all.
        let n_found = predictions.len();
        predictions.truncate(limit);
        future_potentials.truncate(limit);
        let texts = match decodes {
            true => {
                let mut decoder = Decoder {
                    unraveller: hierarchy.unraveller().with_max_leaves(MAX_TOKENS),
                    level,
                };
                Some(decoder.texts(&state, &predictions, &future_potentials)?)
            }
            false => None,
        };
        Ok(Self {
            node: node.name().to_owned(),
            patterns: node.totals().patterns,
            generation: hierarchy.engine().options().generation.to_string(),
            state,
            milliseconds,
            predictions,
            future_potentials,
            texts,
            n_found,
        })
    }
}

impl Decoder<'_> {
    /// Reads all texts of an answer.
    fn texts(
        &mut self,
        state: &[Event],
        predictions: &[Prediction],
        futures: &[FutureShare],
    ) -> Result<Texts> {
        let mut patterns = Vec::with_capacity(predictions.len());
        for prediction in predictions {
            patterns.push(self.pattern(prediction)?);
        }
        let futures = futures.iter().map(|future| self.decoded(&future.future));
        let futures = futures.collect::<Result<_>>()?;
        Ok(Texts {
            state: self.decoded(state)?,
            patterns,
            futures,
        })
    }

    /// Returns the text of events of the node, cut with an ellipsis after [`MAX_TOKENS`] tokens.
    fn decoded(&mut self, events: &[Event]) -> Result<String> {
        let unravelled = self.unraveller.events(self.level, events)?;
        Ok(match unravelled.is_truncated {
            true => unravelled.text + "…",
            false => unravelled.text,
        })
    }

    /// Returns the pattern as text: past, present and future; what is missing from the state and
    /// what the state has beyond it.
    fn pattern(&mut self, prediction: &Prediction) -> Result<String> {
        let mut present = String::new();
        let is_missing = |idx: usize| prediction.missing.get(idx).is_some_and(|m| !m.is_empty());
        let events: Vec<(bool, &Event)> = prediction
            .present
            .iter()
            .enumerate()
            .map(|(idx, event)| (is_missing(idx), event))
            .collect();
        // Neighbours that are missing together are one text in one pair of brackets.
        for run in events.chunk_by(|one, next| one.0 == next.0) {
            let owned: Vec<Event> = run.iter().map(|(_, event)| (*event).clone()).collect();
            let text = self.decoded(&owned)?;
            present += &match run[0].0 {
                true => format!("[-{text}-]"),
                false => text,
            };
        }
        let extras: Vec<Event> = prediction
            .extras
            .iter()
            .filter(|symbols| !symbols.is_empty())
            .map(|symbols| Event::in_given_order(symbols.clone()))
            .collect();
        let past = self.decoded(&prediction.past)?;
        let future = self.decoded(&prediction.future)?;
        let extras = match extras.is_empty() {
            true => String::new(),
            false => format!("  {{+{}+}}", self.decoded(&extras)?),
        };
        Ok(format!("{past} | {present} | {future}{extras}"))
    }
}

impl View for PredictionView {
    fn text(&self, width: usize) -> String {
        let Some(texts) = &self.texts else {
            return String::new();
        };
        let mut text = heading(&format!(
            "{}: {} from {} in {:.2} ms{}",
            self.node,
            counted(self.n_found, "prediction"),
            counted(self.patterns, "pattern"),
            self.milliseconds,
            self.as_older()
        ));
        text += &format!("state {}\n", quoted(&texts.state, width.saturating_sub(6)));
        if self.n_found == 0 {
            return text + "nothing that was learned resembles it\n";
        }
        if self.predictions.is_empty() {
            // As many were asked for.
            return text;
        }
        let rows: Vec<Vec<String>> = self.predictions.iter().map(row).collect();
        let header = ["name", "potential", "similarity", "evidence", "confidence"];
        let header: Vec<&str> = header.into_iter().chain(["snr", "frequency"]).collect();
        let numbers = table(&header, &rows);
        let mut lines = numbers.lines();
        text += &format!("\n{}", heading(lines.next().unwrap_or_default()));
        for (line, pattern) in lines.zip(&texts.patterns) {
            let pattern = one_line(pattern, width.saturating_sub(2));
            text += &format!("{line}\n  {pattern}\n");
        }
        let legend = "past | present | future; [-missing from the state-], {+in the state alone+}";
        text += &format!("{}\n", dim(legend));
        if !self.future_potentials.is_empty() {
            text += &format!("\n{}", heading("share  patterns  future"));
        }
        for (future, future_text) in self.future_potentials.iter().zip(&texts.futures) {
            text += &format!(
                "{:>5.3}  {:>8}  {}\n",
                future.aggregate_potential,
                future.supporting_patterns,
                quoted(future_text, width.saturating_sub(17))
            );
        }
        text
    }
}

impl PredictionView {
    /// Returns the generation of KATO that answers, where it is not the one that answers by default.
    fn as_older(&self) -> String {
        match self.generation == DEFAULT_GENERATION.to_string() {
            true => String::new(),
            false => format!(", as KATO {} answers", self.generation),
        }
    }
}

/// Returns the cells of a prediction in the table.
fn row(prediction: &Prediction) -> Vec<String> {
    let metrics = [
        prediction.potential,
        prediction.similarity,
        prediction.evidence,
        prediction.confidence,
        prediction.snr,
    ];
    let metrics = metrics.iter().map(|value| format!("{value:.4}"));
    let frequency = HumanCount(prediction.frequency).to_string();
    let name = short(&prediction.name);
    [name]
        .into_iter()
        .chain(metrics)
        .chain([frequency])
        .collect()
}

/// The settings of a session that its predictions depend on. Others are of observing and learning; of the metric that
/// ranks predictions KATO takes that of its process, and of symbols those of the question are sorted anyway.
const OF_PREDICTIONS: [&str; 14] = [
    "affinity_emotive",
    "filter_pipeline",
    "fuzzy_token_threshold",
    "jaccard_min_overlap",
    "jaccard_threshold",
    "length_max_ratio",
    "length_min_ratio",
    "max_predictions",
    "minhash_bands",
    "minhash_num_hashes",
    "minhash_rows",
    "minhash_threshold",
    "recall_threshold",
    "use_token_matching",
];

/// Returns a level's configuration with changes from a JSON object of the settings of a generation of KATO.
///
/// # Errors
///
/// When it is no object, names a setting that no prediction depends on, or a value is out of range.
pub(crate) fn configured(
    base: &SessionConfig,
    changes: &str,
    generation: KatoGeneration,
) -> Result<SessionConfig> {
    let value: Value = serde_json::from_str(changes)
        .context("--config must be JSON")
        .map_err(|error| as_usage(&error))?;
    let Some(changes) = value.as_object() else {
        bail_as!(
            Usage,
            "--config must be an object, such as {{\"recall_threshold\": 0.3}}"
        );
    };
    let mut all = base.clone();
    // Some generations answer these only where they are set.
    all.fuzzy_token_threshold.get_or_insert_default();
    all.affinity_emotive.get_or_insert_default();
    let known = all.settings(generation);
    let is_used = |name: &str| OF_PREDICTIONS.contains(&name) && known.contains_key(name);
    if let Some(name) = changes.keys().find(|name| !is_used(name)) {
        let why = match known.contains_key(name) {
            true => "no prediction depends on the setting",
            false => "there is no setting",
        };
        let known = known.keys().map(String::as_str);
        let used: Vec<&str> = known.filter(|name| is_used(name)).collect();
        bail_as!(
            Usage,
            "--config: {why} {name:?}; there are {}",
            used.join(", ")
        );
    }
    let mut config = base.clone();
    config
        .update(changes, generation)
        .context("--config")
        .map_err(|error| as_usage(&error))?;
    Ok(config)
}

/// Which KATO answers.
#[derive(Debug, clap::Args)]
pub(crate) struct GenerationArgs {
    /// Generation of KATO whose predictions these are: 3.10, 5.2 or 6.3. The version of a server stands for its
    /// generation, such as 4 for 3.10.
    #[arg(long, value_name = "VERSION", default_value_t = DEFAULT_GENERATION, value_parser = generation)]
    pub(crate) kato: KatoGeneration,
}

/// Reads a generation whose answers are given.
pub(crate) fn generation(text: &str) -> Result<KatoGeneration, String> {
    match text.parse() {
        Ok(KatoGeneration::October2025) => Err(
            "what its API has is served beside all others, and its predictions were not recorded: take 3.10, the nearest"
                .to_owned(),
        ),
        Ok(generation) => Ok(generation),
        Err(error) => Err(error.to_string()),
    }
}
