//! Reads JSON arrays of poems.

use std::fs;
use std::path::Path;

use kato_neural::run::RunError;
use serde::Deserialize;

use super::MAX_FILE_BYTES;
use crate::error::PoetryError;
use crate::poem::Poem;

/// An object of the array. Fields that are not known here, such as scores, are passed over.
#[derive(Deserialize)]
struct Record {
    title: Option<String>,
    author: Option<String>,
    text: String,
}

/// Reads the poems of a file that holds one array.
pub(super) fn read(path: &Path) -> Result<Vec<Poem>, PoetryError> {
    let bad = |line: usize, reason: String| PoetryError::Json {
        path: path.to_owned(),
        line,
        reason,
    };
    let metadata = fs::metadata(path).map_err(RunError::file("read", path))?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(bad(
            1,
            "more than 1 GiB, which is the most that is read".to_owned(),
        ));
    }
    let bytes = fs::read(path).map_err(RunError::file("read", path))?;
    // What editors of other systems put in front is no JSON.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let records: Vec<Record> =
        serde_json::from_slice(bytes).map_err(|error| bad(error.line(), error.to_string()))?;
    let mut poems = Vec::with_capacity(records.len());
    for (index, record) in records.into_iter().enumerate() {
        // Blank lines at the ends are no stanza breaks, and an empty poem is a mistake of the file.
        if record.text.trim().is_empty() {
            return Err(bad(
                1,
                format!("the text of element {index} (from 0) is empty"),
            ));
        }
        poems.push(Poem {
            title: record.title,
            author: record.author,
            text: record.text,
            place: format!("{}, element {index}", path.display()),
        });
    }
    Ok(poems)
}
