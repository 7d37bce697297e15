//! Lists files below a directory, and files that match a glob, in an order that every machine
//! agrees on.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::LoadError;
use crate::ignored::{IgnoredFile, IgnoredReason};

/// The files of a directory, and what lies beside them and cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) ignored: Vec<IgnoredFile>,
}

impl Found {
    /// Takes empty files, which were passed over, as files behind the others.
    fn take_empty(&mut self) {
        let is_empty = |file: &mut IgnoredFile| file.reason == IgnoredReason::Empty;
        let empty = self.ignored.extract_if(.., is_empty);
        self.files.extend(empty.map(|file| file.path));
    }
}

/// Returns all files at most `depth` levels below a directory, sorted by path, component by
/// component.
///
/// Symbolic links are followed, unless they lead back to where they lie. Hidden files and directories,
/// links that lead nowhere, pipes, sockets and devices, empty files and what may not be looked into are
/// passed over and listed.
pub(crate) fn files_below(directory: &Path, depth: usize) -> Result<Found, LoadError> {
    files_that(directory, depth, Hidden::Listed, &|_| true)
}

/// What becomes of names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    /// They are passed over and listed.
    Listed,
    /// As many of them as the pattern names may stand on the way to a file; others are no matches.
    Named(usize),
    /// They are taken like others, but for these at the top, which are no part of what is read.
    #[cfg(feature = "remote")]
    Taken(&'static [&'static str]),
}

/// Returns all files below a directory, hidden and empty ones as well, but for these folders at its top, and
/// what is passed over.
#[cfg(feature = "remote")]
pub(crate) fn files_but(
    directory: &Path,
    folders: &'static [&'static str],
) -> Result<Found, LoadError> {
    let mut found = files_that(directory, usize::MAX, Hidden::Taken(folders), &|_| true)?;
    found.take_empty();
    Ok(found)
}

/// Returns the files that are wanted, like [`files_below`]. What is not wanted is not listed as
/// passed over either, but for directories that may not be looked into.
fn files_that(
    directory: &Path,
    depth: usize,
    hidden: Hidden,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<Found, LoadError> {
    let mut walk = Walk {
        depth,
        hidden,
        is_wanted,
        ancestors: Vec::new(),
        n_hidden: 0,
        found: Found::default(),
    };
    let failed = |source| LoadError::input(directory, source);
    walk.visit(directory).map_err(failed)?;
    let mut found = walk.found;
    if found.files.is_empty() {
        // A corpus of empty files alone is a corpus without documents, and not a mistake.
        found.take_empty();
    }
    Ok(found)
}

/// A walk through directories under way.
struct Walk<'a> {
    depth: usize,
    hidden: Hidden,
    is_wanted: &'a dyn Fn(&Path) -> bool,
    /// The real paths of the directories being visited, to recognise a link that closes a circle.
    ancestors: Vec<PathBuf>,
    /// Hidden names on the way from where the walk began.
    n_hidden: usize,
    found: Found,
}

impl Walk<'_> {
    /// Collects the files of a directory and of those below it.
    ///
    /// # Errors
    ///
    /// When the directory itself cannot be listed.
    fn visit(&mut self, directory: &Path) -> io::Result<()> {
        let real = fs::canonicalize(directory)?;
        // Only a directory on the way down closes a circle: one that is linked from two places is
        // read in both.
        if self.ancestors.len() >= self.depth || self.ancestors.contains(&real) {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            names.push(entry?.file_name());
        }
        // The system lists names in no order that another machine would share.
        names.sort();
        self.ancestors.push(real);
        for name in names {
            if self.is_left_out(&name) {
                continue;
            }
            let is_hidden = is_hidden(&name);
            if is_hidden && !self.may_be_hidden() {
                if self.hidden == Hidden::Listed {
                    let hidden = IgnoredFile::new(directory.join(name), IgnoredReason::Hidden);
                    self.found.ignored.push(hidden);
                }
                continue;
            }
            let above = self.n_hidden;
            self.n_hidden += usize::from(is_hidden);
            self.meet(directory.join(name))?;
            self.n_hidden = above;
        }
        self.ancestors.pop();
        Ok(())
    }

    /// Returns whether one more name on the way may be hidden.
    fn may_be_hidden(&self) -> bool {
        match self.hidden {
            Hidden::Listed => false,
            Hidden::Named(named) => self.n_hidden < named,
            #[cfg(feature = "remote")]
            Hidden::Taken(_) => true,
        }
    }

    /// Returns whether a name in the directory that is being visited is no part of what is read.
    fn is_left_out(&self, name: &OsStr) -> bool {
        match self.hidden {
            #[cfg(feature = "remote")]
            Hidden::Taken(but) => {
                self.ancestors.len() == 1 && but.iter().any(|folder| name == *folder)
            }
            Hidden::Listed | Hidden::Named(_) => false,
        }
    }

    /// Takes what a directory holds, goes into it, or passes over it.
    ///
    /// # Errors
    ///
    /// When the system fails otherwise than by saying that something is not there or not allowed:
    /// then what lies here is unknown.
    fn meet(&mut self, path: PathBuf) -> io::Result<()> {
        // `metadata` follows links, which `DirEntry::file_type` does not.
        let reason = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let on_the_way = self.ancestors.len();
                match self.visit(&path) {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        self.ancestors.truncate(on_the_way);
                        self.found
                            .ignored
                            .push(IgnoredFile::new(path, IgnoredReason::Forbidden));
                        return Ok(());
                    }
                    visited => return visited.map_err(|error| at(&path, error)),
                }
            }
            Ok(metadata) if !metadata.is_file() => IgnoredReason::NoFile,
            Ok(metadata) if metadata.len() == 0 => IgnoredReason::Empty,
            Ok(_) if (self.is_wanted)(&path) => {
                self.found.files.push(path);
                return Ok(());
            }
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                IgnoredReason::Forbidden
            }
            Err(_) if path.is_symlink() => IgnoredReason::DanglingLink,
            Err(error) => return Err(at(&path, error)),
        };
        if (self.is_wanted)(&path) {
            self.found.ignored.push(IgnoredFile::new(path, reason));
        }
        Ok(())
    }
}

/// Adds the place to what the system said of it, once: the caller names the directory at the top.
fn at(path: &Path, error: io::Error) -> io::Error {
    match error.get_ref() {
        Some(_) => error,
        None => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    }
}

/// Returns whether a path is to be read as a pattern when no file of that name exists.
pub(crate) fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Returns whether a name begins with a dot.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns how many names of a pattern begin with a dot, or do in one of its alternatives.
fn hidden_in(glob: &str) -> usize {
    let names_dot =
        |part: &&str| part.starts_with('.') || part.contains("{.") || part.contains(",.");
    glob.split('/').filter(names_dot).count()
}

/// Returns the files that match a pattern, sorted. `*` stays within a directory, `**` crosses them. As in
/// a shell, a name that begins with a dot matches where the pattern has that dot.
pub(crate) fn matching(pattern: &Path) -> Result<Found, LoadError> {
    let (base, rest) = split(pattern);
    // A `!` in front would turn its meaning round, and is a character like others here.
    let glob = rest.to_string_lossy();
    let escape = if glob.starts_with('!') { "\\" } else { "" };
    let glob = format!("{escape}{glob}");
    fast_glob::validate(&glob).map_err(|source| LoadError::InvalidGlob {
        pattern: pattern.display().to_string(),
        source: source.into(),
    })?;
    // Without `**` a match has no more components than the pattern: deeper directories need not be
    // listed.
    let depth = match glob.contains("**") {
        true => usize::MAX,
        false => rest.components().count(),
    };
    let start = if base.as_os_str().is_empty() {
        Path::new(".")
    } else {
        &base
    };
    if !start.is_dir() {
        return Ok(Found::default());
    }
    let hidden = Hidden::Named(hidden_in(&glob));
    files_that(start, depth, hidden, &|file| {
        file.strip_prefix(start)
            .is_ok_and(|inner| fast_glob::glob_match(&glob, inner.as_os_str().as_encoded_bytes()))
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
