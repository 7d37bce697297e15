//! Commands and their flags.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kato_neural::program::exit_codes;

use super::cli_training::{
    ExplainArguments, FollowArguments, PredictArguments, PretrainArguments, ResumeArguments,
    TrainArguments,
};

/// Learns from microbial communities: tables of 16S sequences, trees, metadata.
#[derive(Debug, Parser)]
#[command(name = "kato-microbes", version, after_help = exit_codes("kato-microbes"))]
pub(crate) struct Cli {
    /// Threads that compute; the result is the same for any number
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Says what a table, a tree and metadata hold, and what does not fit, before anything is computed
    Check(CheckArguments),
    /// Computes exact UniFrac distances of all pairs of samples, or Faith's PD
    Unifrac(UnifracArguments),
    /// Makes a community with a known tree and known signals
    Synth(SynthArguments),
    /// Predicts a column by a random forest, with nested cross-validation and intervals
    Baseline(BaselineArguments),
    /// Teaches a model how far samples are apart, and to guess hidden nucleotides
    Pretrain(Box<PretrainArguments>),
    /// Teaches a model to predict a column, from the beginning or from a pre-trained run
    Train(Box<TrainArguments>),
    /// Goes on with a run, from its newest checkpoint
    Resume(ResumeArguments),
    /// Trains along as one of the replicas of a run; `--processes` starts it
    #[command(hide = true)]
    Follow(FollowArguments),
    /// Predicts the samples of a table, with intervals
    Predict(PredictArguments),
    /// Says which sequences and branches a sample's prediction rests on
    Explain(ExplainArguments),
    /// Measures trainings, or writes one down for another program
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Pre-trains on a community that is made, with one item of the training switched at a time; prints a table
    Items(BenchItemsArguments),
    /// Writes first weights and batches of a pre-training, for the same steps in another program
    Course {
        /// Folder of the run
        run: PathBuf,
        /// Folder for the files, which is made
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BenchItemsArguments {
    /// Trainings of each item, with another seed each
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Epochs of each training
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) epochs: u64,
    /// Samples
    #[arg(long, value_name = "N", default_value_t = 80)]
    pub(crate) samples: usize,
    /// Sequences
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) sequences: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// What is done where table and tree do not fit; it is refused otherwise.
#[derive(Debug, Args)]
pub(crate) struct MatchArguments {
    /// Leaves features that are no tips of the tree out of what is computed over it
    #[arg(long, requires = "tree")]
    pub(crate) prune: bool,
    /// Leaves out samples that hold nothing of the tree
    #[arg(long, requires = "tree")]
    pub(crate) without_empty: bool,
    /// Counts absent and negative lengths as zero
    #[arg(long, requires = "tree")]
    pub(crate) lengths_as_zero: bool,
}

/// How a table is made ready.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// Counts drawn from each sample; those that hold less are left out. 0 takes all as they are
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) depth: u64,
    /// Seed of every draw
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
}

/// Where results are kept.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    /// Folder of results that were computed before; by default `kato-microbes` in the user's cache
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Mebibytes that the cache may take; the longest unused go first
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) cache_limit: u64,
    /// Computes everything anew and keeps nothing
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Tree in Newick
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Metadata with tabs
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: Option<PathBuf>,
    /// Sequences of the features, where their names are none
    #[arg(long, value_name = "FILE")]
    pub(crate) fasta: Option<PathBuf>,
    /// Nucleotides of a sequence that are read at most
    #[arg(long, value_name = "N", default_value_t = 150)]
    pub(crate) max_bp: usize,
    #[command(flatten)]
    pub(crate) options: TableArguments,
    #[command(flatten)]
    pub(crate) fit: MatchArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// The distances that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    Unweighted,
    Weighted,
    Normalized,
    Generalized,
    /// No distance: the length of all branches of each sample
    FaithPd,
}

#[derive(Debug, Args)]
pub(crate) struct UnifracArguments {
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Tree in Newick
    #[arg(value_name = "TREE")]
    pub(crate) tree: PathBuf,
    /// Distance
    #[arg(long, value_name = "METRIC", value_enum, default_value_t = MetricName::Unweighted)]
    pub(crate) metric: MetricName,
    /// Weight of abundant lineages, from 0 to 1, in the generalised distance
    #[arg(long, value_name = "A")]
    pub(crate) alpha: Option<f64>,
    /// File for the result: `.tsv`, `.npy` (names go beside it, `.ids.txt`) or `.h5`; Faith's PD is text
    /// with tabs
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Counts drawn from each sample first; all as they are without it, or with 0
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u64>,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 42, requires = "depth")]
    pub(crate) seed: u64,
    /// Mebibytes of memory beside table and tree
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) memory: usize,
    #[command(flatten)]
    pub(crate) fit: MatchArguments,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SynthArguments {
    /// Folder for `table.biom`, `tree.nwk`, `metadata.tsv` and `truth.json`, which is made
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Samples
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) samples: usize,
    /// Sequences
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) sequences: usize,
    /// Nucleotides of a sequence
    #[arg(long, value_name = "N", default_value_t = 150)]
    pub(crate) length: usize,
    /// Counts of a sample at least
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) depth: u64,
    /// How strongly `deep` and `single` act; 0 for not at all
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) effect: f64,
    /// Share of the samples that a sequence may be in; those of `single` may be in all
    #[arg(long, value_name = "SHARE", default_value_t = 0.15)]
    pub(crate) prevalence: f64,
    /// Real sequences to draw from; without them, sequences evolve along a random tree
    #[arg(long, value_name = "FILE")]
    pub(crate) fasta: Option<PathBuf>,
    /// Tree of the real sequences; without it, they are joined by the words that they share
    #[arg(long, value_name = "FILE", requires = "fasta")]
    pub(crate) tree: Option<PathBuf>,
    /// Nucleotides in front of a real sequence that are passed over
    #[arg(long, value_name = "N", default_value_t = 0, requires = "fasta")]
    pub(crate) offset: usize,
    /// Seed of every draw
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// What is predicted.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Metadata with tabs
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: PathBuf,
    /// Column to predict
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: String,
    /// Takes numbers in the column for classes
    #[arg(long)]
    pub(crate) classes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArguments {
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    #[command(flatten)]
    pub(crate) options: TableArguments,
    /// Trees of a forest
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) trees: u16,
    /// Folds that predictions are made for
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) folds: usize,
    /// File for the predictions, with tabs
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
