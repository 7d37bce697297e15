//! Graphics processors, by their vendors' tools.

mod amd;
mod apple;
mod nvidia;

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tool::{Answer, ask};
use crate::figure::Finding;

/// Graphics processors by vendor. A list is empty if the tool says that there are none, and unknown
/// where nothing tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gpus {
    /// By `nvidia-smi`.
    pub nvidia: Finding<Vec<Gpu>>,
    /// By `amd-smi`, or `rocm-smi` where that gives nothing, or the kernel where neither does.
    pub amd: Finding<Vec<Gpu>>,
    /// By `system_profiler`.
    pub apple: Finding<Vec<Gpu>>,
}

/// A graphics processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gpu {
    /// The product's name.
    pub name: String,
    /// Its own memory, in bytes.
    pub memory_bytes: Finding<u64>,
    /// The driver's version.
    pub driver: Finding<String>,
}

impl Gpus {
    /// Asks all tools at once, each for at most `limit`.
    ///
    /// One after the other, a tool that hangs would take the time of the others.
    pub(crate) fn read(directory: Option<&Path>, limit: Duration) -> Self {
        thread::scope(|scope| {
            let spawn = |work: fn(Option<&Path>, Duration) -> Finding<Vec<Gpu>>| {
                thread::Builder::new().spawn_scoped(scope, move || work(directory, limit))
            };
            let asked = [spawn(nvidia), spawn(amd), spawn(apple)];
            let [nvidia, amd, apple] =
                asked.map(|asking| match asking.map(|thread| thread.join()) {
                    Ok(Ok(found)) => found,
                    Ok(Err(_)) => Finding::unknown("asking the tool failed unexpectedly"),
                    Err(error) => Finding::unknown(format!(
                        "no thread could be started ({error}): raise the limit of processes"
                    )),
                });
            Self { nvidia, amd, apple }
        })
    }

    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            nvidia: Finding::unknown(reason),
            amd: Finding::unknown(reason),
            apple: Finding::unknown(reason),
        }
    }
}

/// Asks `nvidia-smi`.
fn nvidia(directory: Option<&Path>, limit: Duration) -> Finding<Vec<Gpu>> {
    let answer = ask(directory, "nvidia-smi", &nvidia::ARGUMENTS, limit);
    read(answer, "nvidia-smi", nvidia::parse)
}

/// Asks `amd-smi`, then `rocm-smi`, then the kernel.
fn amd(directory: Option<&Path>, limit: Duration) -> Finding<Vec<Gpu>> {
    // Half of the time for each of the two, because they are asked one after the other.
    match ask(directory, "amd-smi", &amd::AMD_SMI_ARGUMENTS, limit / 2) {
        Ok(answer) if answer.is_success => read(Ok(answer), "amd-smi", amd::parse_amd_smi),
        _ => {
            let answer = ask(directory, "rocm-smi", &amd::ROCM_SMI_ARGUMENTS, limit / 2);
            let found = read(answer, "rocm-smi", amd::parse_rocm_smi);
            // Where all fail, the reason of the last tool is as good as any.
            match (found.known(), amd::read_sysfs(Path::new("/"))) {
                (None, Some(gpus)) => Finding::Known(gpus),
                _ => found,
            }
        }
    }
}

/// Asks `system_profiler`.
fn apple(directory: Option<&Path>, limit: Duration) -> Finding<Vec<Gpu>> {
    let answer = ask(directory, "system_profiler", &apple::ARGUMENTS, limit);
    read(answer, "system_profiler", apple::parse)
}

/// Reads an answer; `parse` returns `None` for text that it does not understand.
fn read(
    answer: Result<Answer, String>,
    tool: &str,
    parse: impl Fn(&str) -> Option<Vec<Gpu>>,
) -> Finding<Vec<Gpu>> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(reason) => return Finding::unknown(reason),
    };
    let first = answer.text.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("nothing").trim();
    match parse(&answer.text) {
        // Tools that find no device say so, some of them with a failing exit status.
        Some(gpus) if answer.is_success || gpus.is_empty() => Finding::Known(gpus),
        _ if answer.is_success => Finding::unknown(format!(
            "{tool} answered something not understood, beginning {first:?}"
        )),
        _ => Finding::unknown(format!(
            "{tool} failed, saying {first:?}: see to its driver"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_success: bool, text: &str) -> Result<Answer, String> {
        Ok(Answer {
            is_success,
            text: text.to_owned(),
        })
    }

    #[test]
    fn no_device_is_an_empty_list_and_no_driver_is_unknown() {
        let none = read(
            answer(false, "No devices were found\n"),
            "nvidia-smi",
            nvidia::parse,
        );
        assert_eq!(none, Finding::Known(Vec::new()));
        let text =
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n";
        let broken = read(answer(false, text), "nvidia-smi", nvidia::parse);
        assert!(broken.reason().unwrap().contains("couldn't communicate"));
        let odd = read(answer(true, "<html>"), "amd-smi", amd::parse_amd_smi);
        assert!(odd.reason().unwrap().contains("not understood"));
    }
}
