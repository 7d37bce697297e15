//! Disks: sequential and random access with one operation in flight, and flushes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::block_file::{BlockFile, LARGE, SMALL};
use super::room;
use crate::Allowance;
use crate::figure::{Finding, Measured, MeasurementMethod, Unit};
use crate::meter::{Meter, NO_TIME, figure, latencies, windows, windows_with_preparation};

/// Figures of the disk below the directory, with one operation in flight at a time, in a file that
/// was filled before with bytes that do not compress.
///
/// `Direct` figures went past the operating system's cache; caches of the device, a controller or a
/// host below a virtual machine are part of the disk. `Cached` sequential writes include the flush to
/// the device, and random ones do not; `Cached` reads may have come from memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskResults {
    /// Writing over the file in blocks of 1 MiB.
    pub sequential_write: Measured,
    /// Reading the file in blocks of 1 MiB.
    pub sequential_read: Measured,
    /// Writing blocks of 4 KiB at random places: operations a second.
    pub random_write: Measured,
    /// Latency of the same writes.
    pub random_write_latency: Measured,
    /// Reading blocks of 4 KiB at random places: operations a second.
    pub random_read: Measured,
    /// Latency of the same reads.
    pub random_read_latency: Measured,
    /// Writing 4 KiB and waiting until the device says that it keeps them (`fdatasync`): what a
    /// commit waits for.
    pub flush_latency: Measured,
    /// Size of the file, in bytes.
    pub file_bytes: Finding<u64>,
}

/// Bytes of the file in a whole analysis and in a quick one.
const FILE: [u64; 2] = [1 << 30, 128 << 20];
/// Number of flushes after which the distribution is known well enough.
const MAX_FLUSHES: usize = 2_000;
/// Bytes written through the cache between two flushes.
const UNFLUSHED: u64 = 32 << 20;

impl DiskResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            sequential_write: Finding::unknown(reason),
            sequential_read: Finding::unknown(reason),
            random_write: Finding::unknown(reason),
            random_write_latency: Finding::unknown(reason),
            random_read: Finding::unknown(reason),
            random_read_latency: Finding::unknown(reason),
            flush_latency: Finding::unknown(reason),
            file_bytes: Finding::unknown(reason),
        }
    }

    /// Measures the disk; everything is unknown where no file can be made or filled.
    pub(crate) fn measure(
        allowance: &Allowance,
        directory: &Path,
        is_quick: bool,
        seed: u64,
    ) -> Self {
        match Self::try_measure(allowance, directory, FILE[usize::from(is_quick)], seed) {
            Ok(results) => results,
            Err(reason) => Self::unknown(&reason),
        }
    }

    fn try_measure(
        allowance: &Allowance,
        directory: &Path,
        wanted: u64,
        seed: u64,
    ) -> Result<Self, String> {
        // First whether a file can be made: a directory that is not there has no room either.
        let mut file = BlockFile::create(directory, seed)?;
        let mut bytes = room::in_directory(directory, wanted)?;
        if file.method == MeasurementMethod::Cached {
            // Such a file may lie in memory, of which it is to take less.
            bytes = bytes.min(wanted / 4).max(room::MIN_FILE_BYTES);
        }
        // Shares here and below are of the time that is left, so that what one measurement does not
        // need goes to the later ones.
        file.fill(&allowance.part(0.3), bytes)?;
        if file.len < room::MIN_FILE_BYTES {
            return Err(if allowance.is_stopped() {
                crate::step::cancelled()
            } else {
                format!("{NO_TIME}: the disk took only {} MiB", file.len >> 20)
            });
        }
        let file_bytes = Finding::Known(file.len);
        let sequential_write = figure(&allowance.part(0.2), |a| sequential_write(a, &mut file));
        // What was just written would be read from memory.
        file.drop_cache()?;
        let sequential_read = figure(&allowance.part(0.25), |a| sequential_read(a, &mut file));
        let (random_read, random_read_latency) =
            random(&allowance.part(0.33), &mut file, BlockFile::read);
        let (random_write, random_write_latency) =
            random(&allowance.part(0.5), &mut file, BlockFile::write);
        let flush_latency = figure(&allowance.part(0.9), |a| flushes(a, &mut file));
        Ok(Self {
            sequential_write,
            sequential_read,
            random_write,
            random_write_latency,
            random_read,
            random_read_latency,
            flush_latency,
            file_bytes,
        })
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Measured)> {
        vec![
            ("sequential write", &self.sequential_write),
            ("sequential read", &self.sequential_read),
            ("random 4 KiB write", &self.random_write),
            ("  latency", &self.random_write_latency),
            ("random 4 KiB read", &self.random_read),
            ("  latency", &self.random_read_latency),
            ("flush latency", &self.flush_latency),
        ]
    }
}

/// Starts a measurement whose note says how large the file is.
fn meter(file: &BlockFile) -> Meter {
    let size = format!("file of {} MiB", file.len >> 20);
    Meter::start().note(if file.note.is_empty() {
        size
    } else {
        format!("{size}; {}", file.note)
    })
}

/// Position of a walk round the file in large blocks.
struct SequentialCursor(u64);

impl SequentialCursor {
    /// Returns the beginning of the next block that is in the file as a whole.
    fn next(&mut self, len: u64) -> u64 {
        let offset = self.0;
        self.0 = if offset + 2 * LARGE as u64 > len {
            0
        } else {
            offset + LARGE as u64
        };
        offset
    }
}

/// Measures writing over the file in order.
pub(crate) fn sequential_write(
    allowance: &Allowance,
    file: &mut BlockFile,
) -> Result<Measured, String> {
    let meter = meter(file);
    let mut cursor = SequentialCursor(0);
    let found = windows_with_preparation(allowance, |preparation| {
        let mut work = 0;
        loop {
            // Stamping 1 MiB takes up to a sixth of the time that a fast disk takes to write it.
            let start = Instant::now();
            file.stamp(LARGE);
            *preparation += start.elapsed();
            file.write_stamped(cursor.next(file.len), LARGE)?;
            work += LARGE as u64;
            // The cache is not the disk: what it took is flushed within the same window. Flushing
            // after every block would measure the latency of flushes instead.
            if file.method == MeasurementMethod::Direct {
                break;
            }
            if work >= UNFLUSHED {
                file.flush()?;
                break;
            }
        }
        Ok::<_, String>(work as f64)
    })?;
    Ok(meter.rate(Unit::MegabytesPerSecond, file.method, &found))
}

/// Measures reading the file in order.
pub(crate) fn sequential_read(
    allowance: &Allowance,
    file: &mut BlockFile,
) -> Result<Measured, String> {
    let meter = meter(file);
    let mut cursor = SequentialCursor(0);
    let found = windows(allowance, || {
        file.read(cursor.next(file.len), LARGE)?;
        Ok::<_, String>(LARGE as f64)
    })?;
    Ok(meter.rate(Unit::MegabytesPerSecond, file.method, &found))
}

/// Measures small operations at random places, and returns their rate and their latency.
pub(crate) fn random(
    allowance: &Allowance,
    file: &mut BlockFile,
    operation: impl Fn(&mut BlockFile, u64, usize) -> Result<(), String>,
) -> (Measured, Measured) {
    let mut seconds = Vec::new();
    let rate = figure(allowance, |allowance| {
        let meter = meter(file);
        let found = windows(allowance, || {
            let offset = file.draw(SMALL);
            let start = Instant::now();
            operation(file, offset, SMALL)?;
            seconds.push(start.elapsed().as_secs_f64());
            Ok::<_, String>(1.0)
        })?;
        if file.method != MeasurementMethod::Direct {
            // Unflushed writes would slow down what is measured next.
            file.flush()?;
        }
        Ok(meter.rate(Unit::PerSecond, file.method, &found))
    });
    let latency = match &rate {
        Finding::Known(figure) => {
            // The same operations as those of the rate, so time and interference are those of the
            // rate.
            let mut latency = Meter::start().latency(file.method, &seconds);
            if let Finding::Known(latency) = &mut latency {
                let spread = latency.validity.spread;
                latency.validity = figure.validity.clone();
                latency.validity.samples = seconds.len() as u64;
                latency.validity.spread = spread;
            }
            latency
        }
        Finding::Unknown { reason } => Finding::unknown(reason.clone()),
    };
    (rate, latency)
}

/// Measures flushes of a small block each.
fn flushes(allowance: &Allowance, file: &mut BlockFile) -> Result<Measured, String> {
    let meter = meter(file);
    let seconds = latencies(allowance, MAX_FLUSHES, || {
        let offset = file.draw(SMALL);
        file.write(offset, SMALL)?;
        file.flush()
    })?;
    // Nothing of a device answers within a microsecond: such a flush did not go there.
    let is_real = seconds
        .iter()
        .all(|seconds| *seconds >= Duration::from_micros(1).as_secs_f64());
    let method = if is_real {
        file.method
    } else {
        MeasurementMethod::Cached
    };
    Ok(meter.latency(method, &seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cancellation;

    fn measure(directory: &Path, millis: u64) -> DiskResults {
        let allowance = Allowance::new(Duration::from_millis(millis), &Cancellation::new());
        DiskResults::measure(&allowance, directory, true, 1)
    }

    #[test]
    fn every_figure_is_there_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let found = measure(dir.path(), 3000);
        for (name, figure) in found.entries() {
            let figure = figure.known().unwrap_or_else(|| panic!("{name}: {figure}"));
            assert!(figure.value > 0.0, "{name}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn rates_and_latencies_of_the_same_operations_agree() {
        let dir = tempfile::tempdir().unwrap();
        let found = measure(dir.path(), 2000);
        let rate = found.random_read.known().unwrap();
        let latency = found.random_read_latency.known().unwrap();
        let all = latency.validity.samples as f64;
        assert!((all / rate.validity.seconds / rate.value - 1.0).abs() < 0.1);
    }

    #[test]
    fn the_cursor_covers_whole_blocks_only() {
        let mut cursor = SequentialCursor(0);
        let len = 3 << 20;
        let offsets: Vec<u64> = (0..5).map(|_| cursor.next(len) >> 20).collect();
        assert_eq!(offsets, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_directory_that_is_a_file_or_not_there_is_unknown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for place in [file.path(), Path::new("/nowhere/at/all")] {
            let found = measure(place, 100);
            for (name, figure) in found.entries() {
                assert!(
                    figure.reason().unwrap().contains("no file can be made"),
                    "{name}"
                );
            }
        }
    }
}
