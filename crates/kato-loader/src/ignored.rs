//! What listings pass over, and why.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Something that a directory, a repository or a bucket holds and that is not read.
///
/// ```
/// use kato_loader::StreamingDatasetLoader;
///
/// # let folder = std::env::temp_dir().join(format!("kato-ignored-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("a.txt"), "text")?;
/// std::fs::write(folder.join("a.png"), "picture")?;
/// std::fs::write(folder.join("b.txt"), "")?;
/// let loader = StreamingDatasetLoader::builder().with_input(&folder).build()?;
/// let reasons = loader.ignored_files().into_iter().map(|file| file.reason.to_string());
/// assert_eq!(reasons.collect::<Vec<_>>(), ["no known extension", "empty"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IgnoredFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Why it is not read.
    pub reason: IgnoredReason,
}

/// Why something is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IgnoredReason {
    /// Its extension stands for no format.
    UnknownExtension,
    /// It is no data file of the split that is read, by the card or the layout of its dataset.
    NotInSplit,
    /// Its name begins with a dot. A pattern that names the dot takes it.
    Hidden,
    /// It has no bytes.
    Empty,
    /// It is a link to something that does not exist, or to itself.
    DanglingLink,
    /// It is a pipe, a socket or a device. One that is named outright is read.
    NoFile,
    /// It, or the directory that it lies in, may not be looked into.
    Forbidden,
    /// It lies in a bucket beside what the pattern matches.
    NotMatched,
    /// Its name in a bucket begins with `/`, or has `//` or a part `..`: no request can ask for it.
    OddName,
    /// It lies in the clone of a dataset, and its name is not UTF-8, as those of the Hub are.
    NotUtf8,
}

impl IgnoredFile {
    /// Creates an entry.
    pub(crate) fn new(path: impl Into<PathBuf>, reason: IgnoredReason) -> Self {
        Self {
            path: path.into(),
            reason,
        }
    }
}

impl fmt::Display for IgnoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownExtension => "no known extension",
            Self::NotInSplit => "not in the split",
            Self::Hidden => "hidden",
            Self::Empty => "empty",
            Self::DanglingLink => "a link that leads nowhere",
            Self::NoFile => "a pipe, a socket or a device",
            Self::Forbidden => "no permission",
            Self::NotMatched => "not matched by the pattern",
            Self::OddName => "a name that no request can ask for",
            Self::NotUtf8 => "a name that is not UTF-8",
        })
    }
}

/// Counts how many there are for each reason.
pub fn by_reason<'a>(
    ignored: impl IntoIterator<Item = &'a IgnoredFile>,
) -> BTreeMap<IgnoredReason, u64> {
    let mut counts = BTreeMap::new();
    for file in ignored {
        *counts.entry(file.reason).or_default() += 1;
    }
    counts
}

/// Says how many there are for each reason, as in `2 (empty), 1 (no permission)`; empty for none.
pub fn in_words<'a>(ignored: impl IntoIterator<Item = &'a IgnoredFile>) -> String {
    let counts = by_reason(ignored).into_iter();
    let words: Vec<String> = counts
        .map(|(reason, count)| format!("{count} ({reason})"))
        .collect();
    words.join(", ")
}
