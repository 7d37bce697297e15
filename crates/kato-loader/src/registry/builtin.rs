//! The datasets of the original: names on the Hub, text fields, and rows as counted or estimated
//! there.

use super::entry::DatasetEntry;

/// Key, source, text field, rows.
const DATASETS: [(&str, &str, &str, u64); 9] = [
    ("c4", "hf://allenai/c4/en:train", "text", 364_868_892),
    (
        "redpajama_sample",
        "hf://togethercomputer/RedPajama-Data-1T-Sample:train",
        "text",
        1_000_000,
    ),
    (
        "pile",
        "hf://monology/pile-uncopyrighted:train",
        "text",
        210_000_000,
    ),
    (
        "refinedweb",
        "hf://tiiuae/falcon-refinedweb:train",
        "content",
        968_000_015,
    ),
    ("dolma", "hf://allenai/dolma:train", "text", 3_000_000_000),
    (
        "wikitext",
        "hf://Salesforce/wikitext/wikitext-103-raw-v1:train",
        "text",
        1_801_350,
    ),
    (
        "openwebtext",
        "hf://Skylion007/openwebtext:train",
        "text",
        8_013_769,
    ),
    (
        "bookcorpus",
        "hf://bookcorpusopen:train",
        "text",
        74_000_000,
    ),
    (
        "simple_wiki",
        "hf://legacy-datasets/wikipedia/20220301.simple:train",
        "text",
        205_328,
    ),
];

/// Returns the built-in entries, in the order of the table.
pub(super) fn entries() -> Vec<DatasetEntry> {
    let entry = |(key, source, text_field, rows): (&str, &str, &str, u64)| {
        let mut entry = DatasetEntry::new(key, source);
        entry.text_field = text_field.to_owned();
        entry.rows = Some(rows);
        entry
    };
    DATASETS.into_iter().map(entry).collect()
}
