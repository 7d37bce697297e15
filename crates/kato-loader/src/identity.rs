//! The identity of a corpus, in a form that can be stored with a run and compared when the run is
//! resumed.

mod described;
#[cfg(test)]
mod tests;
mod without;

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::file_identity::{FileIdentity, fingerprint};
use crate::input_file::{InputFile, Source};
use crate::mixture::{Mixing, Mixture, Part};
use crate::options::{CorpusOptions, DEFAULT_MAX_WINDOW_BYTES};
use crate::order::{Order, Shard};

/// The options and files that decide which documents a corpus holds, and in which order.
///
/// Store it beside the [`Cursor`](crate::Cursor) of a run; [`diff`](Self::diff) says in words
/// whether, and why not, another corpus can take its place. What is done with bad records, and limits
/// on records and documents, are not part of it: a run may go on with others.
///
/// **What it can miss.** A file of up to 1 MiB is hashed whole (BLAKE3). Of a larger one, its size
/// and 64 evenly spaced blocks of 16 KiB are hashed, the first and the last included, so that a
/// corpus of any size is identified within milliseconds per file. Another order of the files and
/// another size of one are found, and so is an edit in a block; an edit in place that keeps the size
/// and touches only bytes between the blocks is not. A remote file is identified by what its server
/// vouches for: an entity tag, a content hash, a version. Streams have no fingerprint at all.
///
/// # Examples
///
/// ```
/// use kato_loader::StreamingDatasetLoader;
///
/// let open = |field| {
///     StreamingDatasetLoader::builder()
///         .with_reader("rows.jsonl", "{\"text\": \"a\"}".as_bytes())
///         .with_text_field(field)
///         .build()
/// };
/// let stored = open("text")?.identity();
/// assert!(stored.diff(&open("text")?.identity()).is_empty());
/// assert_eq!(
///     stored.diff(&open("body")?.identity()),
///     ["text field: was `text`, is `body`"]
/// );
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusIdentity {
    options: CorpusOptions,
    files: Vec<FileIdentity>,
    /// The datasets of a mixture, which has no files of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mixed: Option<Mixed>,
}

/// How the datasets of a mixture are mixed, and what they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mixed {
    pub(crate) mixing: Mixing,
    pub(crate) parts: Vec<MixedPart>,
}

/// One dataset of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MixedPart {
    pub(crate) weight: f64,
    pub(crate) corpus: CorpusIdentity,
}

/// Returns the options without those that decide whether a file can be read, and not what is in
/// it, and without what follows from the others.
fn stored(selection: &CorpusOptions) -> CorpusOptions {
    CorpusOptions {
        max_window_bytes: DEFAULT_MAX_WINDOW_BYTES,
        allows_empty: false,
        extent_bytes: CorpusOptions::default().extent_bytes,
        ..selection.clone()
    }
}

impl CorpusIdentity {
    /// Creates the identity of a corpus; reads up to 1 MiB of every local file.
    pub(crate) fn new(selection: &CorpusOptions, mixture: &Mixture) -> Self {
        match mixture.parts() {
            [part] => Self::from_files(selection, &part.dataset.corpus.files),
            parts => Self {
                options: stored(selection),
                files: Vec::new(),
                mixed: Some(Mixed {
                    mixing: mixture.mixing,
                    parts: parts.iter().map(MixedPart::new).collect(),
                }),
            },
        }
    }

    /// Creates the identity of one dataset.
    fn from_files(selection: &CorpusOptions, files: &[Arc<InputFile>]) -> Self {
        Self {
            options: stored(selection),
            files: files.iter().map(|file| identify(file)).collect(),
            mixed: None,
        }
    }

    /// Returns the files in reading order; those of a mixture dataset by dataset.
    #[must_use]
    pub fn files(&self) -> Vec<&FileIdentity> {
        let parts = self.parts().flat_map(|part| part.corpus.files());
        self.files.iter().chain(parts).collect()
    }

    /// Returns the options.
    pub(crate) fn selection(&self) -> &CorpusOptions {
        &self.options
    }

    /// Returns the datasets, where the corpus is a mixture.
    pub(crate) fn mixed(&self) -> Option<&Mixed> {
        self.mixed.as_ref()
    }

    /// Returns the datasets of a mixture; none without one.
    fn parts(&self) -> impl Iterator<Item = &MixedPart> {
        self.mixed.iter().flat_map(|mixed| &mixed.parts)
    }

    /// Returns this corpus under the names of `other`'s files, one after the other: what is left to
    /// [`diff`](Self::diff) after a corpus was moved. `self` is unchanged when the numbers of files
    /// differ.
    #[must_use]
    pub fn with_names_of(mut self, other: &Self) -> Self {
        if self.files.len() == other.files.len() {
            for (file, other) in self.files.iter_mut().zip(&other.files) {
                file.name.clone_from(&other.name);
            }
        }
        if let (Some(mixed), Some(other)) = (&mut self.mixed, &other.mixed) {
            for (part, other) in mixed.parts.iter_mut().zip(&other.parts) {
                part.corpus = part.corpus.clone().with_names_of(&other.corpus);
            }
        }
        self
    }

    /// Returns the identity of one of the shards of this corpus.
    ///
    /// ```
    /// use kato_loader::{Shard, StreamingDatasetLoader};
    ///
    /// let open = || StreamingDatasetLoader::builder().with_reader("a.txt", "text".as_bytes());
    /// let shard = Shard::new(1, 3);
    /// let of_shard = open().with_shard(shard).build()?.identity();
    /// assert_eq!(open().build()?.identity().with_shard(shard), of_shard);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.options.shard = Some(shard);
        if let Some(mixed) = &mut self.mixed {
            for part in &mut mixed.parts {
                part.corpus = part.corpus.clone().with_shard(shard);
            }
        }
        self
    }

    /// Returns whether this is one shard of a corpus.
    #[must_use]
    pub fn is_shard(&self) -> bool {
        self.options.shard.is_some()
    }

    /// Returns whether the corpus is a mixture of datasets.
    #[must_use]
    pub fn is_mixture(&self) -> bool {
        self.mixed.is_some()
    }

    /// Returns whether records come in a random order. Not to be asked of a mixture, whose datasets have
    /// orders of their own.
    #[must_use]
    pub fn is_shuffled(&self) -> bool {
        self.options.order != Order::Sequential
    }

    /// Returns whether this corpus is `other` with more files behind it, read with the same options.
    /// Then the position at the end of `other` is one of this corpus: that in front of the first file
    /// that was added. A corpus that is shuffled, mixed or a shard has no such place.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    ///
    /// let open = || StreamingDatasetLoader::builder().with_reader("a.txt", "one".as_bytes());
    /// let first = open().build()?.identity();
    /// let more = open().with_reader("b.txt", "two".as_bytes()).build()?.identity();
    /// assert!(more.extends(&first));
    /// assert!(!first.extends(&more) && !first.extends(&first));
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn extends(&self, other: &Self) -> bool {
        self.options == other.options
            && !(self.is_shuffled() || self.is_shard())
            && self.mixed.is_none()
            && other.mixed.is_none()
            && self.files.len() > other.files.len()
            && self.files.starts_with(&other.files)
    }

    /// Returns whether records at the beginning are skipped.
    #[must_use]
    pub fn skips_records(&self) -> bool {
        self.options.skip_records > 0
    }

    /// Returns a short name of the whole identity: 64 hex digits, the same for the same identity.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(|field| {
            self.hash_options(field);
            self.hash_files(field);
        })
    }

    /// Returns a hash of the options alone.
    pub(crate) fn digest_of_options(&self) -> String {
        digest(|field| self.hash_options(field))
    }

    /// Returns a hash of the files alone: names, sizes and fingerprints.
    pub(crate) fn digest_of_files(&self) -> String {
        digest(|field| self.hash_files(field))
    }

    /// Passes every option on, as text.
    fn hash_options(&self, field: &mut dyn FnMut(&str)) {
        // Values only: their order is fixed, and labels are words for people.
        for (_, value) in self.options.described() {
            field(&value);
        }
        if let Some(mixed) = &self.mixed {
            field(&mixed.mixing.stored_text());
        }
        for part in self.parts() {
            field(&part.weight.to_string());
            part.corpus.hash_options(field);
        }
    }

    /// Passes everything that is known of every file on, as text.
    fn hash_files(&self, field: &mut dyn FnMut(&str)) {
        for file in &self.files {
            field(&file.name);
            field(&file.size.map_or_else(String::new, |size| size.to_string()));
            field(file.fingerprint.as_deref().unwrap_or_default());
        }
        for part in self.parts() {
            // Datasets that share the same files out in another way are another mixture.
            field(&part.corpus.files().len().to_string());
            part.corpus.hash_files(field);
        }
    }

    /// Returns the options in words, but for those that are not set.
    pub(crate) fn options_in_words(&self) -> String {
        let mut words: Vec<String> = self
            .options
            .described()
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(label, value)| format!("{label} `{value}`"))
            .collect();
        if let Some(Mixed { mixing, .. }) = &self.mixed {
            words.push(format!("mixing {}", mixing.stored_text()));
        }
        for part in self.parts() {
            words.push(format!(
                "weight {} ({})",
                part.weight,
                part.corpus.options_in_words()
            ));
        }
        words.join(", ")
    }

    /// Returns in words how many files there are, and how large they are.
    pub(crate) fn files_in_words(&self) -> String {
        let files = self.files();
        let bytes: u64 = files.iter().filter_map(|file| file.size).sum();
        let files = kato_advice::counted(files.len(), "file");
        format!("{files} with {}", kato_advice::counted(bytes, "byte"))
    }

    /// Returns what is different in `other`, one sentence each; empty when it holds the same
    /// documents in the same order.
    ///
    /// `self` is the stored identity, `other` the one at hand.
    #[must_use]
    pub fn diff(&self, other: &Self) -> Vec<String> {
        let mut differences = self.diff_options(other);
        differences.extend(self.diff_files(other));
        differences.extend(self.diff_mixed(other));
        differences
    }

    /// Compares the datasets of mixtures, one by one.
    fn diff_mixed(&self, other: &Self) -> Vec<String> {
        let (Some(was), Some(is)) = (&self.mixed, &other.mixed) else {
            return match self.mixed.is_some() == other.mixed.is_some() {
                true => Vec::new(),
                false => vec!["one is a mixture of datasets, the other is not".to_owned()],
            };
        };
        let mut differences = Vec::new();
        if was.mixing != is.mixing {
            let (was, is) = (was.mixing.stored_text(), is.mixing.stored_text());
            differences.push(format!("mixing: was {was}, is {is}"));
        }
        if was.parts.len() != is.parts.len() {
            let (was, is) = (was.parts.len(), is.parts.len());
            differences.push(format!("datasets in the mixture: were {was}, are {is}"));
            // Which dataset of one stands for which of the other is unknown then.
            return differences;
        }
        for (number, (was, is)) in (1..).zip(was.parts.iter().zip(&is.parts)) {
            let of_part =
                |difference: String| format!("dataset {number} of the mixture: {difference}");
            if was.weight != is.weight {
                let (was, is) = (was.weight, is.weight);
                differences.push(of_part(format!("weight: was {was}, is {is}")));
            }
            differences.extend(was.corpus.diff(&is.corpus).into_iter().map(of_part));
        }
        differences
    }

    /// Compares files by name, and then their order.
    fn diff_files(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let ours = by_name(&self.files);
        let theirs = by_name(&other.files);
        for file in &self.files {
            match theirs.get(file.name.as_str()) {
                None => differences.push(format!("file missing: `{}`", file.name)),
                Some(now) => differences.extend(file.diff(now)),
            }
        }
        let added = other
            .files
            .iter()
            .filter(|file| !ours.contains_key(file.name.as_str()));
        differences.extend(added.map(|file| format!("file added: `{}`", file.name)));
        // Only with the same files on both sides: otherwise every file behind the first difference
        // would seem to have moved.
        if self.files.len() == other.files.len()
            && ours.keys().all(|name| theirs.contains_key(name))
        {
            let mut pairs = self.files.iter().zip(&other.files);
            if let Some((was, is)) = pairs.find(|(was, is)| was.name != is.name) {
                differences.push(format!(
                    "file order: `{}` now stands where `{}` stood",
                    is.name, was.name
                ));
            }
        }
        differences
    }

    /// Returns what is different in the options of `other`, one sentence each.
    #[must_use]
    pub fn diff_options(&self, other: &Self) -> Vec<String> {
        let pairs = self
            .options
            .described()
            .into_iter()
            .zip(other.options.described());
        pairs
            .filter(|((_, was), (_, is))| was != is)
            .map(|((label, was), (_, is))| format!("{label}: was `{was}`, is `{is}`"))
            .collect()
    }
}

impl MixedPart {
    /// Creates the identity of one dataset of a mixture.
    fn new(part: &Part) -> Self {
        let corpus = &part.dataset.corpus;
        Self {
            weight: part.weight,
            corpus: CorpusIdentity::from_files(&corpus.selection, &corpus.files),
        }
    }
}

/// Returns the identity of a file; reads up to 1 MiB of a local one.
fn identify(file: &InputFile) -> FileIdentity {
    FileIdentity {
        name: file.name.to_string(),
        size: file.size,
        fingerprint: match &file.source {
            // A file that cannot be read gives no documents: having no fingerprint is then its
            // identity.
            Source::File(path) => fingerprint(path).ok(),
            Source::Pipe(..) | Source::Reader(_) | Source::Documents(_) => None,
            Source::Records(records) => Some(records.fingerprint()),
            #[cfg(feature = "remote")]
            Source::Remote(remote) => remote.validator().map(str::to_owned),
        },
    }
}

/// Returns the BLAKE3 of texts, in hex.
fn digest(fields: impl FnOnce(&mut dyn FnMut(&str))) -> String {
    let mut hasher = blake3::Hasher::new();
    fields(&mut |text: &str| {
        // Lengths keep texts apart: `ab` and `c` must not hash as `a` and `bc` do.
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    });
    hasher.finalize().to_hex().to_string()
}

/// Returns the files by their names.
fn by_name(files: &[FileIdentity]) -> HashMap<&str, &FileIdentity> {
    files
        .iter()
        .map(|file| (file.name.as_str(), file))
        .collect()
}
