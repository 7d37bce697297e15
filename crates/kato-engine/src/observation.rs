//! Observations: what is observed at one moment, and how it is checked.

use std::collections::BTreeMap;

use kato_model::vector::{VECTOR_PREFIX, sum_vectors};
use kato_model::{EmotiveMap, MetadataValue, VectorName};
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::options::Limits;

/// Greatest magnitude of an emotive: sums over 2⁶⁴ learns of a thousand maps stay finite.
const EMOTIVE_MAGNITUDE: f64 = 1e100;

/// The thing that [`Limits::metadata_bytes`] limits, for error messages.
pub(crate) const METADATA_BYTES: &str = "bytes of an observation's metadata";

/// One observation. Reads from and writes KATO's JSON; missing parts are empty, other keys ignored.
///
/// ```
/// use kato_engine::Observation;
///
/// let observation: Observation = serde_json::from_str(r#"{"strings": ["b", "a"], "emotives": {"joy": 1}}"#)?;
/// assert_eq!(observation.strings, ["b", "a"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// Symbols, in any order.
    pub strings: Vec<String>,
    /// Vectors, which are added up to one vector symbol.
    pub vectors: Vec<Vec<f64>>,
    /// Emotive values; finite, magnitude up to 1e100.
    pub emotives: EmotiveMap,
    /// Metadata for the pattern that will be learned.
    #[serde(serialize_with = "crate::state::metadata_json::serialize")]
    pub metadata: BTreeMap<String, MetadataValue>,
}

impl Observation {
    /// Creates an observation of strings alone.
    pub fn strings<I>(strings: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self {
            strings: strings.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates an observation of vectors alone.
    #[must_use]
    pub fn vectors(vectors: Vec<Vec<f64>>) -> Self {
        Self {
            vectors,
            ..Self::default()
        }
    }

    /// Creates an observation of one vector, of `f64` or `f32`.
    ///
    /// Each `f32` becomes the `f64` of equal value, by which it is named.
    ///
    /// ```
    /// use kato_embeddings::Embeddings;
    /// use kato_engine::Observation;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("vectors.txt");
    /// std::fs::write(&path, "river 0.1 0.2\nsea 0.3 0.4\n")?;
    /// // Doubles: names are those that other clients give to the same text.
    /// let embeddings = Embeddings::builder(&path).with_doubles().open()?;
    ///
    /// let observation = embeddings.get("sea").map(Observation::vector);
    /// assert_eq!(observation, Some(Observation::vectors(vec![vec![0.3, 0.4]])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn vector<E: Copy + Into<f64>>(vector: &[E]) -> Self {
        Self::default().with_vector(vector)
    }

    /// Adds a vector, of `f64` or `f32`.
    #[must_use]
    pub fn with_vector<E: Copy + Into<f64>>(mut self, vector: &[E]) -> Self {
        self.vectors
            .push(vector.iter().map(|&element| element.into()).collect());
        self
    }

    /// Sets the value of an emotive.
    #[must_use]
    pub fn with_emotive(mut self, emotive: impl Into<String>, value: f64) -> Self {
        self.emotives.insert(emotive.into(), value);
        self
    }

    /// Sets a metadata value.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: MetadataValue) -> Self {
        self.metadata.insert(key.into(), value);
        self
    }

    /// Returns whether there are neither strings nor vectors, so that the
    /// observation adds no event.
    pub(crate) fn is_empty(&self) -> bool {
        self.strings.is_empty() && self.vectors.is_empty()
    }

    /// Returns the most bytes that the symbols of its event can have, where so many nearest vectors are
    /// searched for.
    pub(crate) fn bytes(&self, n_nearest: usize) -> usize {
        // The vector's own name and those of the nearest: a prefix and 40 hexadecimal digits each.
        const NAME: usize = VECTOR_PREFIX.len() + 40;
        let names = match self.vectors.is_empty() {
            true => 0,
            false => NAME * (1 + n_nearest),
        };
        self.strings.iter().map(String::len).sum::<usize>() + names
    }

    /// Checks the observation against the limits and adds its vectors up; `None` if there are none.
    pub(crate) fn check(&self, limits: &Limits) -> Result<Option<SummedVector>, EngineError> {
        let longest = self.strings.iter().map(String::len).max().unwrap_or(0);
        let n_elements = self.vectors.iter().map(Vec::len).sum();
        check_limit("bytes of a symbol", longest, limits.symbol_bytes)?;
        check_limit(
            "strings of an observation",
            self.strings.len(),
            limits.observation_strings,
        )?;
        check_limit(
            "elements of an observation's vectors",
            n_elements,
            limits.vector_elements,
        )?;
        // Vectors without elements would pass the limit above in any number.
        check_limit(
            "vectors of an observation",
            self.vectors.len(),
            limits.vector_elements,
        )?;
        check_limit(
            "emotives of an observation",
            self.emotives.len(),
            limits.attributes,
        )?;
        check_limit(
            "metadata keys of an observation",
            self.metadata.len(),
            limits.attributes,
        )?;
        let entries = self.metadata.iter();
        let metadata = entries.map(|(key, value)| key.len() + text_bytes(value));
        check_limit(METADATA_BYTES, metadata.sum(), limits.metadata_bytes)?;
        check_emotives(&self.emotives)?;
        self.sum()
    }

    /// Adds the vectors up, as KATO does: an observation yields one vector symbol of its own.
    fn sum(&self) -> Result<Option<SummedVector>, EngineError> {
        if self.vectors.is_empty() {
            return Ok(None);
        }
        let is_invalid = |vector: &Vec<f64>| vector.iter().any(|element| !element.is_finite());
        if let Some(vector_idx) = self.vectors.iter().position(is_invalid) {
            return Err(EngineError::VectorNotFinite { vector_idx });
        }
        let elements = sum_vectors(&self.vectors)?;
        Ok(Some(SummedVector {
            name: VectorName::of_vector(&elements),
            elements,
        }))
    }
}

/// The sum of an observation's vectors, with its name.
#[derive(Debug, Clone)]
pub(crate) struct SummedVector {
    pub(crate) name: VectorName,
    pub(crate) elements: Vec<f64>,
}

/// Returns the bytes of a value as text.
fn text_bytes(value: &MetadataValue) -> usize {
    match value {
        MetadataValue::Text(text) => text.len(),
        value => value.to_string().len(),
    }
}

/// Refuses emotives whose sums over learns could leave the range of numbers.
pub(crate) fn check_emotives(emotives: &EmotiveMap) -> Result<(), EngineError> {
    let is_invalid = |value: f64| value.is_nan() || value.abs() > EMOTIVE_MAGNITUDE;
    match emotives.iter().find(|&(_, &value)| is_invalid(value)) {
        Some((emotive, &value)) => Err(EngineError::EmotiveRange {
            emotive: emotive.clone(),
            value,
        }),
        None => Ok(()),
    }
}

/// Fails if there is more of something than a limit allows.
pub(crate) fn check_limit(
    what: &'static str,
    found: usize,
    limit: usize,
) -> Result<(), EngineError> {
    if found <= limit {
        return Ok(());
    }
    Err(EngineError::TooLarge { what, found, limit })
}
