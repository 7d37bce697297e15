//! The processor: model, cores, caches, instructions, clock.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, thread};

use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::figure::Finding;

/// The processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CpuFacts {
    /// The model's name.
    pub model: Finding<String>,
    /// `x86_64`, `aarch64`, …
    pub architecture: String,
    /// Cores, hyper-threads not counted.
    pub physical_cores: Finding<u64>,
    /// Cores as the operating system counts them, hyper-threads included.
    pub logical_cores: Finding<u64>,
    /// Cores that this process may use, by its affinity and quotas. Never below 1.
    pub usable_cores: Finding<u64>,
    /// Caches, from the smallest level.
    pub caches: Finding<Vec<CpuCache>>,
    /// Instructions that the processor has, of those that matter here:
    /// [`FEATURES`](CpuFacts::FEATURES).
    pub features: Finding<Vec<String>>,
    /// The clock of the first core at the moment, in MHz.
    pub clock_mhz: Finding<u64>,
}

/// A level of cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CpuCache {
    /// From 1, nearest to the core.
    pub level: u8,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Bytes of one instance.
    pub bytes: u64,
    /// Number of instances.
    pub instances: u64,
}

impl CpuFacts {
    /// Instructions that are looked for: they make hashing, searching and copying fast.
    pub const FEATURES: &[&str] = FEATURES;

    /// Reads the facts; `root` is the directory in which the system's files begin.
    pub(crate) fn read(root: &Path) -> Self {
        let kinds = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing().with_frequency());
        let system = System::new_with_specifics(kinds).ok();
        let cpus = system.as_ref().map_or(&[][..], System::cpus);
        let silent = "the operating system does not tell it";
        let model = cpus.first().map(|cpu| cpu.brand().trim().to_owned());
        let clock = cpus.first().map(sysinfo::Cpu::frequency);
        Self {
            model: Finding::from_option(model.filter(|model| !model.is_empty()), silent),
            architecture: System::cpu_arch(),
            physical_cores: Finding::from_option(
                System::physical_core_count().ok().map(|count| count as u64),
                silent,
            ),
            logical_cores: Finding::from_option(
                Some(cpus.len() as u64).filter(|count| *count > 0),
                silent,
            ),
            usable_cores: thread::available_parallelism()
                .map(|count| count.get() as u64)
                .into(),
            caches: caches(&root.join("sys/devices/system/cpu")),
            features: features(),
            // 0 is the library's value for what it could not read.
            clock_mhz: Finding::from_option(clock.filter(|clock| *clock > 0), silent),
        }
    }

    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            model: Finding::unknown(reason),
            architecture: System::cpu_arch(),
            physical_cores: Finding::unknown(reason),
            logical_cores: Finding::unknown(reason),
            usable_cores: Finding::unknown(reason),
            caches: Finding::unknown(reason),
            features: Finding::unknown(reason),
            clock_mhz: Finding::unknown(reason),
        }
    }

    /// Returns the bytes of the largest cache; `None` when the caches are unknown.
    pub(crate) fn largest_cache(&self) -> Option<u64> {
        let caches = self.caches.known()?;
        caches.iter().map(|cache| cache.bytes).max()
    }
}

// A macro, because the standard library's detection takes literals only.
macro_rules! detected {
    ($macro:ident, $($name:tt)+) => {{
        let present = [$(($name, std::arch::$macro!($name))),+];
        let present = present.iter().filter(|(_, is_there)| *is_there);
        Finding::Known(present.map(|(name, _)| (*name).to_owned()).collect())
    }};
}

#[cfg(target_arch = "x86_64")]
const FEATURES: &[&str] = &[
    "sse4.2",
    "avx",
    "avx2",
    "avx512f",
    "avx512bw",
    "bmi2",
    "fma",
    "popcnt",
    "aes",
    "pclmulqdq",
    "sha",
];

#[cfg(target_arch = "x86_64")]
fn features() -> Finding<Vec<String>> {
    detected!(is_x86_feature_detected, "sse4.2" "avx" "avx2" "avx512f" "avx512bw" "bmi2" "fma" "popcnt" "aes" "pclmulqdq" "sha")
}

#[cfg(target_arch = "aarch64")]
const FEATURES: &[&str] = &["neon", "sve", "aes", "sha2", "sha3", "crc", "lse"];

#[cfg(target_arch = "aarch64")]
fn features() -> Finding<Vec<String>> {
    detected!(is_aarch64_feature_detected, "neon" "sve" "aes" "sha2" "sha3" "crc" "lse")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FEATURES: &[&str] = &[];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Finding<Vec<String>> {
    Finding::unknown("instructions are looked for on x86-64 and AArch64 only")
}

/// Reads the caches that Linux lists: one directory for each core and cache, with the list of cores
/// that share it.
fn caches(cpus: &Path) -> Finding<Vec<CpuCache>> {
    let mut instances: BTreeMap<(u8, String, u64), Vec<String>> = BTreeMap::new();
    let Ok(entries) = fs::read_dir(cpus) else {
        return Finding::unknown("caches are read from /sys, which only Linux has");
    };
    for entry in entries.flatten() {
        let Ok(indices) = fs::read_dir(entry.path().join("cache")) else {
            continue;
        };
        for index in indices.flatten() {
            let read = |name: &str| {
                let text = fs::read_to_string(index.path().join(name)).ok()?;
                Some(text.trim().to_owned())
            };
            let level = read("level").and_then(|level| level.parse().ok());
            let bytes = read("size").and_then(|size| parse_size(&size));
            if let (Some(level), Some(bytes), Some(kind)) = (level, bytes, read("type")) {
                // A shared cache is listed by each of its cores, with the same list of cores: equal
                // lists are one instance.
                let cores = read("shared_cpu_list").unwrap_or_default();
                let shared = instances.entry((level, kind, bytes)).or_default();
                if !shared.contains(&cores) {
                    shared.push(cores);
                }
            }
        }
    }
    if instances.is_empty() {
        return Finding::unknown("the kernel does not show caches, as in some virtual machines");
    }
    let caches = instances
        .into_iter()
        .map(|((level, kind, bytes), shared)| CpuCache {
            level,
            kind,
            bytes,
            instances: shared.len() as u64,
        });
    Finding::Known(caches.collect())
}

/// Parses a size such as `32K` or `8M`.
fn parse_size(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(char::is_alphabetic);
    let scale = match &size[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_that_cores_share_are_one_instance() {
        let root = tempfile::tempdir().unwrap();
        for core in 0..4 {
            for (index, (level, kind, size, shared)) in [
                ("1", "Data", "32K", core.to_string()),
                (
                    "3",
                    "Unified",
                    "8M",
                    if core < 2 { "0-1" } else { "2-3" }.to_owned(),
                ),
            ]
            .into_iter()
            .enumerate()
            {
                let dir = root.path().join(format!("cpu{core}/cache/index{index}"));
                fs::create_dir_all(&dir).unwrap();
                let files = [("level", level), ("type", kind), ("size", size)];
                for (name, text) in files.into_iter().chain([("shared_cpu_list", &*shared)]) {
                    fs::write(dir.join(name), format!("{text}\n")).unwrap();
                }
            }
        }
        let cache = |level, kind: &str, bytes, instances| CpuCache {
            level,
            kind: kind.to_owned(),
            bytes,
            instances,
        };
        let expected = vec![
            cache(1, "Data", 32 << 10, 4),
            cache(3, "Unified", 8 << 20, 2),
        ];
        assert_eq!(caches(root.path()), Finding::Known(expected));
        assert!(caches(&root.path().join("nowhere")).reason().is_some());
    }

    #[test]
    fn features_found_are_features_looked_for() {
        if let Finding::Known(found) = features() {
            assert!(
                found
                    .iter()
                    .all(|name| CpuFacts::FEATURES.contains(&&**name))
            );
        }
    }
}
