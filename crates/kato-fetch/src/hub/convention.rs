//! Convention by which files belong to splits where nothing declares it, as the Hub's own library has
//! it: the names of shards, then those of folders, then those of files.

use std::collections::{BTreeMap, BTreeSet};

use super::DEFAULT_SPLIT;
use super::pattern::Pattern;

/// Splits, each with the words that stand for it.
const WORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "dev", "val"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// Characters beside which a word stands alone.
const SEPARATORS: &str = "-._ 0-9";

/// Files that describe a dataset and are not its data, unless they are named.
const DESCRIPTIONS: [&str; 6] = [
    "README.md",
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dummy_data.zip",
    "dataset_dict.json",
];

/// Formats by extension, the one that is preferred where there are as many of several later.
const FORMATS: [(&str, Format); 7] = [
    ("txt", Format::Text),
    ("ndjson", Format::Json),
    ("tsv", Format::Csv),
    ("csv", Format::Csv),
    ("json", Format::Json),
    ("jsonl", Format::Json),
    ("parquet", Format::Parquet),
];

/// Format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Json,
    Csv,
    Text,
}

/// Returns whether a file is data in a format that can be read, by any of its extensions.
pub(super) fn is_data(path: &str) -> bool {
    formats(path).next().is_some()
}

/// Returns the indices in [`FORMATS`] of a file's extensions.
fn formats(path: &str) -> impl Iterator<Item = usize> {
    let name = path.rsplit('/').next().unwrap_or(path);
    // In lower case alone, as in the Hub's own library.
    name.split('.').skip(1).filter_map(|extension| {
        let known = |(known, _): &(&str, Format)| extension == *known;
        FORMATS.iter().position(known)
    })
}

/// Returns the paths that a pattern means: those that match, except descriptions and what is hidden,
/// unless the pattern names it.
pub(super) fn matching<'t>(pattern: &Pattern, paths: &[&'t str]) -> Vec<&'t str> {
    let is_ignored = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        DESCRIPTIONS.contains(&name) && pattern.name() != name
    };
    let matching = paths.iter().copied();
    matching
        .filter(|path| !is_ignored(path) && pattern.is_match(path))
        .collect()
}

/// Returns the data files among `paths` by split. They are relative to the folder that is looked at.
pub(super) fn splits<'t>(paths: &[&'t str]) -> BTreeMap<String, Vec<&'t str>> {
    let mut splits = assigned(paths);
    if splits.values().flatten().all(|path| !is_data(path)) {
        // What decides there may be a script or a picture; that there is data beside it counts.
        let data: Vec<&str> = paths.iter().copied().filter(|path| is_data(path)).collect();
        splits = assigned(&data);
    }
    for files in splits.values_mut() {
        *files = of_one_format(std::mem::take(files));
    }
    splits.retain(|_, files| !files.is_empty());
    splits
}

/// Returns the files of each split by the first rule that says something.
fn assigned<'t>(paths: &[&'t str]) -> BTreeMap<String, Vec<&'t str>> {
    let sharded = by_shard(paths);
    if !sharded.is_empty() {
        return sharded;
    }
    let rules: [fn(&str) -> Vec<String>; 2] = [in_folders, in_names];
    for rule in rules {
        let mut splits = BTreeMap::new();
        for (split, words) in WORDS {
            let of_word = |word: &&str| {
                // A quick look spares most of very many paths the patterns.
                let with_word: Vec<&str> = paths
                    .iter()
                    .copied()
                    .filter(|path| path.contains(word))
                    .collect();
                all_matching(rule(word), &with_word)
            };
            let files: BTreeSet<&str> = words.iter().flat_map(of_word).collect();
            let files: Vec<&str> = files.into_iter().collect();
            if !files.is_empty() {
                splits.insert(split.to_owned(), files);
            }
        }
        if !splits.is_empty() {
            return splits;
        }
    }
    let all = all_matching(["**".to_owned()], paths);
    BTreeMap::from([(DEFAULT_SPLIT.to_owned(), all)])
}

/// Returns the files that any of the patterns means, once each.
fn all_matching<'t>(patterns: impl IntoIterator<Item = String>, paths: &[&'t str]) -> Vec<&'t str> {
    let patterns = patterns.into_iter().filter_map(|text| Pattern::read(&text));
    let files: BTreeSet<&str> = patterns
        .flat_map(|pattern| matching(&pattern, paths))
        .collect();
    files.into_iter().collect()
}

/// Returns the patterns for files in folders that bear a word.
fn in_folders(word: &str) -> Vec<String> {
    let sep = SEPARATORS;
    vec![
        format!("**/{word}/**"),
        format!("**/{word}[{sep}]*/**"),
        format!("**/*[{sep}]{word}/**"),
        format!("**/*[{sep}]{word}[{sep}]*/**"),
    ]
}

/// Returns the patterns for files whose names bear a word.
fn in_names(word: &str) -> Vec<String> {
    let sep = SEPARATORS;
    vec![
        format!("**/{word}[{sep}]*"),
        format!("**/*[{sep}]{word}[{sep}]*"),
    ]
}

/// Returns the shards `data/SPLIT-00000-of-00001.EXTENSION` by their splits.
fn by_shard<'t>(paths: &[&'t str]) -> BTreeMap<String, Vec<&'t str>> {
    let mut splits: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for path in paths {
        if let Some(split) = path.strip_prefix("data/").and_then(shard) {
            splits.entry(split.to_owned()).or_default().push(path);
        }
    }
    splits
}

/// Returns the split of a shard's name, which is `SPLIT-00000-of-00001`, more digits or other text,
/// and an extension.
fn shard(name: &str) -> Option<&str> {
    if name.contains('/') || name.starts_with('.') {
        return None;
    }
    let is_count =
        |text: &str| text.len() >= 5 && text.bytes().take(5).all(|byte| byte.is_ascii_digit());
    // The last place counts, where there are several.
    let of = name.match_indices("-of-").filter(|(at, mark)| {
        let (before, behind) = (&name[..*at], &name[at + mark.len()..]);
        let number = before.rsplit_once('-').map_or("", |(_, number)| number);
        number.len() == 5 && is_count(number) && is_count(behind) && behind.contains('.')
    });
    let (at, _) = of.last()?;
    let (split, _) = name[..at].rsplit_once('-')?;
    is_split(split).then_some(split)
}

/// Returns whether a text can be the name of a split: words with dots between them.
fn is_split(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Returns the files of the format that most have: data in several formats must not be read several
/// times.
fn of_one_format(files: Vec<&str>) -> Vec<&str> {
    let mut counts = [0_usize; FORMATS.len()];
    for index in files.iter().flat_map(|path| formats(path)) {
        counts[index] += 1;
    }
    // Of equals the later one, which is the preferred one.
    let most = (0..counts.len()).max_by_key(|index| counts[*index]);
    let Some((_, format)) = most
        .filter(|index| counts[*index] > 0)
        .map(|index| FORMATS[index])
    else {
        return Vec::new();
    };
    let of_format = |path: &&str| formats(path).any(|index| FORMATS[index].1 == format);
    files.into_iter().filter(of_format).collect()
}

/// Returns whether a folder has the configuration's name, or a file's name has it as a part.
pub(super) fn names(path: &str, config: &str) -> bool {
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

    #[test]
    fn shards_have_splits_of_their_own() {
        for (name, expected) in [
            ("train-00000-of-00001.parquet", Some("train")),
            (
                "my_split.v2-00000-of-00001-0123abcd.parquet",
                Some("my_split.v2"),
            ),
            ("train-00000-of-00001", None),
            ("train-0000-of-00001.parquet", None),
            ("train-000000-of-00001.parquet", None),
            ("-00000-of-00001.parquet", None),
            ("a-b-00000-of-00001.parquet", None),
            ("x/train-00000-of-00001.parquet", None),
        ] {
            assert_eq!(shard(name), expected, "{name}");
        }
    }

    #[test]
    fn one_format_makes_a_dataset() {
        for (files, expected) in [
            (
                vec!["a.jsonl", "b.jsonl", "c.parquet"],
                vec!["a.jsonl", "b.jsonl"],
            ),
            (vec!["a.jsonl", "c.parquet"], vec!["c.parquet"]),
            (vec!["a.csv", "b.txt"], vec!["a.csv"]),
            (vec!["a.csv.gz", "b.tsv"], vec!["a.csv.gz", "b.tsv"]),
            (vec!["a.py"], vec![]),
        ] {
            assert_eq!(of_one_format(files.clone()), expected, "{files:?}");
        }
    }

    #[test]
    fn a_configuration_is_a_folder_or_a_part_of_a_name() {
        for (path, expected) in [
            ("en/train.jsonl", true),
            ("de/train.jsonl", false),
            ("train.en.jsonl", true),
            ("train.den.jsonl", false),
        ] {
            assert_eq!(names(path, "en"), expected, "{path}");
        }
    }
}
