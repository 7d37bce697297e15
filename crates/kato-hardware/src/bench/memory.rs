//! Memory bandwidth, by copying and combining arrays that are larger than the caches.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::cores::run_on_cores;
use crate::Allowance;
use crate::figure::{Finding, Measured, MeasuredFigure, MeasurementMethod, Unit};
use crate::meter::{Meter, figure, windows};

/// Memory bandwidth: bytes read and bytes written, added up, in arrays that together are at least
/// twice the largest cache, or 128 MiB where its size is not known. With smaller ones the figures
/// are `Cached`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryResults {
    /// Copying, one core.
    pub copy_one_core: Measured,
    /// `a[i] = b[i] + 3 c[i]`, one core.
    pub triad_one_core: Measured,
    /// Copying, all usable cores at once.
    pub copy_all_cores: Measured,
    /// `a[i] = b[i] + 3 c[i]`, all usable cores at once.
    pub triad_all_cores: Measured,
}

/// The facts about the machine that the measurement needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// Bytes that may be used.
    pub(crate) available: u64,
    /// Bytes of the largest cache, where it is known.
    pub(crate) cache: Option<u64>,
}

/// Most bytes of all arrays together, and the least where memory allows.
const MAX_BYTES: u64 = 1 << 30;
const MIN_BYTES: u64 = 96 << 20;
/// Bytes of cache that are assumed where the caches are unknown: more than almost any processor
/// has.
const USUAL_CACHE: u64 = 64 << 20;
/// Elements that are worked on between two looks at the clock.
const BATCH_SIZE: usize = 1 << 20;

impl MemoryResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            copy_one_core: Finding::unknown(reason),
            triad_one_core: Finding::unknown(reason),
            copy_all_cores: Finding::unknown(reason),
            triad_all_cores: Finding::unknown(reason),
        }
    }

    /// Measures the bandwidth of one core and of all.
    pub(crate) fn measure(allowance: &Allowance, machine: Machine) -> Self {
        let wanted = match choose(machine) {
            Ok(bytes) => bytes,
            Err(reason) => return Self::unknown(&reason),
        };
        // Three arrays for each core. All cores together have the bytes wanted, however many they
        // are.
        let elements = wanted as usize / size_of::<f64>() / 3 / machine.cores;
        let prepare = allowance.part(0.4);
        let arrays: Vec<Mutex<Arrays>> = (1..=machine.cores)
            .map(|number| {
                // An equal part of the time that is left for this core and those after it.
                let prepare = prepare.part(1.0 / (machine.cores + 1 - number) as f64);
                Mutex::new(Arrays::new(elements, &prepare))
            })
            .collect();
        let one = |allowance: &Allowance, cores, kernel| {
            figure(allowance, |allowance| {
                measured(allowance, machine, &arrays, cores, kernel)
            })
        };
        Self {
            copy_one_core: one(&allowance.part(0.25), 1, Kernel::Copy),
            triad_one_core: one(&allowance.part(0.33), 1, Kernel::Triad),
            copy_all_cores: one(&allowance.part(0.5), machine.cores, Kernel::Copy),
            triad_all_cores: one(allowance, machine.cores, Kernel::Triad),
        }
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Finding<MeasuredFigure>)> {
        vec![
            ("copy, one core", &self.copy_one_core),
            ("triad, one core", &self.triad_one_core),
            ("copy, all cores", &self.copy_all_cores),
            ("triad, all cores", &self.triad_all_cores),
        ]
    }
}

/// Measures one kind of work over all arrays, by one core in turns or by a core each.
///
/// One core goes over all of them as well, because its own alone might fit into the cache.
fn measured(
    allowance: &Allowance,
    machine: Machine,
    arrays: &[Mutex<Arrays>],
    cores: usize,
    kernel: Kernel,
) -> Result<Measured, String> {
    let bytes = arrays.iter().map(|arrays| lock(arrays).bytes());
    let bytes: u64 = bytes.sum();
    let method = if bytes >= 2 * machine.cache.unwrap_or(USUAL_CACHE) {
        MeasurementMethod::Direct
    } else {
        MeasurementMethod::Cached
    };
    let meter = Meter::start().note(note(bytes, machine.cache));
    let next = AtomicUsize::new(0);
    let found = run_on_cores(cores, |gate| {
        // Each thread draws a number, and takes every n-th set of arrays from it on: no lock is
        // waited for, and with one thread it is all of them.
        let first = next.fetch_add(1, Ordering::Relaxed);
        let own = arrays.iter().skip(first).step_by(cores);
        let mut own: Vec<_> = own.map(lock).collect();
        // The locks are held from before the gate to the end, so they cost nothing meanwhile.
        gate.wait()?;
        let mut turn = 0;
        windows(allowance, || {
            turn = (turn + 1) % own.len().max(1);
            let arrays = own.get_mut(turn).ok_or("there is no memory to work on")?;
            Ok(arrays.work(kernel))
        })
    })?;
    Ok(meter.rate(Unit::MegabytesPerSecond, method, &found))
}

/// Locks a set of arrays, also after a panic, because nobody relies on the numbers in them.
fn lock(arrays: &Mutex<Arrays>) -> MutexGuard<'_, Arrays> {
    arrays.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Chooses the bytes of all arrays: four times the cache, within [`MIN_BYTES`] and [`MAX_BYTES`],
/// but not more than an eighth of the memory that is available.
fn choose(machine: Machine) -> Result<u64, String> {
    let wanted = (4 * machine.cache.unwrap_or(USUAL_CACHE)).clamp(MIN_BYTES, MAX_BYTES);
    let bytes = wanted.min(machine.available / 8);
    if bytes < MIN_BYTES / 4 {
        return Err(format!(
            "only {} MiB of memory are available: end other programs, or raise the memory limit",
            machine.available >> 20
        ));
    }
    Ok(bytes)
}

/// Returns the note of the figures.
fn note(bytes: u64, cache: Option<u64>) -> String {
    let mib = bytes >> 20;
    match cache {
        Some(cache) => format!(
            "arrays of {mib} MiB, {:.1} times the largest cache",
            bytes as f64 / cache.max(1) as f64
        ),
        None => format!("arrays of {mib} MiB; the size of the caches is not known"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Kernel {
    Copy,
    Triad,
}

struct Arrays {
    to: Vec<f64>,
    from: Vec<f64>,
    other: Vec<f64>,
    place: usize,
}

impl Arrays {
    /// Fills arrays of as many elements as are wanted, or as there is time for.
    fn new(elements: usize, allowance: &Allowance) -> Self {
        // Reserved first, so that nothing is moved; filled, because the system provides a page only
        // when it is written. In batches, so that the time is noticed.
        let [mut to, mut from, mut other] = [(); 3].map(|()| Vec::with_capacity(elements));
        while to.len() < elements && (to.is_empty() || !allowance.is_over()) {
            let len = (to.len() + BATCH_SIZE).min(elements);
            to.resize(len, 1.0);
            from.resize(len, 2.0);
            other.resize(len, 3.0);
        }
        Self {
            to,
            from,
            other,
            place: 0,
        }
    }

    /// Returns the bytes of all three arrays.
    fn bytes(&self) -> u64 {
        3 * (self.to.len() * size_of::<f64>()) as u64
    }

    /// Works on the next batch, from the beginning again after the last, and returns the bytes
    /// read and written.
    fn work(&mut self, kernel: Kernel) -> f64 {
        let end = (self.place + BATCH_SIZE).min(self.to.len());
        let range = self.place..end;
        self.place = if end == self.to.len() { 0 } else { end };
        let to = &mut self.to[range.clone()];
        let (from, other) = (&self.from[range.clone()], &self.other[range]);
        let arrays = match kernel {
            Kernel::Copy => {
                to.copy_from_slice(black_box(from));
                2
            }
            Kernel::Triad => {
                for ((to, from), other) in to.iter_mut().zip(from).zip(other) {
                    *to = *from + 3.0 * *other;
                }
                3
            }
        };
        // Seen as used, so that no write can be left out.
        (size_of_val(black_box(to)) * arrays) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Cancellation;

    #[test]
    fn memory_that_there_is_no_time_to_fill_is_told_as_cached() {
        let machine = Machine {
            cores: 2,
            available: 64 << 30,
            cache: Some(1 << 40),
        };
        // A busy machine measures nothing in the first of these times.
        let measured = [200, 300, 450, 700].into_iter().find_map(|limit| {
            let allowance = Allowance::new(Duration::from_millis(limit), &Cancellation::new());
            let found = MemoryResults::measure(&allowance, machine);
            found.copy_all_cores.known().cloned()
        });
        assert_eq!(measured.unwrap().validity.method, MeasurementMethod::Cached);
    }

    #[test]
    fn arrays_exceed_the_cache_where_memory_allows() {
        let machine = |available, cache| Machine {
            cores: 1,
            available,
            cache,
        };
        assert_eq!(choose(machine(64 << 30, Some(32 << 20))), Ok(128 << 20));
        assert_eq!(choose(machine(64 << 30, Some(260 << 20))), Ok(MAX_BYTES));
        assert_eq!(choose(machine(1 << 30, Some(260 << 20))), Ok(128 << 20));
        assert!(
            choose(machine(100 << 20, None))
                .unwrap_err()
                .contains("memory")
        );
    }

    #[test]
    fn triad_computes_and_counts_three_arrays() {
        let allowance = Allowance::new(Duration::from_secs(9), &Cancellation::new());
        let mut arrays = Arrays::new(1000, &allowance);
        assert_eq!(arrays.bytes(), 24_000);
        assert_eq!(arrays.work(Kernel::Triad), 24_000.0);
        assert!(arrays.to.iter().all(|element| *element == 11.0));
        assert_eq!(arrays.work(Kernel::Copy), 16_000.0);
        assert!(arrays.to.iter().all(|element| *element == 2.0));
    }
}
