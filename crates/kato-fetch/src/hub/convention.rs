//! Convention by which files belong to splits where nothing declares it: words in folders and file
//! names.

use std::collections::BTreeMap;

use super::api::Entry;
use super::{DEFAULT_SPLIT, Splits};

/// Splits, each with the words that stand for it.
const WORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "val", "dev"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// Formats by extension, the preferred one first where a repository holds as many files of several.
const FORMATS: [&[&str]; 4] = [
    &["parquet"],
    &["jsonl", "ndjson", "json"],
    &["csv", "tsv"],
    &["txt"],
];

/// Files that describe a dataset and are not its data, in lower case.
const DESCRIPTIONS: [&str; 8] = [
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
    "metadata.json",
    "requirements.txt",
    "license.txt",
];

/// Returns whether a file is data in a format that can be read.
pub(super) fn is_data(path: &str) -> bool {
    format(path).is_some()
}

/// Returns the data files below `folder`, of the configuration if one is asked for, by split.
pub(super) fn splits<'t>(tree: &'t [Entry], folder: &str, config: Option<&str>) -> Splits<'t> {
    let inside = |path: &str| {
        folder.is_empty()
            || path
                .strip_prefix(folder)
                // `data` is not the folder of `data-old/a.csv`.
                .is_some_and(|rest| rest.starts_with('/'))
    };
    let mut by_format: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in tree {
        let belongs = config.is_none_or(|config| names(&entry.path, config));
        if let Some(format) = format(&entry.path)
            && inside(&entry.path)
            && belongs
        {
            by_format.entry(format).or_default().push(entry);
        }
    }
    // A repository that offers its data in several formats must not be read several times: the most
    // frequent one is taken. `max_by_key` returns the last of equals, hence the reversed order.
    let most = by_format
        .into_iter()
        .rev()
        .max_by_key(|(_, files)| files.len());
    let mut splits = Splits::new();
    for entry in most.map(|(_, files)| files).unwrap_or_default() {
        let path = entry.path.strip_prefix(folder).unwrap_or(&entry.path);
        let split = split_of(path).unwrap_or(DEFAULT_SPLIT);
        splits.entry(split.to_owned()).or_default().push(entry);
    }
    splits
}

/// Returns the format of a data file, as its index in [`FORMATS`].
fn format(path: &str) -> Option<usize> {
    // Files of tools, such as `.gitattributes` and the `_metadata` of Spark.
    let hidden = path.split('/').any(|part| part.starts_with(['.', '_']));
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if hidden || DESCRIPTIONS.contains(&name.as_str()) {
        return None;
    }
    let plain = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(&name);
    let (_, extension) = plain.rsplit_once('.')?;
    FORMATS
        .iter()
        .position(|extensions| extensions.contains(&extension))
}

/// Returns the split that a path speaks of: `data/train-00000-of-00005.parquet`, `test/a.csv`,
/// `my_dev.jsonl`. Its last word counts, so that a file's own name comes before its folder's.
fn split_of(path: &str) -> Option<&'static str> {
    let words = path.split(|c: char| !c.is_ascii_alphabetic());
    let split = |word: &str| {
        let word = word.to_ascii_lowercase();
        let found = WORDS
            .iter()
            .find(|(_, words)| words.contains(&word.as_str()));
        found.map(|(split, _)| *split)
    };
    words.filter_map(split).next_back()
}

/// Returns whether a folder has the configuration's name, or a file's name has it as a part.
fn names(path: &str, config: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    // Letters or digits beside it make it a part of another word: `en` does not name `french.csv`.
    let part_of_name = file.match_indices(config).any(|(at, _)| {
        let before = file[..at].chars().next_back();
        let after = file[at + config.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    });
    parts.contains(&config) || part_of_name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paths: &[&str], config: Option<&str>, expected: &[(&str, &[&str])]) {
        let tree: Vec<Entry> = paths.iter().map(|path| Entry::at(path)).collect();
        let found: Vec<(String, Vec<&str>)> = splits(&tree, "", config)
            .into_iter()
            .map(|(split, files)| {
                (
                    split,
                    files.iter().map(|entry| entry.path.as_str()).collect(),
                )
            })
            .collect();
        let expected: Vec<(String, Vec<&str>)> = expected
            .iter()
            .map(|(split, files)| ((*split).to_owned(), files.to_vec()))
            .collect();
        assert_eq!(found, expected, "{paths:?}");
    }

    #[test]
    fn words_in_paths_name_splits() {
        check(
            &["README.md", ".gitattributes", "data.csv"],
            None,
            &[("train", &["data.csv"])],
        );
        check(
            &["train.csv", "test-file.csv", "my_dev.csv", "testfile.csv"],
            None,
            &[
                ("test", &["test-file.csv"]),
                ("train", &["train.csv", "testfile.csv"]),
                ("validation", &["my_dev.csv"]),
            ],
        );
        check(
            &[
                "data/train-00000-of-00002.parquet",
                "data/train-00001-of-00002.parquet",
                "data/test-00000-of-00001.parquet",
            ],
            None,
            &[
                ("test", &["data/test-00000-of-00001.parquet"]),
                (
                    "train",
                    &[
                        "data/train-00000-of-00002.parquet",
                        "data/train-00001-of-00002.parquet",
                    ],
                ),
            ],
        );
        check(
            &["test/a.jsonl", "training/b.jsonl.zst"],
            None,
            &[
                ("test", &["test/a.jsonl"]),
                ("train", &["training/b.jsonl.zst"]),
            ],
        );
    }

    #[test]
    fn one_format_makes_a_dataset() {
        check(
            &["a.jsonl", "b.jsonl", "c.parquet"],
            None,
            &[("train", &["a.jsonl", "b.jsonl"])],
        );
        check(
            &["a.jsonl", "c.parquet"],
            None,
            &[("train", &["c.parquet"])],
        );
        check(
            &["dataset_info.json", "_cache/a.txt", "script.py"],
            None,
            &[],
        );
    }

    #[test]
    fn a_configuration_is_a_folder_or_a_part_of_a_name() {
        check(
            &[
                "en/train.jsonl",
                "de/train.jsonl",
                "train.en.jsonl",
                "train.den.jsonl",
            ],
            Some("en"),
            &[("train", &["en/train.jsonl", "train.en.jsonl"])],
        );
    }
}
