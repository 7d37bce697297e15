//! The text form of a profile.

use std::fmt;

use crate::HardwareProfile;
use crate::facts::{DiskFacts, Gpu};
use crate::figure::{Finding, Measured, readable};

/// Columns of the names on the left.
const WIDTH: usize = 26;

impl fmt::Display for HardwareProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_quick {
            "quick analysis"
        } else {
            "analysis"
        };
        writeln!(
            f,
            "Hardware profile ({kind} of {:.1} s, directory {})",
            self.seconds, self.directory
        )?;
        writeln!(f)?;
        self.machine(f)?;
        self.devices(f)?;
        self.figures(f)?;
        self.class(f)
    }
}

impl HardwareProfile {
    /// Writes the facts about processor, memory, limits and virtualisation.
    fn machine(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "operating system", &self.operating_system)?;
        self.processor(f)?;
        match &self.memory {
            Finding::Known(memory) => line(
                f,
                "memory",
                &format_args!(
                    "{}, {} available, swap {}",
                    gigabytes(memory.total_bytes),
                    gigabytes(memory.available_bytes),
                    gigabytes(memory.swap_total_bytes)
                ),
            )?,
            unknown @ Finding::Unknown { .. } => line(f, "memory", &unknown.clone().map(|_| ""))?,
        }
        let limits = &self.limits;
        line(
            f,
            "memory limit",
            &limit(&limits.memory_bytes, |bytes| gigabytes(*bytes)),
        )?;
        line(
            f,
            "processor quota",
            &limit(&limits.cpu_quota, |cores| format!("{cores} cores")),
        )?;
        line(
            f,
            "open files",
            &limit(&limits.open_files, ToString::to_string),
        )?;
        let virtualization = &self.virtualization;
        let hypervisor = virtualization.has_hypervisor.clone();
        line(f, "hypervisor", &hypervisor.map(yes))?;
        line(f, "product", &virtualization.product)?;
        let container = virtualization.container.clone();
        line(
            f,
            "container",
            &container.map(|sign| sign.unwrap_or_else(|| "no sign of one".to_owned())),
        )
    }

    /// Writes the facts about the processor.
    fn processor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = &self.cpu;
        line(
            f,
            "processor",
            &format_args!("{} ({})", cpu.model, cpu.architecture),
        )?;
        line(f, "physical cores", &cpu.physical_cores)?;
        line(f, "logical cores", &cpu.logical_cores)?;
        line(f, "usable cores", &cpu.usable_cores)?;
        line(f, "clock, MHz", &cpu.clock_mhz)?;
        let caches = cpu.caches.clone().map(|caches| {
            let caches = caches.iter().map(|cache| {
                let (level, kind) = (cache.level, cache.kind.to_lowercase());
                format!(
                    "L{level} {kind} {} KiB ×{}",
                    cache.bytes >> 10,
                    cache.instances
                )
            });
            caches.collect::<Vec<_>>().join(", ")
        });
        line(f, "caches", &caches)?;
        line(
            f,
            "instructions",
            &cpu.features.clone().map(|features| features.join(" ")),
        )
    }

    /// Writes file systems, graphics processors and network interfaces.
    fn devices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        match &self.disks {
            Finding::Known(disks) => {
                for disk in disks {
                    line(f, "file system", &Disk(disk))?;
                }
            }
            Finding::Unknown { reason } => line(f, "file systems", &Unknown(reason))?,
        }
        let gpus = &self.gpus;
        for (vendor, found) in [
            ("GPUs, NVIDIA", &gpus.nvidia),
            ("GPUs, AMD", &gpus.amd),
            ("GPUs, Apple", &gpus.apple),
        ] {
            match found {
                Finding::Known(gpus) if gpus.is_empty() => line(f, vendor, &"none")?,
                Finding::Known(gpus) => {
                    for gpu in gpus {
                        line(f, vendor, &Device(gpu))?;
                    }
                }
                Finding::Unknown { reason } => line(f, vendor, &Unknown(reason))?,
            }
        }
        match &self.network {
            Finding::Known(interfaces) => {
                for interface in interfaces {
                    let speed = interface.speed_mbit_per_s.clone();
                    let speed = speed.map(|speed| format!("{speed} Mbit/s"));
                    let up = interface.is_up.clone().map(yes);
                    let text = format!("{}, up: {up}, speed: {speed}", interface.name);
                    line(f, "network interface", &text)?;
                }
                Ok(())
            }
            Finding::Unknown { reason } => line(f, "network interfaces", &Unknown(reason)),
        }
    }

    /// Writes the measured figures.
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bench = &self.benchmarks;
        section(f, "memory bandwidth", &bench.memory.entries())?;
        section(f, "names (SHA-1)", &bench.naming.entries())?;
        section(
            f,
            "text",
            &[
                ("JSON Lines", &bench.decoding),
                ("to GPT-2 tokens", &bench.tokenizing),
            ],
        )?;
        section(f, "disk", &bench.disk.entries())?;
        section(f, "embedded store", &bench.store.entries())?;
        section(f, "loopback", &[("round trip", &bench.loopback_latency)])?;
        section(f, "MongoDB", &bench.mongodb.entries())?;
        section(f, "KATO server", &bench.kato.entries())
    }

    /// Writes the class of the machine and its criteria.
    fn class(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        line(f, "tier", &self.rating.tier)?;
        for criterion in &self.rating.criteria {
            let value = criterion.value.clone();
            let value =
                value.map(|value| format!("{} {}", readable(value), criterion.unit.symbol()));
            match &criterion.reaches {
                Finding::Known(tier) => {
                    writeln!(f, "  {:<WIDTH$} {value}: {tier}", criterion.name)?
                }
                Finding::Unknown { .. } => writeln!(f, "  {:<WIDTH$} {value}", criterion.name)?,
            }
        }
        Ok(())
    }
}

/// Writes a name and its value.
fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<WIDTH$} {value}")
}

/// Writes figures below a title. A reason that all of them share is written once.
fn section(f: &mut fmt::Formatter<'_>, title: &str, entries: &[(&str, &Measured)]) -> fmt::Result {
    writeln!(f)?;
    let mut reasons = entries.iter().map(|(_, figure)| figure.reason());
    if let Some(Some(first)) = reasons.next()
        && reasons.all(|reason| reason == Some(first))
    {
        return line(f, title, &Unknown(first));
    }
    writeln!(f, "{title}")?;
    for (name, figure) in entries {
        match figure {
            Finding::Known(figure) => {
                write!(f, "  {name:<WIDTH$} {:>12}", figure.to_string())?;
                if let Some(percentiles) = &figure.percentiles {
                    write!(f, ", {percentiles}")?;
                }
                writeln!(f, "   [{}]", figure.validity)?;
            }
            Finding::Unknown { reason } => writeln!(f, "  {name:<WIDTH$} {}", Unknown(reason))?,
        }
    }
    Ok(())
}

struct Unknown<'a>(&'a str);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown: {}", self.0)
    }
}

struct Disk<'a>(&'a DiskFacts);

impl fmt::Display for Disk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = self.0;
        let mark = if disk.is_measured {
            ", measured here"
        } else {
            ""
        };
        let access = if disk.is_read_only { ", read-only" } else { "" };
        let kind = disk.kind.clone().map(|kind| kind.as_str());
        write!(
            f,
            "{} ({} on {}), {} free of {}{access}{mark}; kind {kind}",
            disk.mount.display(),
            disk.file_system,
            disk.device,
            gigabytes(disk.free_bytes),
            gigabytes(disk.total_bytes)
        )
    }
}

struct Device<'a>(&'a Gpu);

impl fmt::Display for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpu = self.0;
        let memory = gpu.memory_bytes.clone().map(gigabytes);
        write!(f, "{}, memory {memory}, driver {}", gpu.name, gpu.driver)
    }
}

/// Returns a limit as text.
fn limit<T>(found: &Finding<Option<T>>, text: impl FnOnce(&T) -> String) -> String {
    match found {
        Finding::Known(Some(value)) => text(value),
        Finding::Known(None) => "none".to_owned(),
        Finding::Unknown { reason } => Unknown(reason).to_string(),
    }
}

/// Returns a truth value as a word.
fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Returns bytes as text, in thousands of millions.
fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use crate::figure::Finding;
    use crate::profile::test_fixtures;

    #[test]
    fn a_profile_reads_as_a_report() {
        let mut profile = test_fixtures::profile();
        profile.benchmarks.kato = crate::results::KatoResults::unknown("no KATO server was named");
        profile.benchmarks.disk.random_read = Finding::unknown("the disk failed");
        insta::assert_snapshot!(profile);
    }

    #[test]
    fn a_profile_is_json_and_reads_back() {
        let profile = test_fixtures::profile();
        let json = profile.to_json().unwrap();
        assert_eq!(
            serde_json::from_str::<crate::HardwareProfile>(&json).unwrap(),
            profile
        );
        insta::assert_snapshot!(json);
    }

    #[test]
    fn a_prediction_reads_as_text() {
        let prediction = test_fixtures::profile()
            .predict(&crate::prediction::Workload::of_samples(1_000_000))
            .unwrap();
        insta::assert_snapshot!(prediction);
    }
}
