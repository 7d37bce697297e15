//! The overview: what a knowledge base is, how often its patterns were learned, and the most
//! frequent of them.

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use kato_model::PatternName;
use kato_scheduler::{Checkpoint, RunConfiguration};
use kato_store::contract::Totals;
use kato_store::embedded::is_salvaged;
use kato_store::statistics::FrequencyStatistics;
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use serde::Serialize;
use serde_json::{Map, Value};

use super::decode::{Decoder, short};
use super::layout::{cell, dim, heading, one_line, quoted, table};
use super::{View, settings};
use crate::knowledge_base::server_node;
use crate::numbers::counted;

/// The contents of a knowledge base in a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Overview {
    /// The directory.
    pub(crate) kb: String,
    /// Whether the corpus was read to its end; `None` where no training keeps a position: nothing was
    /// trained, a part of it is lost, or something else wrote it.
    pub(crate) complete: Option<bool>,
    /// Whether it was salvaged and lacks a part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) salvaged: bool,
    /// Id of the server's node that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_node: Option<String>,
    /// Commits so far.
    pub(crate) commits: u64,
    /// Bytes of all nodes on the disk.
    pub(crate) disk_bytes: u64,
    /// Bytes on the disk for each distinct pattern.
    pub(crate) bytes_per_pattern: Option<f64>,
    /// The corpus that was read; `None` as `complete`.
    pub(crate) corpus: Option<CorpusOverview>,
    /// The run's tokenizer.
    pub(crate) tokenizer: Option<String>,
    /// Reason why the tokenizer cannot be used, so that tokens are shown as they are.
    pub(crate) tokenizer_problem: Option<String>,
    /// The learner's settings that are not the defaults, by path.
    pub(crate) changed_settings: Map<String, Value>,
    /// The nodes, from the bottom of the hierarchy up.
    pub(crate) nodes: Vec<NodeOverview>,
}

/// The corpus of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CorpusOverview {
    /// Names of the files.
    pub(crate) files: Vec<String>,
    /// Bytes of the files whose size is known.
    pub(crate) bytes: u64,
    /// Documents learned.
    pub(crate) documents: u64,
    /// Tokens that are part of a pattern.
    pub(crate) tokens: u64,
    /// Documents and records that could not be learned.
    pub(crate) errors: u64,
}

/// A node of the knowledge base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NodeOverview {
    /// Its name.
    pub(crate) node: String,
    /// Symbols of a full chunk, where the run is known.
    pub(crate) chunk_size: Option<usize>,
    /// Totals of what it learned, counted over learn calls.
    pub(crate) totals: Totals,
    /// Frequencies of its patterns.
    pub(crate) statistics: FrequencyStatistics,
    /// Its most frequent patterns; empty for nodes that were not asked for.
    pub(crate) top: Vec<TopPattern>,
}

/// A frequent pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TopPattern {
    /// Its name.
    pub(crate) name: PatternName,
    /// Learn calls.
    pub(crate) frequency: u64,
    /// The text that it stands for.
    pub(crate) text: String,
}

impl Overview {
    /// Reads the names and frequencies of all nodes, and the `n_top` most frequent patterns of one
    /// node or of each.
    ///
    /// `reading` is called with the name of each node before it is read.
    ///
    /// # Errors
    ///
    /// When there is no such node, and when the store cannot be read.
    pub(crate) fn of(
        store: &EmbeddedStore,
        node: Option<&str>,
        n_top: usize,
        mut reading: impl FnMut(&str),
    ) -> Result<Self> {
        let asked = node
            .map(|node| KnowledgeBase::new(store, node))
            .transpose()?;
        // Another program's knowledge base has another configuration: its patterns can be shown all
        // the same.
        let run = RunConfiguration::from_json(store.configuration()).ok();
        let checkpoint = Checkpoint::from_json(&store.checkpoint()).ok().flatten();
        let decoder = Decoder::of(run.as_ref());
        let mut nodes = Vec::new();
        for knowledge_base in KnowledgeBase::all(store) {
            reading(knowledge_base.name());
            let is_asked = asked.is_none_or(|asked| asked.node_idx() == knowledge_base.node_idx());
            let learner = run.as_ref().map(|run| &run.rules.learner);
            // The nodes of a store are in the order of the run's levels.
            let level = learner.and_then(|learner| learner.nodes.get(knowledge_base.node_idx()));
            nodes.push(NodeOverview {
                node: knowledge_base.name().to_owned(),
                chunk_size: level.map(|level| level.chunk_size),
                totals: knowledge_base.totals()?,
                statistics: knowledge_base.statistics()?,
                top: if is_asked {
                    top(&knowledge_base, n_top, &decoder)?
                } else {
                    Vec::new()
                },
            });
        }
        let patterns: u64 = nodes.iter().map(|node| node.statistics.patterns).sum();
        let disk_bytes = store.disk_bytes().unwrap_or_default();
        Ok(Self {
            kb: store.dir().display().to_string(),
            complete: checkpoint.as_ref().map(|checkpoint| checkpoint.complete),
            salvaged: is_salvaged(&store.checkpoint()),
            server_node: server_node(store).map(str::to_owned),
            commits: store.n_commits(),
            disk_bytes,
            bytes_per_pattern: (patterns > 0).then(|| disk_bytes as f64 / patterns as f64),
            corpus: checkpoint.as_ref().map(CorpusOverview::of),
            tokenizer: run.as_ref().map(|run| run.rules.tokenizer.clone()),
            tokenizer_problem: decoder.problem().map(str::to_owned),
            changed_settings: run
                .map(|run| settings::changed(&run.rules.learner))
                .unwrap_or_default(),
            nodes,
        })
    }

    /// Returns the lines about the run, each with its label.
    fn summary(&self) -> Vec<(&str, String)> {
        let of_a_server = self.server_node.as_ref().map(|node| {
            format!(
                "node {node} of a server: ask it in a session of `kato serve`, which learns into it"
            )
        });
        let state = match self.complete {
            _ if self.salvaged => "salvaged: a part of what was learned is missing",
            None if let Some(told) = &of_a_server => told,
            None => "no training is in it",
            Some(true) => "complete",
            Some(false) => {
                "not complete: being trained, limited or interrupted (train --resume goes on)"
            }
        };
        let size = HumanBytes(self.disk_bytes);
        let mut storage = format!("{size} after {}", counted(self.commits, "commit"));
        if let Some(bytes) = self.bytes_per_pattern {
            storage += &format!(", {bytes:.1} bytes a pattern");
        }
        let mut lines = vec![("state", state.to_owned()), ("storage", storage)];
        if let Some(corpus) = &self.corpus {
            lines.push(("corpus", corpus.learned()));
            lines.push(("", corpus.read()));
        }
        if let Some(tokenizer) = &self.tokenizer {
            lines.push(("tokenizer", tokenizer.clone()));
            let problem = self.tokenizer_problem.as_ref();
            lines.extend(problem.map(|problem| ("", format!("not used: {problem}"))));
            let changed = self.changed_settings.iter();
            let settings =
                changed.map(|(path, value)| format!("{path} {}", settings::in_words(value)));
            let settings: Vec<String> = settings.collect();
            let rest = if settings.is_empty() {
                "the defaults"
            } else {
                "otherwise the defaults"
            };
            // The label stands in the first line of the settings only.
            let labels = ["settings"].into_iter().chain(std::iter::repeat(""));
            lines.extend(labels.zip(settings.into_iter().chain([rest.to_owned()])));
        }
        lines
    }
}

impl CorpusOverview {
    /// Returns what a checkpoint says of the corpus.
    fn of(checkpoint: &Checkpoint) -> Self {
        let files = checkpoint.corpus.files();
        Self {
            files: files.iter().map(|file| file.name.clone()).collect(),
            bytes: files.iter().filter_map(|file| file.size).sum(),
            documents: checkpoint.counters.documents,
            tokens: checkpoint.counters.tokens,
            // Documents that could not be learned, and records that could not be read.
            errors: checkpoint.counters.failed + checkpoint.cursor.counts().bad,
        }
    }
}

impl CorpusOverview {
    /// Describes what was learned.
    fn learned(&self) -> String {
        let mut text = format!(
            "{} and {} learned",
            counted(self.documents, "document"),
            counted(self.tokens, "token")
        );
        if self.errors > 0 {
            text += &format!(", {}", counted(self.errors, "error"));
        }
        text
    }

    /// Describes what was read.
    fn read(&self) -> String {
        let bytes = HumanBytes(self.bytes);
        match self.files.as_slice() {
            [] => "no files".to_owned(),
            [file] => format!("{file}, {bytes}"),
            [first, .., last] => {
                let files = counted(self.files.len(), "file");
                format!("{files}, {bytes}: {first} … {last}")
            }
        }
    }
}

impl View for Overview {
    fn text(&self, width: usize) -> String {
        let mut text = heading(&one_line(&self.kb, width));
        for (label, line) in self.summary() {
            text += &format!(
                "  {label:<11}{}\n",
                one_line(&line, width.saturating_sub(13))
            );
        }
        let parts = [self.frequencies(), self.ranges()];
        let asked = self.nodes.iter().filter(|node| !node.top.is_empty());
        for part in parts
            .into_iter()
            .chain(asked.map(|node| node.most_frequent(width)))
        {
            text.push('\n');
            text += &part;
        }
        text
    }
}

impl Overview {
    /// Returns the table of the nodes' frequencies.
    fn frequencies(&self) -> String {
        let rows: Vec<Vec<String>> = self.nodes.iter().map(NodeOverview::frequencies).collect();
        table(
            &[
                "node", "chunk", "learned", "symbols", "patterns", "mean", "median", "max", "once",
            ],
            &rows,
        )
    }

    /// Returns the table of how many patterns were learned how often.
    fn ranges(&self) -> String {
        let rows: Vec<Vec<String>> = self.nodes.iter().map(NodeOverview::ranges).collect();
        table(
            &[
                "patterns learned",
                "once",
                "2-5",
                "6-10",
                "11-50",
                "over 50 times",
            ],
            &rows,
        )
    }
}

impl NodeOverview {
    /// Returns the cells of the node in the table of frequencies.
    fn frequencies(&self) -> Vec<String> {
        let statistics = &self.statistics;
        // Not a number for a node without patterns, whose row does not show it.
        let once = 100.0 * statistics.ranges.freq_1 as f64 / statistics.patterns as f64;
        vec![
            self.node.clone(),
            cell(self.chunk_size),
            count(statistics.learns),
            count(self.totals.learned_symbols),
            count(statistics.patterns),
            cell(statistics.mean.map(|mean| format!("{mean:.2}"))),
            cell(statistics.median),
            cell(statistics.max.map(count)),
            cell((statistics.patterns > 0).then(|| format!("{once:.1} %"))),
        ]
    }

    /// Returns the cells of the node in the table of ranges.
    fn ranges(&self) -> Vec<String> {
        let ranges = self.statistics.ranges;
        let counts = [
            ranges.freq_1,
            ranges.freq_2_5,
            ranges.freq_6_10,
            ranges.freq_11_50,
            ranges.freq_50_plus,
        ];
        [self.node.clone()]
            .into_iter()
            .chain(counts.map(count))
            .collect()
    }

    /// Returns the list of the node's most frequent patterns.
    fn most_frequent(&self, width: usize) -> String {
        let mut text = heading(&format!("most frequent patterns of {}", self.node));
        let digits = self
            .top
            .first()
            .map_or(0, |pattern| count(pattern.frequency).len());
        for pattern in &self.top {
            let frequency = count(pattern.frequency);
            let words = quoted(&pattern.text, width.saturating_sub(digits + 14));
            text += &format!(
                "  {frequency:>digits$}  {}  {words}\n",
                dim(&short(&pattern.name))
            );
        }
        text
    }
}

/// Reads the most frequent patterns of a node, with their texts.
fn top(knowledge_base: &KnowledgeBase<'_>, n: usize, decoder: &Decoder) -> Result<Vec<TopPattern>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut patterns = Vec::new();
    for found in knowledge_base.top(n)? {
        let trace = knowledge_base.trace(&found.name)?;
        let text = trace
            .map(|trace| decoder.text(trace.leaves()))
            .unwrap_or_default();
        patterns.push(TopPattern {
            name: found.name,
            frequency: found.frequency,
            text,
        });
    }
    Ok(patterns)
}

/// Formats a count with its thousands marked.
pub(super) fn count(count: u64) -> String {
    HumanCount(count).to_string()
}
