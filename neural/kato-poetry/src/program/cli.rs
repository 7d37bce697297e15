//! Commands and their flags.

mod train;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use kato_neural::program::exit_codes;

pub(crate) use train::{TextArguments, TrainArguments};

/// Trains an autoencoder of poems over word vectors, and asks it.
#[derive(Debug, Parser)]
#[command(name = "kato-poetry", version, after_help = exit_codes("kato-poetry"))]
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
    /// Trains a model on texts
    Train(Box<TrainArguments>),
    /// Goes on with a run, from its newest checkpoint
    Resume(ResumeArguments),
    /// Shows poems beside what the model makes of them
    Reconstruct(ReconstructArguments),
    /// Writes one vector a poem to a file of NumPy's format
    Encode(EncodeArguments),
    /// Shows which poems of the run lie close to a text
    Neighbours(NeighboursArguments),
    /// Shows what lies between two poems
    Walk(WalkArguments),
    /// Shows two runs side by side
    Compare(CompareArguments),
    /// Measures how fast this machine is, or writes a run's steps down for another program
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Training steps of two sizes on random chunks
    Train(BenchTrainArguments),
    /// The reading of a file of word vectors
    Glove(BenchGloveArguments),
    /// Writes first weights, order and draws of a run, for the same steps in another program
    Course(BenchCourseArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BenchTrainArguments {
    /// Steps of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) steps: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct BenchGloveArguments {
    /// File of word vectors
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Readings with each number of threads, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct BenchCourseArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Folder for the files, which is made
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Steps of the first epoch that are taken for their losses
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) losses: usize,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Prints the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Epochs in all, those that are done included; the run keeps it
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReconstructArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Text to rebuild; `-` is standard input. Without one, the poems that the run held back for its
    /// test, or for validation where there are none
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<PathBuf>,
    /// Poems at most
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) unit: TextArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Texts to encode; without one, all poems of the run
    #[arg(long = "text", value_name = "TEXT")]
    pub(crate) texts: Vec<PathBuf>,
    /// File for the vectors, `.npy`; names of the poems go beside it, `.json`
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) unit: TextArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NeighboursArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// A poem: the words themselves, a file, or `-` for standard input
    #[arg(value_name = "POEM")]
    pub(crate) poem: String,
    /// Neighbours at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WalkArguments {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The first poem: the words themselves, or a file
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The last poem: the words themselves, or a file
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Texts, both ends included; at least two
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) steps: u16,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub(crate) first: PathBuf,
    /// Folder of another run
    #[arg(value_name = "OTHER")]
    pub(crate) second: PathBuf,
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
