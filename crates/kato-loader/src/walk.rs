//! Lists files below a directory, and files that match a glob, in an order that every machine
//! agrees on.

use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

use crate::error::LoadError;

/// Returns all files at most `depth` levels below a directory, sorted by path, component by
/// component.
///
/// Hidden files and directories are left out; symbolic links are followed, unless they lead back to
/// where they lie.
pub(crate) fn files_below(directory: &Path, depth: usize) -> Result<Vec<PathBuf>, LoadError> {
    files_that(directory, depth, &|_| true)
}

/// Returns the files that are wanted, like [`files_below`]. A file that is not may be a link that
/// leads nowhere.
fn files_that(
    directory: &Path,
    depth: usize,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, LoadError> {
    let mut walk = Walk {
        depth,
        is_wanted,
        ancestors: Vec::new(),
        files: Vec::new(),
    };
    walk.visit(directory)?;
    Ok(walk.files)
}

/// A walk through directories under way.
struct Walk<'a> {
    depth: usize,
    is_wanted: &'a dyn Fn(&Path) -> bool,
    /// The real paths of the directories being visited, to recognise a link that closes a circle.
    ancestors: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Collects the files of a directory and of those below it.
    fn visit(&mut self, directory: &Path) -> Result<(), LoadError> {
        let failed = |source| LoadError::input(directory, source);
        let real = fs::canonicalize(directory).map_err(failed)?;
        // Only a directory on the way down closes a circle: one that is linked from two places is
        // read in both.
        if self.ancestors.len() >= self.depth || self.ancestors.contains(&real) {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if !name.as_encoded_bytes().starts_with(b".") {
                names.push(name);
            }
        }
        // The system lists names in no order that another machine would share.
        names.sort();
        self.ancestors.push(real);
        for name in names {
            let path = directory.join(name);
            match fs::metadata(&path) {
                // `metadata` follows links, which `DirEntry::file_type` does not.
                Ok(metadata) if metadata.is_dir() => self.visit(&path)?,
                Ok(metadata) if !metadata.is_file() => {}
                // Asked before the error is looked at: a dangling link that no glob asks for does
                // not matter.
                _ if !(self.is_wanted)(&path) => {}
                Ok(_) => self.files.push(path),
                Err(source) => return Err(LoadError::input(&path, source)),
            }
        }
        self.ancestors.pop();
        Ok(())
    }
}

/// Returns whether a path is to be read as a pattern when no file of that name exists.
pub(crate) fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Returns the files that match a pattern, sorted. `*` stays within a directory, `**` crosses them.
pub(crate) fn matching(pattern: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let invalid = |source: globset::Error| LoadError::InvalidGlob {
        pattern: pattern.display().to_string(),
        source: source.into(),
    };
    let (base, rest) = split(pattern);
    let matcher = GlobBuilder::new(&rest.to_string_lossy())
        .literal_separator(true)
        .build()
        .map_err(invalid)?
        .compile_matcher();
    // Without `**` a match has no more components than the pattern: deeper directories need not be
    // listed.
    let depth = match rest.to_string_lossy().contains("**") {
        true => usize::MAX,
        false => rest.components().count(),
    };
    let start = if base.as_os_str().is_empty() {
        Path::new(".")
    } else {
        &base
    };
    if !start.is_dir() {
        return Ok(Vec::new());
    }
    files_that(start, depth, &|file| {
        file.strip_prefix(start)
            .is_ok_and(|inner| matcher.is_match(inner))
    })
}

/// Cuts a pattern in front of its first component with a wildcard.
fn split(pattern: &Path) -> (PathBuf, PathBuf) {
    // Only the directory in front of the first wildcard is walked; those above it are not listed.
    let wild = |part: &Component<'_>| is_glob(Path::new(part.as_os_str()));
    let fixed = pattern
        .components()
        .take_while(|part| !wild(part))
        .collect();
    let rest = pattern
        .components()
        .skip_while(|part| !wild(part))
        .collect();
    (fixed, rest)
}
