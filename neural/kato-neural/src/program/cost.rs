//! Prints what a run will take.

use std::time::Duration;

use indicatif::FormattedDuration;

use super::{CommandFailure, say};
use crate::run::RunCost;

/// Prints what a run over so many items will take.
///
/// # Errors
///
/// When standard output cannot be written to.
pub fn say_cost(items: &str, n_items: usize, cost: &RunCost) -> Result<(), CommandFailure> {
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    say(format_args!("parameters  {:>12}", cost.n_parameters))?;
    say(format_args!("{items:<11} {n_items:>12}"))?;
    say(format_args!("steps       {:>12}", cost.n_steps))?;
    say(format_args!("a step      {:>10.1} ms", cost.step_s * 1e3))?;
    say(format_args!(
        "validation  {:>10.1} s an epoch",
        cost.judge_s
    ))?;
    match cost.peak_bytes {
        Some(bytes) => say(format_args!("memory      {:>10.0} MiB", mebibytes(bytes)))?,
        None => say("memory           unknown: this system does not tell")?,
    }
    say(format_args!(
        "checkpoint  {:>10.1} MiB each, up to four",
        mebibytes(cost.checkpoint_bytes)
    ))?;
    // One that no clock can show is too long in any case.
    let time = Duration::try_from_secs_f64(cost.hours * 3600.0).unwrap_or(Duration::MAX);
    let time = FormattedDuration(time).to_string();
    say(format_args!(
        "time        {time:>12}, if nothing stops it early"
    ))
}
