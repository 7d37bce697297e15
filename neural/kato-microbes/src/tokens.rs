//! Nucleotide sequences as tokens: what the model reads.

use std::collections::HashMap;
use std::path::Path;

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::{MicrobesError, examples};

/// What fills rows up.
pub const PAD: u8 = 0;
/// Stands before every sequence.
pub const START: u8 = 5;
/// A nucleotide that is not known, or that is to be guessed.
pub const MASK: u8 = 6;
/// How many tokens there are; A, C, G and T are 1 to 4.
pub const N_TOKENS: usize = 7;

/// How sequences become tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TokenOptions {
    /// Nucleotides of a sequence that are read at most; what is behind them is cut off and counted.
    /// 150 by default.
    pub max_bp: usize,
}

impl Default for TokenOptions {
    fn default() -> Self {
        Self { max_bp: 150 }
    }
}

impl TokenOptions {
    /// Sets how many nucleotides are read at most.
    #[must_use]
    pub const fn with_max_bp(mut self, max_bp: usize) -> Self {
        self.max_bp = max_bp;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When the length is 0 or above 100,000.
    pub fn check(&self) -> Result<(), MicrobesError> {
        let fits = (1..=100_000).contains(&self.max_bp);
        Ok(check_setting(
            fits,
            "max_bp",
            &self.max_bp,
            "from 1 to 100,000",
        )?)
    }
}

/// What was found in sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenReport {
    /// Sequences.
    pub n_sequences: usize,
    /// Sequences that were cut to the longest allowed.
    pub n_cut: usize,
    /// Sequences with a letter that stands for several nucleotides, in the part that is read.
    pub n_ambiguous: usize,
    /// Such letters, each of which became [`MASK`].
    pub n_ambiguous_letters: usize,
    /// Nucleotides of the shortest sequence, before the cut.
    pub shortest: usize,
    /// Nucleotides of the longest sequence, before the cut.
    pub longest: usize,
}

/// Sequences as tokens, each of its own length, in the order of a table's features.
///
/// Every row begins with [`START`]. Case does not matter, and U is T. The letters that IUPAC has for
/// several nucleotides (N, R, Y, …) become [`MASK`]: what is unknown is read like what is hidden, and
/// nobody is asked to guess it. Gaps (`-`, `.`) are passed over.
///
/// ```
/// use kato_microbes::tokens::{Sequences, TokenOptions};
///
/// let ids = ["ACGTA".to_owned(), "acNu".to_owned()];
/// let (sequences, report) = Sequences::from_ids(&ids, &TokenOptions::default().with_max_bp(4))?;
/// assert_eq!(sequences.row(0), [5, 1, 2, 3, 4]);
/// assert_eq!(sequences.row(1), [5, 1, 2, 6, 4]);
/// assert_eq!((report.n_cut, report.n_ambiguous_letters), (1, 1));
/// # Ok::<(), kato_microbes::MicrobesError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    tokens: Vec<u8>,
    // Row `i` ends at `ends[i]`.
    ends: Vec<usize>,
}

impl Sequences {
    /// Takes the names of features for their sequences, as denoisers such as DADA2 name them.
    ///
    /// # Errors
    ///
    /// [`MicrobesError::NoSequences`] names those that are none.
    pub fn from_ids(
        ids: &[String],
        options: &TokenOptions,
    ) -> Result<(Self, TokenReport), MicrobesError> {
        options.check()?;
        let mut none = Vec::new();
        let mut sequences = Self::empty();
        let mut report = TokenReport::default();
        for id in ids {
            if !sequences.push(id, options.max_bp, &mut report) {
                none.push(id.as_str());
            }
        }
        if none.is_empty() {
            return Ok((sequences, report));
        }
        Err(MicrobesError::NoSequences {
            n: none.len(),
            n_features: ids.len(),
            examples: examples(none.into_iter()),
        })
    }

    /// Takes the sequence of each feature from a FASTA file, by name.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or holds letters of no nucleotide, or
    /// [`MicrobesError::AbsentSequences`] names the features that it lacks.
    pub fn from_fasta(
        ids: &[String],
        path: &Path,
        options: &TokenOptions,
    ) -> Result<(Self, TokenReport), MicrobesError> {
        options.check()?;
        let found: HashMap<String, String> = crate::fasta::read(path)?.into_iter().collect();
        let absent: Vec<&str> = ids
            .iter()
            .map(String::as_str)
            .filter(|id| !found.contains_key(*id))
            .collect();
        if !absent.is_empty() {
            return Err(MicrobesError::AbsentSequences {
                path: path.to_owned(),
                n: absent.len(),
                n_features: ids.len(),
                examples: examples(absent.into_iter()),
            });
        }
        let mut sequences = Self::empty();
        let mut report = TokenReport::default();
        for id in ids {
            // The reader has refused what is no nucleotide.
            sequences.push(&found[id], options.max_bp, &mut report);
        }
        Ok((sequences, report))
    }

    /// Restores rows from their tokens and ends; `None` where they contradict each other.
    pub(crate) fn from_parts(tokens: Vec<u8>, ends: Vec<usize>) -> Option<Self> {
        let is_sound = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == tokens.len()
            && tokens.iter().all(|&token| usize::from(token) < N_TOKENS);
        is_sound.then_some(Self { tokens, ends })
    }

    pub(crate) fn parts(&self) -> (&[u8], &[usize]) {
        (&self.tokens, &self.ends)
    }

    const fn empty() -> Self {
        Self {
            tokens: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Appends a sequence; `false`, and an empty row, where it is none.
    fn push(&mut self, letters: &str, max_bp: usize, report: &mut TokenReport) -> bool {
        let start = self.tokens.len();
        self.tokens.push(START);
        let (mut n_bp, mut n_ambiguous) = (0, 0);
        for letter in letters.bytes() {
            let token = match token_of(letter) {
                Some(PAD) => continue,
                Some(token) => token,
                None => {
                    n_bp = 0;
                    break;
                }
            };
            n_bp += 1;
            if n_bp <= max_bp {
                n_ambiguous += usize::from(token == MASK);
                self.tokens.push(token);
            }
        }
        if n_bp == 0 {
            self.tokens.truncate(start);
            self.ends.push(start);
            return false;
        }
        self.ends.push(self.tokens.len());
        report.shortest = if report.n_sequences == 0 {
            n_bp
        } else {
            report.shortest.min(n_bp)
        };
        report.longest = report.longest.max(n_bp);
        report.n_sequences += 1;
        report.n_cut += usize::from(n_bp > max_bp);
        report.n_ambiguous += usize::from(n_ambiguous > 0);
        report.n_ambiguous_letters += n_ambiguous;
        true
    }

    /// Returns the number of sequences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no sequence.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the tokens of a sequence, [`START`] first.
    ///
    /// # Panics
    ///
    /// There is no such sequence.
    #[must_use]
    pub fn row(&self, sequence: usize) -> &[u8] {
        let start = sequence.checked_sub(1).map_or(0, |i| self.ends[i]);
        &self.tokens[start..self.ends[sequence]]
    }
}

/// Returns the token of a letter, [`PAD`] for a gap, and `None` for what is no nucleotide.
pub(crate) const fn token_of(letter: u8) -> Option<u8> {
    Some(match letter.to_ascii_uppercase() {
        b'A' => 1,
        b'C' => 2,
        b'G' => 3,
        b'T' | b'U' => 4,
        b'R' | b'Y' | b'S' | b'W' | b'K' | b'M' | b'B' | b'D' | b'H' | b'V' | b'N' => MASK,
        b'-' | b'.' => PAD,
        _ => return None,
    })
}
