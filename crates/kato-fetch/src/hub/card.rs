//! Configurations that a dataset's card declares.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::pattern::Pattern;
use super::{DEFAULT_CONFIG, DEFAULT_SPLIT, convention};

/// Configuration declared by a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) name: String,
    pub(super) is_default: bool,
    /// Folder that the patterns are relative to; the repository's root if empty.
    folder: String,
    /// Splits with their patterns; if there are none, the files are found by convention.
    patterns: Vec<(String, String)>,
}

/// Files of one split of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SplitFiles<'t> {
    pub(super) files: Vec<&'t str>,
    /// What the card names outright and is not there.
    pub(super) missing: Vec<String>,
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

    /// Returns the files of each split that has some, or that names some that are missing.
    pub(super) fn splits<'t>(&self, paths: &[&'t str]) -> BTreeMap<String, SplitFiles<'t>> {
        let inside: Vec<&str> = paths.iter().filter_map(|path| self.inside(path)).collect();
        let mut splits: BTreeMap<String, SplitFiles<'_>> = BTreeMap::new();
        if self.patterns.is_empty() {
            for (split, files) in convention::splits(&inside) {
                splits.entry(split).or_default().files = files;
            }
        }
        for (split, text) in &self.patterns {
            let found = splits.entry(split.clone()).or_default();
            match named(text, &inside) {
                Some(files) => found.files.extend(files),
                None => found.missing.push(text.clone()),
            }
        }
        // A split without files is as good as none: the error lists those that there are.
        splits.retain(|_, found| !found.files.is_empty() || !found.missing.is_empty());
        // The paths that are given back are those of the repository.
        let whole: HashMap<&str, &str> = paths
            .iter()
            .filter_map(|path| Some((self.inside(path)?, *path)))
            .collect();
        for found in splits.values_mut() {
            let files = found.files.iter().filter_map(|path| whole.get(path));
            found.files = files.copied().collect();
        }
        splits
    }

    /// Returns a path as it is seen from the configuration's folder; `None` if it lies elsewhere.
    fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.folder.as_str() {
            "" => Some(path),
            // `data` is not the folder of `data-old/a.csv`.
            folder => path.strip_prefix(folder)?.strip_prefix('/'),
        }
    }
}

/// Returns the data files that a pattern of a card means; `None` if it names one outright that is not
/// there.
fn named<'t>(text: &str, paths: &[&'t str]) -> Option<Vec<&'t str>> {
    let pattern = Pattern::read(text)?;
    let found = convention::matching(&pattern, paths);
    if Pattern::is_magic(text) {
        let data = found.into_iter().filter(|path| convention::is_data(path));
        return Some(data.collect());
    }
    if !found.is_empty() {
        // Whatever its extension: nobody names a file by accident.
        return Some(found);
    }
    // One that names a folder stands for the files in it.
    let below = Pattern::read(&format!("{}/**", text.trim_end_matches('/')))?;
    let found = convention::matching(&below, paths).into_iter();
    let data: Vec<&str> = found.filter(|path| convention::is_data(path)).collect();
    (!data.is_empty()).then_some(data)
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
        let tree = [
            "README.md",
            "en/1.json.gz",
            "en/2.json.gz",
            "en/sub/3.json.gz",
            "data/a.txt",
            "data/b/c.csv",
        ];
        let configs = Config::all(&card);
        let paths = |config: &Config| -> Vec<&str> {
            let splits = config.splits(&tree);
            splits
                .get("train")
                .map(|found| found.files.clone())
                .unwrap_or_default()
        };
        assert_eq!(configs.len(), 3);
        assert_eq!(paths(&configs[0]), ["en/1.json.gz", "en/2.json.gz"]);
        assert_eq!(paths(&configs[1]), ["data/a.txt", "data/b/c.csv"]);
        assert!(configs[1].is_default && configs[2].splits(&tree).is_empty());
    }

    #[test]
    fn what_is_named_outright_is_read_or_missed() {
        let tree = [
            "metadata.json",
            ".hidden/a.jsonl",
            "config.json",
            "data/x.bin",
            "b/c.csv",
        ];
        let check = |text: &str, expected: Option<&[&str]>| {
            assert_eq!(named(text, &tree).as_deref(), expected, "{text}");
        };
        check("metadata.json", Some(&["metadata.json"]));
        check(".hidden/a.jsonl", Some(&[".hidden/a.jsonl"]));
        check(".hidden/*", Some(&[".hidden/a.jsonl"]));
        check("config.json", Some(&["config.json"]));
        check("*.json", Some(&["metadata.json"]));
        check("data/x.bin", Some(&["data/x.bin"]));
        check("data/*", Some(&[]));
        check("b/", Some(&["b/c.csv"]));
        check("./b/c.csv", Some(&["b/c.csv"]));
        check("gone.csv", None);
        check("a**b", None);
    }
}
