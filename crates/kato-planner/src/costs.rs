//! What a whole run costs, apart from any machine.

use serde::Serialize;

use crate::error::at_least_zero;
use crate::{Interval, PlanError};

/// The costs of a whole run, as pilots have measured them and laws have scaled them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunCosts {
    /// Processor time of what runs on all cores, in seconds of one core.
    pub core_seconds: Interval,
    /// Time of the one thread that reads, in seconds.
    pub reader_seconds: Interval,
    /// Time that no core makes shorter, in seconds.
    pub fixed_seconds: Interval,
    /// Bytes that the disk has to hold.
    pub disk_bytes: Interval,
    /// Bytes that are written on the way.
    pub written_bytes: Interval,
    /// Bytes of memory, with one worker.
    pub memory_bytes: Interval,
    /// Bytes of memory for each further worker.
    pub memory_bytes_a_worker: Interval,
}

impl RunCosts {
    /// Creates the costs of a run that takes processor time and leaves bytes on the disk, each
    /// written once.
    #[must_use]
    pub fn new(core_seconds: Interval, disk_bytes: Interval) -> Self {
        let nothing = Interval::exact(0.0);
        Self {
            core_seconds,
            reader_seconds: nothing,
            fixed_seconds: nothing,
            disk_bytes,
            written_bytes: disk_bytes,
            memory_bytes: Interval::around(600e6, 0.3),
            memory_bytes_a_worker: Interval::around(50e6, 0.3),
        }
    }

    /// Sets the time of the thread that reads.
    #[must_use]
    pub fn with_reader_seconds(mut self, seconds: Interval) -> Self {
        self.reader_seconds = seconds;
        self
    }

    /// Sets the time that no core makes shorter.
    #[must_use]
    pub fn with_fixed_seconds(mut self, seconds: Interval) -> Self {
        self.fixed_seconds = seconds;
        self
    }

    /// Sets the bytes that are written on the way.
    #[must_use]
    pub fn with_written_bytes(mut self, bytes: Interval) -> Self {
        self.written_bytes = bytes;
        self
    }

    /// Sets the memory with one worker, and for each further one.
    #[must_use]
    pub fn with_memory(mut self, bytes: Interval, bytes_a_worker: Interval) -> Self {
        self.memory_bytes = bytes;
        self.memory_bytes_a_worker = bytes_a_worker;
        self
    }

    /// Refuses costs that are no numbers.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        for (what, interval) in [
            ("core_seconds", self.core_seconds),
            ("reader_seconds", self.reader_seconds),
            ("fixed_seconds", self.fixed_seconds),
            ("disk_bytes", self.disk_bytes),
            ("written_bytes", self.written_bytes),
            ("memory_bytes", self.memory_bytes),
            ("memory_bytes_a_worker", self.memory_bytes_a_worker),
        ] {
            for value in [interval.low, interval.value, interval.high] {
                at_least_zero(what, value)?;
            }
        }
        Ok(())
    }
}
