//! A corpus without some of its files.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::CorpusIdentity;
use crate::cursor::{Cursor, Position};
use crate::file_identity::FileIdentity;

impl CorpusIdentity {
    /// Returns whether what is read of a file depends on the other files of the corpus: in a mixture, a shard or
    /// a sample, and where records at the beginning are skipped.
    #[must_use]
    pub fn is_interdependent(&self) -> bool {
        self.is_mixture()
            || self.is_shard()
            || self.skips_records()
            || self.options.sample.is_some()
    }

    /// Returns the places in this corpus of the files of another, ascending.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let open = |names: &[&str]| {
    ///     let files = names.iter().map(|name| dir.path().join(name));
    ///     StreamingDatasetLoader::builder().with_inputs(files).build()
    /// };
    /// for name in ["a.txt", "b.txt", "c.txt"] {
    ///     std::fs::write(dir.path().join(name), name)?;
    /// }
    /// let all = open(&["a.txt", "b.txt", "c.txt"])?.identity();
    /// let places = all.places_of(&open(&["b.txt"])?.identity()).expect("it is one of them");
    /// assert_eq!(places, [1]);
    /// assert_eq!(all.without(&places), open(&["a.txt", "c.txt"])?.identity());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A sentence for each file that is not one of this corpus, or has changed since.
    pub fn places_of(&self, others: &Self) -> Result<Vec<usize>, Vec<String>> {
        let mut by_name = HashMap::with_capacity(self.files.len());
        for (place, ours) in self.files.iter().enumerate() {
            // The first of those with the same name.
            by_name.entry(ours.name.as_str()).or_insert(place);
        }
        let mut places = BTreeSet::new();
        let mut problems = Vec::new();
        for file in &others.files {
            let place = by_name.get(file.name.as_str());
            match place.map(|&place| (place, self.files[place].diff(file))) {
                None => problems.push(self.unknown(file)),
                Some((_, Some(difference))) => problems.push(difference),
                Some((place, None)) => drop(places.insert(place)),
            }
        }
        match problems.is_empty() {
            true => Ok(places.into_iter().collect()),
            false => Err(problems),
        }
    }

    /// Says that a file is not one of this corpus, and which of it holds the same. That is not taken for it: of
    /// two copies the other one would be meant by a command that is given again.
    fn unknown(&self, file: &FileIdentity) -> String {
        let is_same = |ours: &&FileIdentity| {
            file.fingerprint.is_some()
                && (ours.size, &ours.fingerprint) == (file.size, &file.fingerprint)
        };
        let mut text = format!("`{}` was never learned", file.name);
        if let Some(same) = self.files.iter().find(is_same) {
            text += &format!(" (`{}` holds the same, and was)", same.name);
        }
        text
    }

    /// Returns this corpus without the files at some places.
    #[must_use]
    pub fn without(&self, places: &[usize]) -> Self {
        let gone: HashSet<usize> = places.iter().copied().collect();
        let files = self.files.iter().enumerate();
        let left = files.filter(|(place, _)| !gone.contains(place));
        Self {
            files: left.map(|(_, file)| file.clone()).collect(),
            ..self.clone()
        }
    }
}

impl Cursor {
    /// Returns the position in the corpus without the files at some places; what became of their records is
    /// still counted in it. `None` if one of them is not in front of it, or the order is shuffled.
    #[must_use]
    pub fn without(&self, places: &[usize]) -> Option<Self> {
        let Position::InFile { file_index, mark } = self.position else {
            return None;
        };
        let are_read = places.iter().all(|&place| (place as u64) < file_index);
        are_read.then(|| Self {
            position: Position::InFile {
                file_index: file_index - places.len() as u64,
                mark,
            },
            ..self.clone()
        })
    }
}
