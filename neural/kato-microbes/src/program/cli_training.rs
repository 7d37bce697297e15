//! Flags of the commands that train a model and ask it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::cli::{CacheArguments, MatchArguments, MetricName, OutputArguments, TargetArguments};

/// Settings of a run.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Folder of the run, which is made
    #[arg(long, value_name = "RUN", required_unless_present_any = ["dry_run", "find_batch"])]
    pub(crate) out: Option<PathBuf>,
    /// TOML file of settings; flags count more
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Any setting by its name in the file, such as `--set model.selection=random`
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Counts drawn from each sample; those that hold less are left out. 0 takes all as they are
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u64>,
    /// Sequences of the features, where their names are none
    // Text, as it goes into a file of settings: another path could not be kept there.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) fasta: Option<String>,
    /// Nucleotides of a sequence that are read at most
    #[arg(long, value_name = "N")]
    pub(crate) max_bp: Option<usize>,
    /// Numbers of a row
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,
    /// Sequences of a sample that are read at most
    #[arg(long, value_name = "N")]
    pub(crate) max_sequences: Option<usize>,
    /// Epochs at most
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u64>,
    /// Samples of a batch
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// The highest learning rate
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<f64>,
    /// Metric that chooses the best epoch: `val_loss`, `r2`, `mae`, `accuracy` or `f1`
    #[arg(long, value_name = "METRIC")]
    pub(crate) best: Option<String>,
    /// Number format of products: `f32` or `bf16`
    #[arg(long, value_name = "FORMAT")]
    pub(crate) precision: Option<String>,
    /// Replicas of the model that share the sequences of each step
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<usize>,
    /// Runs the replicas as processes rather than threads; they share the threads of `--threads`
    #[arg(long, requires = "replicas")]
    pub(crate) processes: bool,
    /// Divides the weights of blocks, their gradients and the optimiser's state among the replicas
    #[arg(long, requires = "replicas")]
    pub(crate) sharded: bool,
    /// Tokens of sequences that each replica encodes at once at most, padding included; the rest waits
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens_at_once: Option<usize>,
    /// Seed of the samples' draw, of weights, order and masks
    // A file of settings holds no larger one, and another would be another training.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Measures three batches, prints what the run will take, and writes nothing but the cache
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Searches for the largest batch that fits into the memory with room left, and writes nothing but the cache
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) find_batch: bool,
    /// Memory for `--find-batch`; what is free by default
    #[arg(long, value_name = "MIB", requires = "find_batch")]
    pub(crate) memory_mib: Option<u64>,
    #[command(flatten)]
    pub(crate) cache: CacheArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PretrainArguments {
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Tree in Newick, over which distances are computed
    #[arg(long, value_name = "FILE", required_unless_present = "distances")]
    pub(crate) tree: Option<PathBuf>,
    /// Distance that is computed: `unweighted` or `normalized`
    #[arg(long, value_name = "METRIC", value_enum, default_value_t = MetricName::Unweighted, conflicts_with = "distances")]
    pub(crate) metric: MetricName,
    /// Distances that were computed before, at most 1: `.npy`, `.h5`, `.tsv`, `.txt` or `.csv`
    #[arg(long, value_name = "FILE", conflicts_with = "tree")]
    pub(crate) distances: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fit: MatchArguments,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArguments {
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    /// Column of the metadata that the model is told beside the sequences; more than one by repeating it
    #[arg(long, value_name = "COLUMN")]
    pub(crate) categorical: Vec<String>,
    /// Run of `pretrain` whose model this one begins as, with the shape that it has
    #[arg(long, value_name = "RUN")]
    pub(crate) pretrained: Option<PathBuf>,
    /// Leaves the pre-trained part as it is
    #[arg(long, requires = "pretrained")]
    pub(crate) freeze: bool,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Which run a process trains along, that another one has begun.
#[derive(Debug, Args)]
pub(crate) struct FollowArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
}

/// Samples that a run is asked about.
#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Table: BIOM 2.1, BIOM 1.0, or text with tabs
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Sequences of the features, where their names are none
    #[arg(long, value_name = "FILE")]
    pub(crate) fasta: Option<PathBuf>,
    /// Metadata with tabs, where the model is told columns of them
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: Option<PathBuf>,
    /// Counts drawn from each sample, if not as many as in the run
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    #[command(flatten)]
    pub(crate) ask: AskArguments,
    /// File for the predictions, with tabs; standard output without it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Passes over other sequences of samples that hold more than are read at once
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) passes: NonZeroUsize,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) ask: AskArguments,
    /// Sample to explain
    #[arg(long, value_name = "ID")]
    pub(crate) sample: String,
    /// Sequences, and branches, that are shown at most; as many are left out one by one
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Tree in Newick whose branches are left out as well, each with all features below it
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
}
