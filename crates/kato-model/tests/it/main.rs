//! The crate through its public interface: golden data of the original, and laws.

mod attributes;
mod literal_reader;
mod names;
mod records;
mod vectors;

use serde::de::DeserializeOwned;

/// The rows of a file with one JSON value per line.
fn rows<T: DeserializeOwned>(lines: &str) -> Vec<T> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}
