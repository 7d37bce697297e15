//! Layouts of repositories: the splits that the Hub's own library finds in them.
//!
//! `tests/data/layouts.py` has made the repositories and asked `datasets`.

use std::collections::BTreeMap;

use kato_fetch::{FetchError, Fetcher, HubLayout};
use kato_hub_standin::{Dataset, HubStandin};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::fetcher;

type Splits = BTreeMap<String, Vec<String>>;

fn recorded() -> Vec<Value> {
    let text = include_str!("../data/layouts.json");
    let recorded: Value = serde_json::from_str(text).unwrap();
    recorded["rows"].as_array().unwrap().clone()
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap().iter();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Asks for a split that does not exist, and for all those that the answer names.
fn all_splits(
    list: impl Fn(&str) -> Result<Vec<String>, FetchError>,
) -> Result<Splits, FetchError> {
    let error = list("none_such").expect_err("no repository has such a split");
    let FetchError::UnknownSplit {
        available: names, ..
    } = error
    else {
        return Err(error);
    };
    let mut splits = Splits::new();
    for name in names {
        let mut files = list(&name)?;
        files.sort();
        splits.insert(name, files);
    }
    Ok(splits)
}

fn local(row: &Value, config: Option<&str>) -> Result<Splits, FetchError> {
    // JSON is YAML as well.
    let readme = match &row["card"] {
        Value::Null => "# Corpus".to_owned(),
        card => format!("---\n{card}\n---\n# Corpus"),
    };
    let layout = HubLayout::new("x", Some(&readme), texts(&row["files"]));
    all_splits(|split| layout.files(config, Some(split)).map(|found| found.files))
}

fn on_hub(
    fetcher: &Fetcher,
    dataset: &str,
    config: Option<&str>,
    revision: &str,
) -> Result<Splits, FetchError> {
    let config = config
        .map(|config| format!("/{config}"))
        .unwrap_or_default();
    all_splits(|split| {
        let location = format!("hf://{dataset}{config}{revision}:{split}").parse()?;
        let listing = fetcher.list(&location)?;
        let path = |name: &String| name.splitn(5, '/').nth(4).unwrap().to_owned();
        Ok(listing.files.iter().map(|file| path(&file.name)).collect())
    })
}

#[test]
fn files_belong_to_the_splits_that_the_hubs_library_finds() {
    let (mut compared, mut failures) = (0, Vec::new());
    let mut standin = HubStandin::builder();
    for (number, row) in recorded().iter().enumerate() {
        let mut dataset = Dataset::new(&format!("me/x{number}")).card(row["card"].clone());
        for path in texts(&row["files"]) {
            dataset = dataset.file(&path, "x");
        }
        standin = standin.dataset(dataset);
    }
    let standin = standin.start().unwrap();
    let fetcher = fetcher(&standin);
    for (number, row) in recorded().iter().enumerate() {
        let dataset = format!("me/x{number}");
        for (name, expected) in row["datasets"].as_object().unwrap() {
            let config = Some(name.as_str()).filter(|name| !name.is_empty());
            let ways = [
                local(row, config),
                on_hub(&fetcher, &dataset, config, ""),
                on_hub(&fetcher, &dataset, config, "@main"),
            ];
            // What that library refuses may be read here, the same by every way.
            let Ok(expected) = serde_json::from_value::<Splits>(expected.clone()) else {
                let found = ways.map(|way| way.ok());
                assert!(
                    found.windows(2).all(|pair| pair[0] == pair[1]),
                    "{row}: {found:?}"
                );
                continue;
            };
            compared += 1;
            for found in ways {
                match found {
                    Ok(found) if found == expected => {}
                    found => failures.push(format!("{row}\n  {config:?}: {found:?}")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared >= 90, "{compared}");
}

#[test]
fn what_a_card_names_and_is_not_there_is_said() {
    let readme = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: [a.csv, gone.csv]\n---\n";
    let layout = HubLayout::new("me/x", Some(readme), ["a.csv"]);
    let error = layout.files(None, None).unwrap_err();
    assert!(error.to_string().contains("`gone.csv`"), "{error}");
}

#[test]
fn a_card_is_told_from_a_readme() {
    for (readme, expected) in [
        ("---\nconfigs:\n- config_name: a\n---\n", true),
        (
            "---\nlicense: mit\ntask_categories: [text-generation]\n---\n",
            true,
        ),
        ("---\ntitle: My page\nlayout: post\n---\n", false),
        ("# configs:\n", false),
        ("", false),
    ] {
        assert_eq!(HubLayout::is_card(readme), expected, "{readme}");
    }
}

proptest! {
    #[test]
    fn any_card_is_read_without_a_panic(
        lines in prop::collection::vec("[-\\[\\]{}&*!|>:?'\"#%@ a-cä0-9\t]{0,20}", 0..12),
        configs in prop::collection::vec("[-/*.?\\[\\]a-b]{0,12}", 0..4),
        paths in prop::collection::vec("(data/)?[-a-cä0-9./_\\[]{0,24}(-00000-of-00001.csv)?", 0..8),
        split in "[a-c.]{0,4}",
    ) {
        let items: String = configs
            .iter()
            .map(|pattern| format!("- config_name: default\n  data_files: '{pattern}'\n"))
            .collect();
        for readme in [
            format!("---\n{}\n---\n", lines.join("\n")),
            format!("---\nconfigs:\n{items}---\n"),
        ] {
            let _ = HubLayout::is_card(&readme);
            let layout = HubLayout::new("x", Some(&readme), paths.clone());
            for config in [None, Some("default"), Some("a")] {
                if let Ok(found) = layout.files(config, Some(&split)) {
                    prop_assert!(found.files.iter().all(|path| paths.contains(path)));
                    prop_assert_eq!(found.files.len() + found.ignored.len(), paths.len());
                }
            }
        }
    }
}
