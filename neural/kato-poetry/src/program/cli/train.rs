//! The flags of `train`, and those that say what a poem is.

use std::path::PathBuf;

use clap::Args;

use super::OutputArguments;

/// How texts become poems.
#[derive(Debug, Args)]
pub(crate) struct TextArguments {
    /// What a poem is in a text: `paragraph` (lines between blank lines), `gap` (lines between two
    /// or more blank lines in a row) or `file`
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Takes a single line in front of a poem for its title
    #[arg(long)]
    pub(crate) titles: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArguments {
    /// Files, directories or globs of text, JSON Lines or CSV, or JSON arrays of poems
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) texts: Vec<PathBuf>,
    /// Folder of the run, which is made
    #[arg(long, value_name = "RUN", required_unless_present_any = ["dry_run", "find_rate", "find_batch"])]
    pub(crate) out: Option<PathBuf>,
    /// TOML file of settings; flags count more
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Any setting by its name in the file, such as `--set loss.kind=cosine`
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// File of word vectors, as GloVe's; without one they are made from the text
    // Text, as it goes into a file of settings: another path could not be kept there.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) vectors: Option<String>,
    /// Numbers of a word vector that is made
    #[arg(long, value_name = "N", conflicts_with = "vectors")]
    pub(crate) dims: Option<usize>,
    /// Recurrent cell: `vanilla`, `gru` or `lstm`
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// Numbers of a recurrent state
    #[arg(long, value_name = "N")]
    pub(crate) hidden: Option<usize>,
    /// Recurrent layers of encoder and decoder each
    #[arg(long, value_name = "N")]
    pub(crate) layers: Option<usize>,
    /// Numbers of a chunk's code
    #[arg(long, value_name = "N")]
    pub(crate) bottleneck: Option<usize>,
    /// Epochs at most
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u64>,
    /// Chunks of a batch
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// How chunks become batches: `shuffled`, `bucketed` or `token-budget`
    #[arg(long, value_name = "KIND")]
    pub(crate) batching: Option<String>,
    /// Batches that make up one step
    #[arg(long, value_name = "N")]
    pub(crate) accumulate: Option<usize>,
    /// Threads that make batches ahead; 0 for none
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// Batches that each of them keeps ready
    #[arg(long, value_name = "N")]
    pub(crate) prefetch: Option<usize>,
    /// What is made small: `cosine`, `mse`, `sequence-cosine`, `token` or `hybrid`
    #[arg(long, value_name = "KIND")]
    pub(crate) loss: Option<String>,
    /// Learning rate that stays, in the place of cosines with restarts
    #[arg(long, value_name = "RATE")]
    pub(crate) constant_rate: Option<f64>,
    /// Share of the steps at which the decoder gets the true word before
    #[arg(long, value_name = "SHARE")]
    pub(crate) forcing: Option<f64>,
    /// Norm of all gradients at most; 0 for no bound
    #[arg(long, value_name = "NORM")]
    pub(crate) clip: Option<f64>,
    /// Weight of the codes' mean square; 0 for no penalty
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) penalty: Option<f64>,
    /// Epochs without improvement after which training stops; 0 for never
    #[arg(long, value_name = "N")]
    pub(crate) patience: Option<u32>,
    /// When checkpoints are written: `background` or `blocking`
    #[arg(long, value_name = "WHEN")]
    pub(crate) checkpoints: Option<String>,
    /// When arrays for other programs are written: `background` or `blocking`
    #[arg(long, value_name = "WHEN")]
    pub(crate) artifacts: Option<String>,
    /// Number format of products: `f32` or `bf16`
    #[arg(long, value_name = "FORMAT")]
    pub(crate) precision: Option<String>,
    /// Seed of weights, order and draws
    // A file of settings holds no larger one, and another would be another training.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Measures three batches, prints what the run will take, and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Tries learning rates on the first steps, prints where the loss falls, and writes nothing
    #[arg(long, conflicts_with_all = ["dry_run", "find_batch"])]
    pub(crate) find_rate: bool,
    /// Searches for the largest batch that fits into the memory with room left, and writes nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) find_batch: bool,
    /// Memory for `--find-batch`; what is free by default
    #[arg(long, value_name = "MIB", requires = "find_batch")]
    pub(crate) memory_mib: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}
