//! Communities that are made: a known tree, known signals, a seed.

mod draws;
mod phylogeny;
mod sequences;
mod write;

use std::path::PathBuf;

use kato_neural::run::check_setting;
use kato_random::SplitMix64;
use kato_unifrac::Table;
use serde::Serialize;

use crate::error::MicrobesError;
use draws::{Weights, normal};
use phylogeny::Phylogeny;

/// How a community is made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SynthOptions {
    /// Samples; 100 by default.
    pub n_samples: usize,
    /// Sequences; 300 by default. Where they are real, at most as many as the file has.
    pub n_sequences: usize,
    /// Nucleotides of a sequence; 150 by default.
    pub length: usize,
    /// Nucleotides in front of a real sequence that are passed over; 0 by default.
    pub offset: usize,
    /// Counts of a sample at least, and at most half as many again; 5,000 by default.
    pub depth: u64,
    /// Share of the samples that a sequence may be in; 0.15 by default. Those of `single` may be in all.
    pub prevalence: f64,
    /// Share of the tips in the clade of the deep signal, as near as the tree has one; 0.3 by default.
    pub clade_share: f64,
    /// Sequences of the signal of single sequences; 4 by default.
    pub n_single: usize,
    /// How strongly `deep` and `single` act, in logarithms of abundance a standard deviation; 1 by default.
    pub effect: f64,
    /// Standard deviation of the noise in the metadata, where the signal's is 1; 0.2 by default.
    pub noise: f64,
    /// Decides every draw; 42 by default.
    pub seed: u64,
    /// FASTA file of real sequences; without one, sequences evolve along the tree.
    pub fasta: Option<PathBuf>,
    /// Newick file of the real sequences' tree; without one, they are joined by the words of six
    /// letters that they share.
    pub tree: Option<PathBuf>,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self {
            n_samples: 100,
            n_sequences: 300,
            length: 150,
            offset: 0,
            depth: 5000,
            prevalence: 0.15,
            clade_share: 0.3,
            n_single: 4,
            effect: 1.0,
            noise: 0.2,
            seed: 42,
            fasta: None,
            tree: None,
        }
    }
}

impl SynthOptions {
    /// Sets the numbers of samples and of sequences.
    #[must_use]
    pub const fn with_size(mut self, n_samples: usize, n_sequences: usize) -> Self {
        self.n_samples = n_samples;
        self.n_sequences = n_sequences;
        self
    }

    /// Sets the nucleotides of a sequence.
    #[must_use]
    pub const fn with_length(mut self, length: usize) -> Self {
        self.length = length;
        self
    }

    /// Sets the least counts of a sample.
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

    /// Takes real sequences from a FASTA file.
    #[must_use]
    pub fn with_fasta(mut self, path: impl Into<PathBuf>) -> Self {
        self.fasta = Some(path.into());
        self
    }

    /// Takes the tree of the real sequences from a Newick file.
    #[must_use]
    pub fn with_tree(mut self, path: impl Into<PathBuf>) -> Self {
        self.tree = Some(path.into());
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range; the error names it.
    pub fn check(&self) -> Result<(), MicrobesError> {
        // Joining by words takes memory that grows with the square.
        let sizes = [
            ("samples", self.n_samples, 1, 100_000, "from 1 to 100,000"),
            ("sequences", self.n_sequences, 4, 5000, "from 4 to 5,000"),
            ("length", self.length, 20, 10_000, "from 20 to 10,000"),
            (
                "single",
                self.n_single,
                1,
                self.n_sequences,
                "at least 1, and at most the sequences",
            ),
        ];
        for (name, value, least, most, expected) in sizes {
            check_setting((least..=most).contains(&value), name, &value, expected)?;
        }
        check_setting(
            (1..=10_000_000).contains(&self.depth),
            "depth",
            &self.depth,
            "from 1 to 10,000,000",
        )?;
        for (name, share) in [
            ("prevalence", self.prevalence),
            ("clade_share", self.clade_share),
        ] {
            check_setting(
                share > 0.0 && share <= 1.0,
                name,
                &share,
                "above 0 and at most 1",
            )?;
        }
        for (name, value) in [("effect", self.effect), ("noise", self.noise)] {
            check_setting((0.0..=10.0).contains(&value), name, &value, "from 0 to 10")?;
        }
        check_setting(
            self.tree.is_none() || self.fasta.is_some(),
            "tree",
            &"alone",
            "given together with the FASTA file of its tips",
        )?;
        Ok(())
    }
}

/// A community that was made.
///
/// Its metadata have three signals, each a number a sample of mean 0 and deviation about 1:
///
/// | column | what it moves |
/// |---|---|
/// | `deep` | the abundance of all sequences below one deep branch |
/// | `single` | the abundance of a few sequences that lie anywhere in the tree, and that every sample may hold |
/// | `environment` | which sequences thrive: those whose place on an axis, inherited along the tree, is near |
///
/// `deep_class` and `single_class` are `high` above 0 and `low` below.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Synthetic {
    /// The table; names of features are their sequences.
    pub table: Table,
    /// The tree, as Newick.
    pub newick: String,
    /// The metadata, as text with tabs.
    pub metadata: String,
    /// What the signals are.
    pub truth: SynthTruth,
}

/// What the signals of a community are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SynthTruth {
    /// Sequences below the branch of the deep signal.
    pub clade: Vec<String>,
    /// Sequences of the other signal, of which every second falls where the others rise.
    pub single: Vec<String>,
}

/// Makes a community; the same options give the same bits.
///
/// ```
/// use kato_microbes::synth::{SynthOptions, synth};
///
/// let options = SynthOptions::default().with_size(5, 12).with_length(40).with_depth(100);
/// let made = synth(&options)?;
/// assert_eq!((made.table.n_samples(), made.table.n_features()), (5, 12));
/// assert!(made.metadata.starts_with("sample_id\tdeep\tdeep_class\tsingle"));
/// # Ok::<(), kato_microbes::MicrobesError>(())
/// ```
///
/// # Errors
///
/// When a setting is out of its range, or the files of real sequences cannot be used.
pub fn synth(options: &SynthOptions) -> Result<Synthetic, MicrobesError> {
    options.check()?;
    let mut random = SplitMix64::from_seed(options.seed);
    let (names, tree) = match &options.fasta {
        Some(fasta) => sequences::real(fasta, options, &mut random)?,
        None => {
            let tree = Phylogeny::random(options.n_sequences, &mut random);
            (sequences::evolved(&tree, options.length, &mut random), tree)
        }
    };
    let weights = Weights::new(&tree, options, &mut random);
    let mut entries = Vec::new();
    let mut metadata =
        "sample_id\tdeep\tdeep_class\tsingle\tsingle_class\tenvironment\n".to_owned();
    let sample_ids: Vec<String> = (0..options.n_samples)
        .map(|i| format!("sample_{i:04}"))
        .collect();
    for (sample, id) in sample_ids.iter().enumerate() {
        let signals = [(); 3].map(|()| normal(&mut random));
        let counts = weights.counts(signals, options, &mut random);
        let held = counts
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0);
        entries.extend(held.map(|(feature, count)| (feature, sample, count as f64)));
        let seen = signals.map(|signal| signal + options.noise * normal(&mut random));
        metadata.push_str(&row(id, seen));
    }
    let name = |tips: &[usize]| tips.iter().map(|&tip| names[tip].clone()).collect();
    let truth = SynthTruth {
        clade: name(&weights.clade),
        single: name(&weights.single),
    };
    let newick = tree.newick(&names);
    let table = Table::from_entries(names, sample_ids, entries);
    Ok(Synthetic {
        // Each feature and sample was gone over once.
        table: table.unwrap_or_else(|error| unreachable!("{error}")),
        newick,
        metadata,
        truth,
    })
}

fn row(id: &str, [deep, single, environment]: [f64; 3]) -> String {
    let class = |signal: f64| if signal > 0.0 { "high" } else { "low" };
    let (deep_class, single_class) = (class(deep), class(single));
    format!("{id}\t{deep:.4}\t{deep_class}\t{single:.4}\t{single_class}\t{environment:.4}\n")
}
