//! Clones of datasets of the Hub in local folders: they are read as on the Hub, by card or convention.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kato_fetch::HubLayout;

use crate::error::LoadError;
use crate::remote;

/// Longest `README.md` that is looked at, in bytes; what is longer is no card.
const MAX_README_BYTES: u64 = 4 << 20;
/// Folders of tools at the root of a clone, which are no part of the dataset.
const TOOLS: [&str; 2] = [".git", ".cache"];

/// Files of a clone.
#[derive(Debug)]
pub(crate) struct HubFolder {
    /// Data files of the default configuration's split `train`, in order.
    pub(crate) files: Vec<PathBuf>,
    /// All other files.
    pub(crate) ignored: Vec<PathBuf>,
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
    let mut paths = Vec::new();
    let mut walk = Walk {
        ancestors: Vec::new(),
        paths: &mut paths,
    };
    walk.visit(directory, "")
        .map_err(|source| LoadError::input(directory, source))?;
    let name = directory.display().to_string();
    let layout = HubLayout::new(&name, readme.as_deref(), paths);
    let found = layout
        .files(None, None)
        .map_err(|source| remote::failed(&name, source))?;
    let within = |paths: Vec<String>| paths.iter().map(|path| directory.join(path)).collect();
    Ok(Some(HubFolder {
        files: within(found.files),
        ignored: within(found.ignored),
    }))
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

/// A walk through the folder. Unlike that of other folders it has what is hidden as well, because a
/// card may name it.
struct Walk<'a> {
    /// The real paths of the folders being visited, to recognise a link that closes a circle.
    ancestors: Vec<PathBuf>,
    /// Paths with `/` between their parts.
    paths: &'a mut Vec<String>,
}

impl Walk<'_> {
    /// Collects the files of a folder and of those below it; `prefix` is its path.
    fn visit(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        let real = folder.canonicalize()?;
        if self.ancestors.contains(&real) {
            return Ok(());
        }
        self.ancestors.push(real);
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            // The Hub's paths are text, and so are the patterns of cards.
            let Some(name) = name.to_str() else { continue };
            if prefix.is_empty() && TOOLS.contains(&name) {
                continue;
            }
            let path = folder.join(name);
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.visit(&path, &format!("{prefix}{name}/"))?,
                Ok(found) if found.is_file() => self.paths.push(format!("{prefix}{name}")),
                // A link that leads nowhere, and what is no file, are no data.
                Ok(_) | Err(_) => {}
            }
        }
        self.ancestors.pop();
        Ok(())
    }
}
