//! The largest batch that fits into memory, found by trials that are processes of their own.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use kato_advice::ErrorClass;
use kato_gradient::GradientError;
use kato_gradient::finder::{BatchSizeFound, BatchSizeSettings, MemoryUse, find_batch_size};
use kato_probe::process::available_bytes;
use serde::Serialize;
use serde_json::Value;

use super::beside::output_unless_interrupted;

/// The flag by which a program is asked for the search.
const FLAG: &str = "--find-batch";

/// Why no size was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchTrialError {
    /// The limit is not known.
    #[error("this system does not tell its memory; say --memory-mib N")]
    Unknown,
    /// No trial could be started.
    #[error("the program cannot be started once more")]
    Start {
        /// Why.
        #[from]
        source: io::Error,
    },
    /// A trial failed for another reason than memory.
    #[error("the trial of a batch of {size} failed: {said}")]
    Failed {
        /// The batch.
        size: usize,
        /// What it said.
        said: String,
        /// What the user can do about it, by its exit code.
        class: ErrorClass,
    },
    /// Somebody asked to end it.
    #[error("interrupted: give the same command again")]
    Interrupted,
    /// No size fits, the smallest included.
    #[error("no batch fits into {} MiB", limit >> 20)]
    None {
        /// The bytes that there are.
        limit: u64,
        /// What the search says.
        #[source]
        source: GradientError,
    },
}

impl BatchTrialError {
    /// Returns what the user can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Start { source } => ErrorClass::of_io(source.kind()),
            Self::None { .. } => ErrorClass::NoRoom,
            Self::Failed { class, .. } => *class,
            Self::Unknown => ErrorClass::Usage,
            Self::Interrupted => ErrorClass::Interrupted,
        }
    }
}

/// The answer, whose last trial was a run of just this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BatchFound {
    /// The batch.
    pub batch: usize,
    /// The most memory of the process that tried it; `None` where the system does not tell.
    pub peak_bytes: Option<u64>,
    /// The memory that there is.
    pub limit_bytes: u64,
    /// Batches of a step that make up the batch that was asked for.
    pub accumulate: usize,
    /// Processes that tried a size.
    pub n_trials: usize,
}

/// Searches for the largest batch, from 2 to `most`, whose first steps fit into the memory and leave a
/// fifth of it; of the memory that is given, or of what is free.
///
/// Every trial is this program once more, with its own arguments, `--dry-run --json` in the place of
/// `--find-batch` and `--set training.batch=SIZE` behind them, and has to print `peak_bytes`. Its peak is
/// its own, and one that the system kills has told that it does not fit. Each is told as it ends. Once
/// `interrupt` is set, the trial is ended, and the search with it.
///
/// # Errors
///
/// When the limit is not known, a trial fails for another reason than memory, or the search is interrupted.
pub fn find_batch(
    wanted: usize,
    most: usize,
    limit_mib: Option<u64>,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<BatchFound, BatchTrialError> {
    let limit = match limit_mib {
        Some(mebibytes) => mebibytes.saturating_mul(1 << 20),
        None => available_bytes().ok_or(BatchTrialError::Unknown)?,
    };
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Every process begins anew, so that one of them is as good as two.
    let sizes = BatchSizeSettings::default()
        .with_sizes(2, most)
        .with_n_passes(1);
    let mut failed = None;
    let found = find_batch_size(sizes, |size| match trial(&given, size, limit, interrupt) {
        Ok(memory) => {
            tell(&format!("batch {size:>5}: {}", said(memory)));
            Ok(memory)
        }
        Err(error) => {
            let text = error.to_string();
            failed = Some(error);
            Err(text)
        }
    });
    let found: BatchSizeFound = match (found, failed) {
        (_, Some(error)) => return Err(error),
        (Err(source), None) => return Err(BatchTrialError::None { limit, source }),
        (Ok(found), None) => found,
    };
    let peak_bytes = found.trials.last().and_then(|trial| match trial.memory {
        MemoryUse::Fits { peak_bytes, .. } => Some(peak_bytes),
        _ => None,
    });
    Ok(BatchFound {
        batch: found.size,
        peak_bytes,
        limit_bytes: limit,
        accumulate: found.accumulation(wanted),
        n_trials: found.trials.len(),
    })
}

impl BatchFound {
    /// Says the answer in flags, of a batch of such items, for steps of as many as were `wanted`, with
    /// the flags that accumulating wants besides.
    #[must_use]
    pub fn to_text(&self, items: &str, wanted: usize, besides: &str) -> String {
        let Self {
            batch, accumulate, ..
        } = self;
        let taken = self.peak_bytes.map_or_else(
            || "fit".to_owned(),
            |peak| format!("take {} of {} MiB", peak >> 20, self.limit_bytes >> 20),
        );
        let mut text = format!("{batch} {items} {taken}: --batch {batch}");
        if *batch < wanted {
            text.push_str(&format!(
                "\nfor steps of {wanted}: --batch {batch} --set training.accumulate={accumulate}{besides}"
            ));
        }
        text
    }
}

/// Returns what a trial took, in words.
fn said(memory: MemoryUse) -> String {
    match memory {
        MemoryUse::Fits { peak_bytes, .. } => format!("{} MiB", peak_bytes >> 20),
        MemoryUse::OutOfMemory => "not enough memory".to_owned(),
        _ => "fits; how tightly is not told".to_owned(),
    }
}

/// Takes the first steps with batches of a size, in a process of its own.
fn trial(
    given: &[OsString],
    size: usize,
    limit: u64,
    interrupt: &AtomicBool,
) -> Result<MemoryUse, BatchTrialError> {
    let kept = given
        .iter()
        .filter(|argument| *argument != FLAG && *argument != "--json");
    let mut program = Command::new(std::env::current_exe()?);
    program
        .args(kept)
        .args(["--dry-run", "--json", "--set"])
        // Behind all flags, so that it counts more than any of them.
        .arg(format!("training.batch={size}"));
    let output = output_unless_interrupted(&mut program, interrupt)?;
    let output = output.ok_or(BatchTrialError::Interrupted)?;
    if output.status.success() {
        let measured: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| BatchTrialError::Start {
                source: error.into(),
            })?;
        return Ok(match measured["peak_bytes"].as_u64() {
            Some(peak) => MemoryUse::from_bytes(peak, limit),
            None => MemoryUse::FitsUnmeasured,
        });
    }
    failed(size, output.status.code(), &output.stderr)
}

/// Says what a trial that failed tells: that the memory is too small, or why it failed otherwise.
fn failed(size: usize, code: Option<i32>, stderr: &[u8]) -> Result<MemoryUse, BatchTrialError> {
    match code {
        // Killed by the system, or by the allocator: without an exit code of ours.
        None | Some(134 | 137) => Ok(MemoryUse::OutOfMemory),
        Some(code) => Err(BatchTrialError::Failed {
            size,
            said: String::from_utf8_lossy(stderr).trim().to_owned(),
            class: ErrorClass::of_exit_code(code).unwrap_or(ErrorClass::Other),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_fails_has_the_class_of_its_exit_code() {
        for class in ErrorClass::ALL {
            let code = i32::from(class.exit_code());
            let error = failed(4, Some(code), b"error: why\n").expect_err("it is not memory");
            assert_eq!(error.class(), class);
            assert!(
                error.to_string().contains("4 failed: error: why"),
                "{error}"
            );
        }
        // A panic has no class.
        let panic = failed(4, Some(101), b"").expect_err("it is not memory");
        assert_eq!(panic.class(), ErrorClass::Other);
        for killed in [None, Some(134), Some(137)] {
            assert!(matches!(failed(4, killed, b""), Ok(MemoryUse::OutOfMemory)));
        }
    }

    #[test]
    fn flags_lead_to_steps_of_what_was_wanted() {
        let found = BatchFound {
            batch: 16,
            peak_bytes: Some(3 << 20),
            limit_bytes: 4 << 20,
            accumulate: 3,
            n_trials: 5,
        };
        let text = "16 poems take 3 of 4 MiB: --batch 16";
        assert_eq!(found.to_text("poems", 16, " --more"), text);
        assert_eq!(
            found.to_text("poems", 48, " --more"),
            format!("{text}\nfor steps of 48: --batch 16 --set training.accumulate=3 --more")
        );
    }
}
