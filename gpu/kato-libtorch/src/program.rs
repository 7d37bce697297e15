//! What the program does: `measure`, `steps`, `golden`.

mod autoencoder;
mod golden;
mod measure;
mod microbes;
mod steps;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tch::Device;

use crate::Error;

/// The models that are trained by gradients, over LibTorch.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Program {
    /// Where tensors lie.
    #[arg(long, global = true, value_enum, default_value_t = Place::Cuda)]
    device: Place,
    /// Threads of LibTorch on the processor; its own choice if left out.
    #[arg(long, global = true)]
    threads: Option<i32>,
    #[command(subcommand)]
    command: Command,
}

/// Where tensors lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Place {
    /// The processor.
    Cpu,
    /// The first NVIDIA GPU.
    Cuda,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints how many steps a second a model trains, one line of JSON a configuration.
    #[command(subcommand)]
    Measure(Measure),
    /// Repeats recorded steps of the autoencoder and compares losses; exit code 1 if they differ.
    Steps(steps::StepsOptions),
    /// Writes losses and gradients of small autoencoders, for tests of other engines.
    Golden {
        /// The safetensors file.
        file: PathBuf,
        /// Seed of weights and vectors; the default is that of the file in the repository.
        #[arg(long, default_value_t = 8)]
        seed: i64,
    },
}

#[derive(Debug, Subcommand)]
enum Measure {
    /// The sequence autoencoder.
    Autoencoder(autoencoder::AutoencoderArguments),
    /// The transformer over 16S samples.
    Microbes(microbes::MicrobesArguments),
}

impl Program {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// When there is no GPU where one was asked for, a file cannot be used, or LibTorch refuses.
    pub fn run(&self) -> Result<ExitCode, Error> {
        let device = self.device.find()?;
        if let Some(threads) = self.threads {
            tch::set_num_threads(threads);
        }
        tch::manual_seed(1);
        match &self.command {
            Command::Measure(Measure::Autoencoder(arguments)) => arguments.run(device)?,
            Command::Measure(Measure::Microbes(arguments)) => arguments.run(device)?,
            Command::Steps(options) => return options.run(device),
            Command::Golden { file, seed } => {
                tch::manual_seed(*seed);
                golden::write(file, device)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Place {
    fn find(self) -> Result<Device, Error> {
        match self {
            Self::Cpu => Ok(Device::Cpu),
            Self::Cuda if tch::Cuda::is_available() => Ok(Device::Cuda(0)),
            Self::Cuda => Err(Error::NoCuda("take `--device cpu`")),
        }
    }
}

/// Prints one line of JSON.
#[expect(
    clippy::print_stdout,
    reason = "lines of JSON are what the program makes"
)]
fn print(line: &impl serde::Serialize) {
    let text = serde_json::to_string(line).expect("plain fields become JSON");
    println!("{text}");
}
