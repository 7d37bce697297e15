//! The state that a stopped stream needs to go on, in short.

use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::identity::CorpusIdentity;

/// A position together with the corpus it belongs to: a few integers and two hashes, whatever the
/// size of the corpus.
///
/// Given to [`with_state`](crate::StreamingDatasetLoaderBuilder::with_state), it continues with
/// exactly the next document, and refuses another corpus, also the same files with other options of
/// a [`CorpusIdentity`]. To be told *which* file changed, store the [`CorpusIdentity`] as well, once, and give it to
/// [`with_identity`](crate::StreamingDatasetLoaderBuilder::with_identity).
///
/// # Examples
///
/// ```
/// use kato_loader::{Order, StreamingDatasetLoader, TextUnit};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("lines.txt");
/// std::fs::write(&path, "0\n1\n2\n3\n4\n5\n6\n7\n")?;
/// let open = || {
///     StreamingDatasetLoader::builder()
///         .with_input(&path)
///         .with_text_unit(TextUnit::Line)
///         .with_order(Order::shuffled(7))
/// };
/// let whole: Vec<String> = open().build()?.map(|document| document.unwrap().text).collect();
///
/// let mut loader = open().build()?;
/// let mut texts: Vec<String> = loader.by_ref().take(3).map(|document| document.unwrap().text).collect();
/// let stored = serde_json::to_string(&loader.state())?;
/// drop(loader);
///
/// let loader = open().with_workers(2).with_state(serde_json::from_str(&stored)?).build()?;
/// texts.extend(loader.map(|document| document.unwrap().text));
/// assert_eq!(texts, whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoaderState {
    options: String,
    manifest: String,
    cursor: Cursor,
}

impl LoaderState {
    /// Creates the state of a position in a corpus.
    pub(crate) fn new(identity: &CorpusIdentity, cursor: Cursor) -> Self {
        Self {
            options: identity.digest_of_options(),
            manifest: identity.digest_of_files(),
            cursor,
        }
    }

    /// Returns the position.
    #[must_use]
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Returns the hash of the manifest: names, sizes and fingerprints of all files, in order. 64
    /// hex digits.
    #[must_use]
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// Returns in words what is different in the corpus at hand; empty when the state fits.
    pub(crate) fn diff(&self, identity: &CorpusIdentity) -> Vec<String> {
        let mut differences = Vec::new();
        if self.options != identity.digest_of_options() {
            differences.push(format!(
                "the options differ from those of the stored state; they are now: {}",
                identity.options_in_words()
            ));
        }
        if self.manifest != identity.digest_of_files() {
            differences.push(format!(
                "the files are not those of the stored state (names, sizes, fingerprints or order); they are now {}",
                identity.files_in_words()
            ));
        }
        differences
    }
}
