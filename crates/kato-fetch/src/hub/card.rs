//! Configurations that a dataset's card declares.

use globset::GlobBuilder;
use serde_json::Value;

use super::api::Entry;
use super::{DEFAULT_CONFIG, DEFAULT_SPLIT, Splits, convention};

/// Configuration declared by a card.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) name: String,
    pub(super) is_default: bool,
    /// Folder that the patterns are relative to; the repository's root if empty.
    folder: String,
    /// Splits with their patterns; if there are none, the files are found by convention.
    patterns: Vec<(String, String)>,
}

impl Config {
    /// Reads the field `configs` of a card. Cards are written by hand, so what makes no sense is
    /// skipped.
    pub(super) fn all(card: &Value) -> Vec<Self> {
        let configs = card.get("configs").and_then(Value::as_array);
        configs
            .into_iter()
            .flatten()
            .filter_map(Self::read)
            .collect()
    }

    /// Reads one item of the field; `None` if it is no object.
    fn read(value: &Value) -> Option<Self> {
        value.as_object()?;
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let folder = text("data_dir").unwrap_or_default().trim_matches('/');
        Some(Self {
            name: text("config_name").unwrap_or(DEFAULT_CONFIG).to_owned(),
            is_default: value
                .get("default")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            folder: folder.trim_start_matches("./").to_owned(),
            patterns: value.get("data_files").map(patterns).unwrap_or_default(),
        })
    }

    /// Returns the files of each split.
    pub(super) fn splits<'t>(&self, tree: &'t [Entry]) -> Splits<'t> {
        if self.patterns.is_empty() {
            return convention::splits(tree, &self.folder, None);
        }
        let mut splits = Splits::new();
        for (split, pattern) in &self.patterns {
            let pattern = pattern.trim_start_matches("./");
            let pattern = match self.folder.as_str() {
                "" => pattern.to_owned(),
                folder => format!("{folder}/{pattern}"),
            };
            // Of a pattern that cannot be read only that pattern is lost.
            let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).build() else {
                continue;
            };
            let matcher = glob.compile_matcher();
            // A pattern that names a folder stands for the files in it.
            let folder = format!("{}/", pattern.trim_end_matches('/'));
            let matched = tree.iter().filter(|entry| {
                convention::is_data(&entry.path)
                    && (matcher.is_match(&entry.path) || entry.path.starts_with(&folder))
            });
            splits.entry(split.clone()).or_default().extend(matched);
        }
        // A split without files is as good as none: the error lists those that there are.
        splits.retain(|_, files| !files.is_empty());
        splits
    }
}

/// Reads `data_files`: a pattern, a list of them, splits with patterns, or a list of splits with
/// paths.
fn patterns(value: &Value) -> Vec<(String, String)> {
    // Patterns without a split belong to the training data, as in the Hub's own library.
    let train = |pattern: &str| (DEFAULT_SPLIT.to_owned(), pattern.to_owned());
    match value {
        Value::String(pattern) => vec![train(pattern)],
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item {
                Value::String(pattern) => vec![train(pattern)],
                item => {
                    let split = item
                        .get("split")
                        .and_then(Value::as_str)
                        .unwrap_or(DEFAULT_SPLIT);
                    each(item.get("path"))
                        .map(|path| (split.to_owned(), path))
                        .collect()
                }
            })
            .collect(),
        Value::Object(splits) => splits
            .iter()
            .flat_map(|(split, paths)| each(Some(paths)).map(|path| (split.clone(), path)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Returns one text, or each of a list of texts.
fn each(value: Option<&Value>) -> impl Iterator<Item = String> {
    let texts = match value {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    };
    texts.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_files_come_in_four_forms() {
        let check = |data_files: Value, expected: &[(&str, &str)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(split, path)| ((*split).to_owned(), (*path).to_owned()))
                .collect();
            assert_eq!(patterns(&data_files), expected, "{data_files}");
        };
        check(json!("a.csv"), &[("train", "a.csv")]);
        check(
            json!(["a.csv", "b.csv"]),
            &[("train", "a.csv"), ("train", "b.csv")],
        );
        check(
            json!([{"split": "train", "path": "data/train-*"}, {"split": "test", "path": ["x", "y"]}]),
            &[("train", "data/train-*"), ("test", "x"), ("test", "y")],
        );
        check(json!({"dev": "d.jsonl"}), &[("dev", "d.jsonl")]);
        check(json!(7), &[]);
    }

    #[test]
    fn patterns_choose_data_files_only() {
        let card = json!({"configs": [
            {"config_name": "en", "data_files": [{"split": "train", "path": "en/*.json.gz"}]},
            {"config_name": "all", "default": true, "data_dir": "./data", "data_files": "**"},
            {"config_name": "none", "data_files": "nowhere/*"},
            "nonsense",
        ]});
        let tree: Vec<Entry> = [
            "README.md",
            "en/1.json.gz",
            "en/2.json.gz",
            "en/sub/3.json.gz",
            "data/a.txt",
            "data/b/c.csv",
        ]
        .map(Entry::at)
        .into();
        let configs = Config::all(&card);
        let paths = |config: &Config| -> Vec<&str> {
            let splits = config.splits(&tree);
            splits
                .get("train")
                .into_iter()
                .flatten()
                .map(|entry| entry.path.as_str())
                .collect()
        };
        assert_eq!(configs.len(), 3);
        assert_eq!(paths(&configs[0]), ["en/1.json.gz", "en/2.json.gz"]);
        assert_eq!(paths(&configs[1]), ["data/a.txt", "data/b/c.csv"]);
        assert!(configs[1].is_default && configs[2].splits(&tree).is_empty());
    }
}
