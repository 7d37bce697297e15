//! `train --find-rate` and `train --find-batch`: settings that are found by trial.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use kato_cgroup::Cgroups;
use kato_gradient::finder::{
    BatchSizeFound, BatchSizeSettings, MemoryUse, RangeTestSettings, find_batch_size,
};
use kato_poetry::run::find_rate;
use kato_poetry::{Corpus, PoetryError, Settings};
use serde::Serialize;
use serde_json::Value;

use super::cli::TrainArguments;
use super::output::{say, say_json, tell};
use super::{Ended, Failure};

/// Chunks of a batch at most that are tried: larger ones train no better on texts of this size.
const MAX_SIZE: usize = 1024;

/// Tries learning rates and prints what they did.
pub(crate) fn rate(settings: &Settings, corpus: &Corpus, is_json: bool) -> Result<Ended, Failure> {
    let test = find_rate(settings, corpus, RangeTestSettings::default())?;
    if is_json {
        say_json(&test)?;
        return Ok(Ended::Done);
    }
    // A line a tenth of the way is enough to see the valley.
    for point in test.points.iter().step_by(10) {
        let (rate, loss) = (point.rate, point.smoothed);
        say(format_args!("rate {rate:>9.1e}  smoothed loss {loss:.4}"))?;
    }
    let Some((steepest, tenth)) = test.steepest.zip(test.tenth_of_lowest) else {
        say("the loss falls at no rate; look at the text and the vectors")?;
        return Ok(Ended::Done);
    };
    say(format_args!(
        "the loss falls fastest at {steepest:.1e} and is lowest at {:.1e}",
        10.0 * tenth
    ))?;
    // A clip keeps rates from diverging that are far too high to end a training with: the lower one.
    let base = steepest.min(tenth);
    say(format_args!(
        "--set 'training.schedule={{ kind = \"cosine-restarts\", base_rate = {base:.1e}, first_cycle = 10.0 }}'"
    ))?;
    Ok(Ended::Done)
}

/// The answer, as JSON.
#[derive(Serialize)]
struct Found {
    batch: usize,
    peak_bytes: u64,
    limit_bytes: u64,
    accumulate: usize,
    n_trials: usize,
}

/// Searches for the largest batch whose training fits into the memory and leaves a fifth of it.
///
/// Every trial is a process of its own that takes the first steps with the longest chunks: its peak is
/// its own, and one that the system kills has told that it does not fit.
pub(crate) fn batch(settings: &Settings, arguments: &TrainArguments) -> Result<Ended, Failure> {
    let limit = match arguments.memory_mib {
        Some(mebibytes) => mebibytes << 20,
        None => usable_memory().ok_or_else(|| {
            Failure::Usage("this system does not tell its memory; say --memory-mib N".to_owned())
        })?,
    };
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let pass = |size: usize| -> Result<MemoryUse, Failure> {
        let memory = trial(&given, size, limit)?;
        tell(format_args!("batch {size:>5}: {}", said(memory)));
        Ok(memory)
    };
    // Every process begins anew, so that one of them is as good as two.
    let sizes = BatchSizeSettings::default()
        .with_sizes(2, MAX_SIZE)
        .with_n_passes(1);
    let found = find_batch_size(sizes, |size| pass(size).map_err(|error| error.to_string()));
    let found = found.map_err(PoetryError::from)?;
    tell_found(
        &found,
        settings.training.batch,
        limit,
        arguments.output.json,
    )
}

/// Prints the answer.
fn tell_found(
    found: &BatchSizeFound,
    target: usize,
    limit: u64,
    is_json: bool,
) -> Result<Ended, Failure> {
    let last = found.trials.last().map(|trial| trial.memory);
    let Some(MemoryUse::Fits { peak_bytes, .. }) = last else {
        return Err(Failure::Usage("no trial told its memory".to_owned()));
    };
    let (batch, accumulate) = (found.size, found.accumulation(target));
    if is_json {
        say_json(&Found {
            batch,
            peak_bytes,
            limit_bytes: limit,
            accumulate,
            n_trials: found.trials.len(),
        })?;
        return Ok(Ended::Done);
    }
    say(format_args!(
        "{batch} chunks of the greatest length take {} of {} MiB: --batch {batch}",
        peak_bytes >> 20,
        limit >> 20
    ))?;
    if batch < target {
        say(format_args!(
            "for steps of {target} chunks: --batch {batch} --accumulate {accumulate}"
        ))?;
    }
    Ok(Ended::Done)
}

/// Takes the first steps with batches of a size, in a process of its own.
fn trial(given: &[OsString], size: usize, limit: u64) -> Result<MemoryUse, Failure> {
    let kept = given
        .iter()
        .filter(|argument| *argument != "--find-batch" && *argument != "--json");
    let output = Command::new(std::env::current_exe()?)
        .args(kept)
        .args(["--dry-run", "--json", "--set"])
        // Behind all flags, so that it counts more than any of them.
        .arg(format!("training.batch={size}"))
        .stderr(Stdio::piped())
        .output()?;
    if output.status.success() {
        let measured: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::Output(error.into()))?;
        return Ok(match measured["peak_bytes"].as_u64() {
            Some(peak) => MemoryUse::from_bytes(peak, limit),
            None => MemoryUse::FitsUnmeasured,
        });
    }
    // Killed by the system, or by the allocator: without an exit code of ours.
    if output
        .status
        .code()
        .is_none_or(|code| code == 134 || code == 137)
    {
        return Ok(MemoryUse::OutOfMemory);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Usage(format!(
        "the trial of {size} chunks failed: {}",
        said.trim()
    )))
}

/// Returns what a trial took, in words.
fn said(memory: MemoryUse) -> String {
    match memory {
        MemoryUse::Fits { peak_bytes, .. } => format!("{} MiB", peak_bytes >> 20),
        MemoryUse::OutOfMemory => "not enough memory".to_owned(),
        _ => "fits; how tightly is not told".to_owned(),
    }
}

/// Returns the memory that a training can have: what is free, or what the control group leaves.
fn usable_memory() -> Option<u64> {
    let free = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = free
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let free = kibibytes * 1024;
    let left = Cgroups::of_process(Path::new("/")).and_then(|group| {
        let used = group.memory_used().unwrap_or(0);
        Some(group.memory_limit()?.saturating_sub(used))
    });
    Some(left.map_or(free, |left| left.min(free)))
}
