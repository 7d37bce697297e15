//! A corpus without some of its files.

use std::collections::BTreeSet;

use super::CorpusIdentity;
use crate::cursor::{Cursor, Position};

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

    /// Returns the places in this corpus of the files of another, ascending: by their names, and those of other
    /// names by what they hold.
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
        let mut places = BTreeSet::new();
        let mut problems = Vec::new();
        for file in &others.files {
            let is_new = |place: &usize| !places.contains(place);
            let by_name = self.files.iter().position(|ours| ours.name == file.name);
            // What was read once has no content that is known.
            let is_same = |place: &usize| {
                file.fingerprint.is_some()
                    && (self.files[*place].size, &self.files[*place].fingerprint)
                        == (file.size, &file.fingerprint)
            };
            let by_content = || (0..self.files.len()).find(|place| is_same(place) && is_new(place));
            let place = by_name.or_else(by_content);
            match place.map(|place| (place, self.files[place].diff(file))) {
                None => problems.push(format!("`{}` was never learned", file.name)),
                Some((_, Some(difference))) if by_name.is_some() => problems.push(difference),
                Some((place, _)) => drop(places.insert(place)),
            }
        }
        match problems.is_empty() {
            true => Ok(places.into_iter().collect()),
            false => Err(problems),
        }
    }

    /// Returns this corpus without the files at some places.
    #[must_use]
    pub fn without(&self, places: &[usize]) -> Self {
        let files = self.files.iter().enumerate();
        let left = files.filter(|(place, _)| !places.contains(place));
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
