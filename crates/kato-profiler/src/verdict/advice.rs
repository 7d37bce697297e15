//! Writes what to change, in words.

use super::Cause;
use crate::summary::{ProfilingSummary, StageSummary};

/// Returns a share as text.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns what to change about a cause.
pub(crate) fn advice(cause: Cause, summary: &ProfilingSummary, stage: &StageSummary) -> String {
    let name = &stage.name;
    match cause {
        Cause::Idle if summary.stages.is_empty() => {
            "No stage was marked and no resource was used up. Give the pipeline a probe to see what its threads wait for."
                .to_owned()
        }
        Cause::Idle => "Nothing to change.".to_owned(),
        Cause::Cpu => cpu(summary, stage),
        Cause::CpuContention if summary.cpu.throttled_seconds.unwrap_or(0.0) > 0.0 => {
            "Raise the cgroup's processor quota, or use no more threads than it allows.".to_owned()
        }
        Cause::CpuContention => {
            "Stop what else runs on this machine, or give the process cores of its own; more threads do not help.".to_owned()
        }
        Cause::Lock => format!(
            "Hold the lock of stage \"{name}\" for a shorter time, split it, or use fewer threads: more of them only wait longer."
        ),
        Cause::DiskThroughput => format!(
            "Use a faster disk for stage \"{name}\", or move fewer bytes: compress them, or keep what is read again in memory."
        ),
        Cause::DiskFlush => format!(
            "Make stage \"{name}\" flush less often, with more items to a flush, or use a disk that flushes faster."
        ),
        Cause::Server => format!(
            "Make the server faster or add another one: stage \"{name}\" sends it work as fast as it answers."
        ),
        Cause::Latency => format!(
            "Keep more calls of stage \"{name}\" on their way at a time, put more items into a call, or move nearer to the server."
        ),
        Cause::MemoryPressure => {
            "Give the process more memory (machine or cgroup limit), or lower cache and batch sizes.".to_owned()
        }
        Cause::Skew => format!(
            "Spread the work of stage \"{name}\" evenly: smaller pieces, or threads that take over what others have not begun."
        ),
        Cause::Source => {
            "Read ahead with more readers, or move the input nearer: local files, a faster network, less compression.".to_owned()
        }
        Cause::Unmarked => format!(
            "Mark the waits of stage \"{name}\" (kato_probe::thread::waiting), so that the next profile can tell them apart."
        ),
    }
}

/// Returns what to change about a stage that computes.
fn cpu(summary: &ProfilingSummary, stage: &StageSummary) -> String {
    let name = &stage.name;
    // By this process's own use: what others take of these cores is not known here.
    let free = summary
        .cpu
        .allowed_cores
        .zip(summary.cpu.cores)
        .map(|(allowed, used)| allowed - used.mean);
    match free {
        Some(free) if free >= 0.5 => format!(
            "Give stage \"{name}\" more threads: {free:.1} of the allowed cores are free. Or do less work for each item."
        ),
        Some(_) => format!(
            "All allowed cores are in use: give the process more cores, or do less work for each item of stage \"{name}\"."
        ),
        None => format!("Give stage \"{name}\" more threads, or do less work for each item."),
    }
}
