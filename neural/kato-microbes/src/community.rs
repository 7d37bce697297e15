//! A table made ready: rarefied, its sequences as tokens.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use kato_unifrac::{Table, rarefy};
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, Key, Saved};
use crate::error::MicrobesError;
use crate::tokens::{Sequences, TokenOptions, TokenReport};

/// How a table is made ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CommunityOptions {
    /// Counts that are drawn from each sample, without putting any back; samples that hold less are
    /// left out and named. 0 takes all counts as they are. 5,000 by default.
    pub depth: u64,
    /// The seed of the draw; 42 by default.
    pub seed: u64,
    /// How sequences become tokens.
    pub tokens: TokenOptions,
    /// File of the sequences, where the features' names are not the sequences themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fasta: Option<PathBuf>,
}

impl Default for CommunityOptions {
    fn default() -> Self {
        Self {
            depth: 5000,
            seed: 42,
            tokens: TokenOptions::default(),
            fasta: None,
        }
    }
}

impl CommunityOptions {
    /// Sets the depth; 0 takes all counts as they are.
    #[must_use]
    pub const fn with_depth(mut self, depth: u64) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Takes sequences from a FASTA file.
    #[must_use]
    pub fn with_fasta(mut self, path: impl Into<PathBuf>) -> Self {
        self.fasta = Some(path.into());
        self
    }
}

/// What was done to a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommunityReport {
    /// Samples that the file had.
    pub n_read: usize,
    /// Samples that are left.
    pub n_samples: usize,
    /// Features that some sample that is left holds.
    pub n_features: usize,
    /// Counts of each sample; 0 where none were drawn.
    pub depth: u64,
    /// Samples that hold less than the depth, or nothing.
    pub too_shallow: Vec<String>,
    /// What was found in the sequences.
    pub tokens: TokenReport,
}

/// Samples with the sequences that they hold.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Microbes {
    /// The samples; features that none of them holds are left out.
    pub table: Table,
    /// The sequences, in the order of the features.
    pub sequences: Sequences,
    /// What was done.
    pub report: CommunityReport,
    /// Categories of the samples that a model is told, as [`Categories::of`] has them; empty where it is told
    /// none.
    ///
    /// [`Categories::of`]: crate::metadata::Categories::of
    pub categories: Vec<i64>,
}

impl Microbes {
    /// Makes a table ready.
    ///
    /// The same table, options and seed give the same bits, for any number of threads: each sample
    /// is drawn from by its own name.
    ///
    /// # Errors
    ///
    /// As for [`rarefied`], or when features have no sequences.
    pub fn prepare(table: &Table, options: &CommunityOptions) -> Result<Self, MicrobesError> {
        let (table, report) = rarefied(table, options)?;
        let (sequences, tokens) = tokens_of(&table, options)?;
        Ok(Self {
            table,
            sequences,
            report: CommunityReport { tokens, ..report },
            categories: Vec::new(),
        })
    }

    /// Reads a table from a file and makes it ready; tokens come from the cache where it has them.
    ///
    /// # Errors
    ///
    /// As for [`prepare`](Self::prepare), or the file cannot be read.
    pub fn read(
        path: &Path,
        options: &CommunityOptions,
        cache: Option<&Cache>,
    ) -> Result<(Self, Option<Saved>), MicrobesError> {
        let (table, report) = rarefied(&Table::read(path)?, options)?;
        let Some(cache) = cache else {
            let (sequences, tokens) = tokens_of(&table, options)?;
            let report = CommunityReport { tokens, ..report };
            return Ok((
                Self {
                    table,
                    sequences,
                    report,
                    categories: Vec::new(),
                },
                None,
            ));
        };
        let mut key = Key::new("tokens")
            .with_file(path)?
            .with("depth", options.depth)
            .with("seed", options.seed)
            .with("max_bp", options.tokens.max_bp);
        if let Some(fasta) = &options.fasta {
            key = key.with_file(fasta)?;
        }
        let (entry, saved) = cache.tokens(&key, || tokens_of(&table, options))?;
        let (sequences, tokens) = entry;
        let report = CommunityReport { tokens, ..report };
        Ok((
            Self {
                table,
                sequences,
                report,
                categories: Vec::new(),
            },
            Some(saved),
        ))
    }
}

fn tokens_of(
    table: &Table,
    options: &CommunityOptions,
) -> Result<(Sequences, TokenReport), MicrobesError> {
    match &options.fasta {
        Some(path) => Sequences::from_fasta(table.feature_ids(), path, &options.tokens),
        None => Sequences::from_ids(table.feature_ids(), &options.tokens),
    }
}

/// Draws from the samples of a table and leaves out what is empty then, without looking at sequences.
///
/// # Errors
///
/// When a count is negative or not finite, or no whole number where some are to be drawn, when several samples have
/// one name, or no sample is deep enough.
pub fn rarefied(
    table: &Table,
    options: &CommunityOptions,
) -> Result<(Table, CommunityReport), MicrobesError> {
    check_table(table)?;
    let (drawn, mut too_shallow) = if options.depth == 0 {
        (table.clone(), Vec::new())
    } else {
        let drawn = rarefy(table, options.depth, options.seed)?;
        (drawn.table, drawn.too_shallow)
    };
    let is_empty = |sample: &usize| drawn.sample(*sample).len() == 0;
    let (empty, held): (Vec<usize>, Vec<usize>) = (0..drawn.n_samples()).partition(is_empty);
    too_shallow.extend(
        empty
            .iter()
            .map(|&sample| drawn.sample_ids()[sample].clone()),
    );
    if held.is_empty() {
        let [_, median, deepest] = depths(table);
        return Err(MicrobesError::TooShallow {
            depth: options.depth,
            median,
            deepest,
        });
    }
    let table_left = with_held_features(&drawn.select(&held));
    let report = CommunityReport {
        n_read: table.n_samples(),
        n_samples: table_left.n_samples(),
        n_features: table_left.n_features(),
        depth: options.depth,
        too_shallow,
        tokens: TokenReport::default(),
    };
    Ok((table_left, report))
}

/// Refuses counts that are none, and names by which samples cannot be told apart: one of them could be learned from
/// and another judged.
fn check_table(table: &Table) -> Result<(), MicrobesError> {
    let mut seen = HashSet::new();
    for (sample, id) in table.sample_ids().iter().enumerate() {
        let bad = table
            .sample(sample)
            .find(|(_, count)| !(count.is_finite() && *count >= 0.0));
        let reason = match bad {
            Some((feature, count)) => format!(
                "sample `{id}` has {count} of feature `{}`; give counts from 0 on",
                table.feature_ids()[feature]
            ),
            None if seen.insert(id) => continue,
            None => format!("several samples are named `{id}`; rename them, or add them up"),
        };
        return Err(MicrobesError::BadTable { reason });
    }
    Ok(())
}

/// Returns the counts of the shallowest, the middle and the deepest sample of a table; zeros where it has none.
#[must_use]
pub fn depths(table: &Table) -> [f64; 3] {
    // A sum of nothing is −0.
    let total = |s: usize| table.sample(s).map(|(_, count)| count).sum::<f64>() + 0.0;
    let totals = (0..table.n_samples()).map(total);
    let mut totals: Vec<f64> = totals.collect();
    totals.sort_by(f64::total_cmp);
    let n = totals.len();
    [0, n / 2, n.saturating_sub(1)].map(|at| totals.get(at).copied().unwrap_or(0.0))
}

/// Leaves out the features that no sample holds.
fn with_held_features(table: &Table) -> Table {
    let mut is_held = vec![false; table.n_features()];
    for sample in 0..table.n_samples() {
        for (feature, _) in table.sample(sample) {
            is_held[feature] = true;
        }
    }
    let mut places = vec![0; is_held.len()];
    let mut ids = Vec::new();
    for (feature, _) in is_held.iter().enumerate().filter(|(_, held)| **held) {
        places[feature] = ids.len();
        ids.push(table.feature_ids()[feature].clone());
    }
    let places = &places;
    let entries = (0..table.n_samples()).flat_map(|s| {
        table
            .sample(s)
            .map(move |(feature, count)| (places[feature], s, count))
    });
    let kept = Table::from_entries(ids, table.sample_ids().to_vec(), entries);
    // The entries are those of a table, each once.
    kept.unwrap_or_else(|error| unreachable!("{error}"))
}
