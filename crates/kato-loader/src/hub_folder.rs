//! Clones of datasets of the Hub in local folders: they are read as on the Hub, by card or convention.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use kato_fetch::HubLayout;

use crate::error::LoadError;
use crate::ignored::{IgnoredFile, IgnoredReason};
use crate::{remote, walk};

/// Longest `README.md` that is looked at, in bytes; what is longer is no card.
const MAX_README_BYTES: u64 = 4 << 20;
/// Folders of tools at the root of a clone, which are no part of the dataset.
const TOOLS: [&str; 2] = [".git", ".cache"];

/// Files of a clone.
#[derive(Debug)]
pub(crate) struct HubFolder {
    /// Data files of the default configuration's split `train`, in order.
    pub(crate) files: Vec<PathBuf>,
    /// All other files, and what is none.
    pub(crate) ignored: Vec<IgnoredFile>,
}

/// Returns the files of a folder that is a clone of a dataset; `None` if it is none.
///
/// # Errors
///
/// When it cannot be read, or has no default configuration or no such split.
pub(crate) fn files(directory: &Path) -> Result<Option<HubFolder>, LoadError> {
    let readme = readme(directory);
    let has_card = readme.as_deref().is_some_and(HubLayout::is_card);
    if !has_card && !is_cloned(directory) {
        return Ok(None);
    }
    let found = walk::files_but(directory, &TOOLS)?;
    let mut ignored = found.ignored;
    let mut paths = Vec::new();
    for file in found.files {
        match path_within(directory, &file) {
            Some(path) => paths.push(path),
            None => ignored.push(IgnoredFile::new(file, IgnoredReason::NotUtf8)),
        }
    }
    let name = directory.display().to_string();
    let layout = HubLayout::new(&name, readme.as_deref(), paths);
    let found = layout
        .files(None, None)
        .map_err(|source| remote::failed(&name, source))?;
    let others = found.ignored.iter().map(|path| directory.join(path));
    ignored.extend(others.map(|path| IgnoredFile::new(path, IgnoredReason::NotInSplit)));
    Ok(Some(HubFolder {
        files: found
            .files
            .iter()
            .map(|path| directory.join(path))
            .collect(),
        ignored,
    }))
}

/// Returns the path of a file in the folder as the Hub writes it, with `/` between its parts; `None` where it is
/// no text, as paths of the Hub and the patterns of cards are.
fn path_within(directory: &Path, file: &Path) -> Option<String> {
    let parts = file.strip_prefix(directory).ok()?.iter();
    let parts: Option<Vec<&str>> = parts.map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// Returns the text of the folder's `README.md`, if it has one that may be a card.
fn readme(directory: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(directory.join("README.md")).ok()?;
    let read = file.take(MAX_README_BYTES + 1).read_to_string(&mut text);
    let length = read.ok()? as u64;
    (length <= MAX_README_BYTES).then_some(text)
}

/// Returns whether the folder was cloned from a dataset of the Hub, or is a snapshot of one in the
/// cache of the Hub's own library.
fn is_cloned(directory: &Path) -> bool {
    let config = fs::read_to_string(directory.join(".git/config")).unwrap_or_default();
    let is_dataset = |line: &str| {
        let url = line.trim_start().strip_prefix("url");
        url.is_some_and(|url| {
            let hosts = ["huggingface.co", "hf.co"];
            url.contains("/datasets/") && hosts.iter().any(|host| url.contains(host))
        })
    };
    let names = directory.canonicalize().unwrap_or_default();
    let mut names = names.iter().rev().map(|name| name.to_string_lossy());
    // `datasets--OWNER--NAME/snapshots/COMMIT`.
    let is_snapshot = names.nth(1).as_deref() == Some("snapshots")
        && names
            .next()
            .is_some_and(|name| name.starts_with("datasets--"));
    is_snapshot || config.lines().any(is_dataset)
}
