//! The file form of a registry: TOML in, entries out, every refusal with its line.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::{DatasetEntry, Registry, RegistryError};

/// The file as TOML; spans give the lines of refusals.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    dataset: Vec<Spanned<DatasetEntry>>,
}

/// Reads a file; relative paths in it are taken from its folder.
pub(super) fn read(path: &Path) -> Result<Registry, RegistryError> {
    let text = fs::read_to_string(path).map_err(|source| RegistryError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let name = path.display().to_string();
    parse_with(&name, &text, |source| {
        below(path.parent().unwrap_or(Path::new("")), source)
    })
}

/// Parses a text in the form of a file; relative paths stay as they are.
pub(super) fn parse(name: &str, text: &str) -> Result<Registry, RegistryError> {
    parse_with(name, text, |source| Some(source.to_owned()))
}

/// Parses a text, with a function that says where a source is.
fn parse_with(
    name: &str,
    text: &str,
    locate: impl Fn(&str) -> Option<String>,
) -> Result<Registry, RegistryError> {
    // Editors on Windows write a byte order mark, which is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let invalid = |span: Option<Range<usize>>, reason| RegistryError::Invalid {
        file: name.to_owned(),
        line: line_of(text, span.map_or(0, |span| span.start)),
        reason,
    };
    let file: File =
        toml::from_str(text).map_err(|error| invalid(error.span(), one_line(error.message())))?;
    // Collected apart, so that a refusal leaves the caller's registry unchanged.
    let mut registry = Registry::new();
    for entry in file.dataset {
        let span = Some(entry.span());
        let mut entry = entry.into_inner();
        if let Some(reason) = validate(&entry) {
            return Err(invalid(span, reason));
        }
        let Some(source) = locate(&entry.source) else {
            let reason = "the folder's name is not text, so that `source` must be an absolute path";
            return Err(invalid(span, reason.to_owned()));
        };
        entry.source = source;
        if let Some(earlier) = registry.insert(entry) {
            let reason = format!("the key `{}` is given twice; choose another", earlier.key);
            return Err(invalid(span, reason));
        }
    }
    Ok(registry)
}

/// Returns what is wrong with an entry that is well-formed, or `None`.
fn validate(entry: &DatasetEntry) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    // A key that could be a path or a location would leave a command line unsure which is meant.
    if entry.key.is_empty() || !entry.key.chars().all(is_plain) {
        return Some(format!(
            "the key `{}` is not allowed; use letters, digits, `_`, `-` and `.`",
            entry.key.escape_debug()
        ));
    }
    let fields = [
        ("source", Some(&entry.source)),
        ("text_field", Some(&entry.text_field)),
        ("id_field", entry.id_field.as_ref()),
    ];
    let (empty, _) = fields
        .into_iter()
        .find(|(_, value)| value.is_some_and(String::is_empty))?;
    Some(format!(
        "`{empty}` of `{}` is empty; give it a value",
        entry.key
    ))
}

/// Returns the source as seen from the folder, unless it says itself where it is; `None` when the
/// folder's name is not text.
fn below(folder: &Path, source: &str) -> Option<String> {
    let is_complete = source == "-" || source.contains("://") || Path::new(source).is_absolute();
    // Refused instead of replaced by a lossy name, which would be that of another file or of none.
    match is_complete {
        true => Some(source.to_owned()),
        false => folder.join(source).to_str().map(str::to_owned),
    }
}

/// Returns the number of the line that holds a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    // A span behind the end, should the parser give one, counts as the last line.
    let before = text.as_bytes().get(..byte).unwrap_or(text.as_bytes());
    1 + memchr::memchr_iter(b'\n', before).count()
}

/// Joins the lines of a message.
fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(", ")
}
