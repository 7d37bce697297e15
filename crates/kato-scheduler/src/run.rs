//! The configuration of a run, as its knowledge base keeps it.

use kato_learner::{HierarchicalConceptLearner, LearningRules};
use kato_loader::Split;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::plain_json;

/// Everything that decides what a run learns from its documents; stored with the knowledge base and
/// compared on resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfiguration {
    /// What decides what a document teaches.
    #[serde(flatten)]
    pub rules: LearningRules,
    /// The side of a split that is learned; `None` when no document is held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

impl RunConfiguration {
    /// Creates the configuration of a run with this learner that holds no document out.
    #[must_use]
    pub fn from_learner(learner: &HierarchicalConceptLearner) -> Self {
        Self {
            rules: LearningRules::from_learner(learner),
            split: None,
        }
    }

    /// Sets the side of a split that is learned; the loader's
    /// [`split`](kato_loader::StreamingDatasetLoader::split) must be the same.
    #[must_use]
    pub fn with_split(mut self, split: Option<Split>) -> Self {
        self.split = split;
        self
    }

    /// Returns the configuration as JSON, for the store.
    #[must_use]
    pub fn to_json(&self) -> Value {
        plain_json(self)
    }

    /// Reads a store's configuration.
    ///
    /// # Errors
    ///
    /// When the store was configured by something else.
    pub fn from_json(configuration: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(configuration)
    }

    /// Describes what is different in the configuration of another run; empty when both learn the
    /// same.
    #[must_use]
    pub fn diff(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        // By the fingerprint alone: the same tokenizer may be asked for by a name or by a path.
        let (was, now) = (&self.rules, &other.rules);
        if was.tokenizer_fingerprint != now.tokenizer_fingerprint {
            differences.push(format!(
                "tokenizer: it was {:?}, now it is {:?}",
                was.tokenizer, now.tokenizer
            ));
        }
        let (was, now) = (plain_json(&was.learner), plain_json(&now.learner));
        diff_values("", &was, &now, &mut differences);
        if self.split != other.split {
            let (was, now) = (describe_split(self.split), describe_split(other.split));
            differences.push(format!("held-out documents: it was {was}, now it is {now}"));
        }
        differences
    }
}

/// Describes what a run leaves out of its corpus.
pub(crate) fn describe_split(split: Option<Split>) -> String {
    split.map_or("none".to_owned(), |split| {
        let side = if split.is_held_out() { "all but " } else { "" };
        format!(
            "{side}a share of {} with seed {}",
            split.share(),
            split.seed()
        )
    })
}

/// Lists the leaves that differ, with their path.
fn diff_values(path: &str, was: &Value, now: &Value, differences: &mut Vec<String>) {
    match (was, now) {
        // Objects of other keys are of another form, and are shown as a whole below.
        (Value::Object(was), Value::Object(now)) if was.keys().eq(now.keys()) => {
            for (key, value) in was {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                diff_values(&path, value, &now[key], differences);
            }
        }
        _ if was == now => {}
        _ if sizes(was).is_some() && sizes(was) != sizes(now) => {
            let sizes = |nodes| sizes(nodes).unwrap_or_else(|| "none".to_owned());
            let (was, now) = (sizes(was), sizes(now));
            differences.push(format!(
                "chunk sizes of the levels: it was {was}, now it is {now}"
            ));
        }
        _ => differences.push(format!("{path}: it was {was}, now it is {now}")),
    }
}

/// Returns the chunk sizes of nodes, as they are given.
fn sizes(nodes: &Value) -> Option<String> {
    let sizes = nodes.as_array()?.iter();
    let sizes: Option<Vec<_>> = sizes
        .map(|node| Some(node.get("chunk_size")?.to_string()))
        .collect();
    // Another list that is empty is none of nodes.
    Some(sizes?.join(",")).filter(|sizes| !sizes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_their_path() {
        let build = |sizes: &[usize], min_chars| {
            let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
                .with_chunk_sizes(sizes.iter().copied())
                .with_min_paragraph_chars(min_chars)
                .build()
                .unwrap();
            RunConfiguration::from_learner(&learner)
        };
        let was = build(&[5, 7], 10);
        assert!(was.diff(&was).is_empty());
        assert_eq!(RunConfiguration::from_json(&was.to_json()).unwrap(), was);
        let differences = was.diff(&build(&[5, 8], 0));
        assert_eq!(differences.len(), 2);
        assert_eq!(
            differences[0],
            "min_paragraph_chars: it was 10, now it is 0"
        );
        let sizes = "chunk sizes of the levels: it was 5,7, now it is 5,8";
        assert_eq!(differences[1], sizes);

        let split = was.clone().with_split(Some(Split::training(0.05, 7)));
        assert_eq!(
            RunConfiguration::from_json(&split.to_json()).unwrap(),
            split
        );
        assert_eq!(
            was.diff(&split),
            ["held-out documents: it was none, now it is a share of 0.05 with seed 7"]
        );
    }
}
