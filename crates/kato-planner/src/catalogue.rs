//! Machines with their prices: a dated TOML with its source.

use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::error::{above_zero, at_least_zero};

/// The form of catalogue that this build reads.
const SCHEMA: u64 = 1;

/// Machines with their prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Catalogue {
    /// Version of the form.
    pub schema: u64,
    /// When the prices held.
    pub date: String,
    /// Where they come from.
    pub source: String,
    /// Machines that are rented, or that are there already at a price of 0.
    #[serde(default, rename = "machine")]
    pub machines: Vec<Rented>,
    /// Processors of machines that are bought.
    #[serde(default, rename = "processor")]
    pub processors: Vec<Processor>,
    /// What is bought with them.
    pub parts: Option<Parts>,
}

/// A machine that is paid by the hour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rented {
    /// Its name.
    pub name: String,
    /// Threads that run at once: vCPUs.
    pub threads: u64,
    /// Memory, in GB; absent where it is not known, and then it is taken to be enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gb: Option<f64>,
    /// Disk, in GB; absent as for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_gb: Option<f64>,
    /// Bytes that the disk writes in order in a second, in MB; absent where it is not known, and
    /// then it is taken to be fast enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mb_a_second: Option<f64>,
    /// Speed of a thread against one of the machine on which costs were measured; absent where it
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Price of an hour, in USD.
    pub usd_an_hour: f64,
}

/// A processor that is bought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Processor {
    /// Its name.
    pub name: String,
    /// Cores.
    pub cores: u64,
    /// Threads that run at once.
    pub threads: u64,
    /// As for a machine that is rented, but of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Price, in USD.
    pub usd: f64,
}

/// What is bought with a processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Parts {
    /// Price of memory, in USD a GB.
    pub memory_usd_a_gb: f64,
    /// Sizes in which memory comes, in GB.
    pub memory_gb: Vec<f64>,
    /// Price of disks, in USD a GB.
    pub disk_usd_a_gb: f64,
    /// Sizes in which disks come, in GB.
    pub disk_gb: Vec<f64>,
    /// Bytes that a disk writes in order in a second, in MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mb_a_second: Option<f64>,
    /// Price of everything else, in USD.
    pub rest_usd: f64,
}

impl Rented {
    /// Creates a machine that is there already and costs nothing more, such as this one.
    #[must_use]
    pub fn owned(
        name: impl Into<String>,
        threads: u64,
        memory_gb: impl Into<Option<f64>>,
        disk_gb: impl Into<Option<f64>>,
    ) -> Self {
        Self {
            name: name.into(),
            threads,
            memory_gb: memory_gb.into(),
            disk_gb: disk_gb.into(),
            disk_mb_a_second: None,
            speed: None,
            usd_an_hour: 0.0,
        }
    }

    /// Sets the speed of a thread against one on which costs were measured.
    #[must_use]
    pub fn with_speed(mut self, speed: f64) -> Self {
        self.speed = Some(speed);
        self
    }

    /// Sets the rate at which the disk writes in order, in MB a second.
    #[must_use]
    pub fn with_disk_rate(mut self, mb_a_second: f64) -> Self {
        self.disk_mb_a_second = Some(mb_a_second);
        self
    }
}

impl Catalogue {
    /// Returns the catalogue that comes along; its `date` and `source` say what its prices are
    /// worth.
    #[must_use]
    pub fn builtin() -> Self {
        builtin()
    }

    /// Creates a catalogue of one machine that is there, such as the one on which costs were
    /// measured; it has no prices.
    #[must_use]
    pub fn of_machine(machine: Rented) -> Self {
        Self {
            schema: SCHEMA,
            date: String::new(),
            source: String::new(),
            machines: vec![machine],
            processors: Vec::new(),
            parts: None,
        }
    }

    /// Reads a catalogue.
    ///
    /// # Errors
    ///
    /// [`PlanError::Catalogue`] for a text that is none, and for machines without a thread, with a
    /// negative price, or twice the same name.
    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        let wrong = |reason: String| PlanError::Catalogue { reason };
        let catalogue: Self =
            toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
        if catalogue.schema != SCHEMA {
            let found = catalogue.schema;
            return Err(wrong(format!(
                "its schema is {found}, and this build reads {SCHEMA}"
            )));
        }
        catalogue
            .check()
            .map_err(|error| wrong(error.to_string()))?;
        Ok(catalogue)
    }

    /// Adds a machine, such as the one on which costs were measured.
    #[must_use]
    pub fn with_machine(mut self, machine: Rented) -> Self {
        self.machines.push(machine);
        self
    }

    /// Refuses what cannot be reckoned with.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let mut names = std::collections::BTreeSet::new();
        let rented = self.machines.iter().map(|machine| &machine.name);
        for name in rented.chain(self.processors.iter().map(|processor| &processor.name)) {
            if !names.insert(name) {
                let reason = format!("`{name}` is in it twice");
                return Err(PlanError::Catalogue { reason });
            }
        }
        for machine in &self.machines {
            above_zero("threads", machine.threads as f64)?;
            at_least_zero("memory_gb", machine.memory_gb.unwrap_or(0.0))?;
            at_least_zero("disk_gb", machine.disk_gb.unwrap_or(0.0))?;
            above_zero("disk_mb_a_second", machine.disk_mb_a_second.unwrap_or(1.0))?;
            above_zero("speed", machine.speed.unwrap_or(1.0))?;
            at_least_zero("usd_an_hour", machine.usd_an_hour)?;
        }
        for processor in &self.processors {
            above_zero("cores", processor.cores as f64)?;
            above_zero("threads", processor.threads as f64)?;
            above_zero("speed", processor.speed.unwrap_or(1.0))?;
            at_least_zero("usd", processor.usd)?;
        }
        if let Some(parts) = &self.parts {
            at_least_zero("memory_usd_a_gb", parts.memory_usd_a_gb)?;
            at_least_zero("disk_usd_a_gb", parts.disk_usd_a_gb)?;
            at_least_zero("rest_usd", parts.rest_usd)?;
            above_zero("disk_mb_a_second", parts.disk_mb_a_second.unwrap_or(1.0))?;
            for &size in parts.memory_gb.iter().chain(&parts.disk_gb) {
                above_zero("the size of a part", size)?;
            }
        }
        Ok(())
    }
}

/// Reads the catalogue that comes along.
fn builtin() -> Catalogue {
    Catalogue::from_toml(include_str!("catalogue/machines.toml"))
        .expect("a test reads the catalogue that comes along")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_that_comes_along_says_where_it_is_from() {
        let catalogue = Catalogue::builtin();
        assert_eq!(
            (catalogue.machines.len(), catalogue.processors.len()),
            (14, 6)
        );
        assert!(catalogue.source.contains("not checked") && catalogue.date == "2026-11");
    }

    #[test]
    fn mistakes_are_named() {
        let head = "schema = 1\ndate = \"2026\"\nsource = \"mine\"\n";
        let machine = "name = \"a\"\nmemory_gb = 1\ndisk_gb = 1\n";
        for (text, expected) in [
            (String::new(), "schema"),
            (
                "schema = 2\ndate = \"\"\nsource = \"\"".to_owned(),
                "schema is 2",
            ),
            (
                format!("{head}[[machine]]\n{machine}threads = 0\nusd_an_hour = 1"),
                "threads is 0",
            ),
            (
                format!("{head}[[machine]]\n{machine}threads = 1\nusd_an_hour = -1"),
                "usd_an_hour is -1",
            ),
            (
                format!("{head}[[machine]]\n{machine}threads = 1\nusd_an_hour = nan"),
                "usd_an_hour is NaN",
            ),
            (format!("{head}[[machine]]\n{machine}cores = 1"), "cores"),
        ] {
            let told = Catalogue::from_toml(&text).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
        let twice =
            Catalogue::builtin().with_machine(Rented::owned("AWS c7i.4xlarge", 2, 1.0, 1.0));
        assert!(twice.check().is_err());
    }
}
