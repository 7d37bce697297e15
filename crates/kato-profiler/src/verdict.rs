//! Decides what bounds a run: the judge, and what it concludes.

mod advice;
mod attribution;
mod finding;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use attribution::Attribution;

/// Why a run is not faster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Nothing: there was nothing to do.
    #[default]
    Idle,
    /// The stage computes.
    Cpu,
    /// The stage wants to compute, but others or a quota have the processors.
    CpuContention,
    /// Its threads wait for each other's locks.
    Lock,
    /// It waits for a disk that moves many bytes.
    DiskThroughput,
    /// It waits for a disk to make few bytes durable.
    DiskFlush,
    /// It waits for a server that takes long.
    Server,
    /// It waits for many short round trips, one at a time.
    Latency,
    /// The machine or the cgroup is short of memory.
    MemoryPressure,
    /// One of its threads works while the others have nothing to do.
    Skew,
    /// The input comes too slowly; all stages wait for it.
    Source,
    /// It waits for something that no mark and no counter tells.
    Unmarked,
}

impl Cause {
    /// Returns a few words for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Cpu => "computing",
            Self::CpuContention => "waiting for a processor",
            Self::Lock => "waiting for a lock",
            Self::DiskThroughput => "disk throughput",
            Self::DiskFlush => "disk flushes",
            Self::Server => "a slow server",
            Self::Latency => "network latency",
            Self::MemoryPressure => "memory pressure",
            Self::Skew => "uneven work",
            Self::Source => "a slow source",
            Self::Unmarked => "an unmarked wait",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What bounds a run, why that is believed, and what to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// The stage, if it is one.
    pub stage: Option<String>,
    /// Why it is no faster.
    pub cause: Cause,
    /// How sure this is, 0 to 1: how fully the stage is used, by how far the cause outweighs the
    /// others. No probability.
    pub confidence: f64,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
    /// What to change.
    pub advice: String,
    /// What that can gain at most; `None` where that is not known.
    pub gain: Option<Gain>,
}

impl Verdict {
    /// Returns one line for people.
    #[must_use]
    pub fn headline(&self) -> String {
        let cause = self.cause;
        match (&self.stage, cause) {
            (_, Cause::Idle) => "Nothing bounds the run: there was nothing to do".to_owned(),
            (Some(stage), Cause::Source) => {
                format!("The input bounds the run: all stages wait, from stage \"{stage}\" on")
            }
            (Some(stage), _) => format!("Stage \"{stage}\" bounds the run: {cause}"),
            (None, _) => format!("The process is bound by {cause}"),
        }
    }
}

/// A figure behind a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Evidence {
    /// The name of the figure.
    pub name: String,
    /// Its value, shares from 0 to 1.
    pub value: f64,
    /// In words.
    pub text: String,
}

impl Evidence {
    /// Creates a figure.
    pub(crate) fn new(name: &str, value: f64, text: String) -> Self {
        Self {
            name: name.to_owned(),
            value,
            text,
        }
    }
}

/// What removing a bottleneck can gain at most.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Gain {
    /// Items a second by those of now, at most.
    pub at_most: f64,
    /// The stage that bounds the run then; `None` if it is what is left of the same stage.
    pub next_stage: Option<String>,
}
