//! The law of the time of a run, from its pilots.

use std::collections::BTreeMap;

use anyhow::Result;
use kato_planner::Interval;
use kato_planner::scaling::{Law, Scaling, ScalingAnalyzer, ScalingError};

use super::{Measured, fitted};

/// How many times the pilots a run may be for the intervals to be those that were tested.
pub(crate) const REACH: f64 = 200.0;
/// What an interval is wider by for each tenfold beyond that, as a share: an allowance, fitted to
/// nothing, as nothing was measured there.
const BEYOND: f64 = 0.3;
/// What a law of the time is off by for each tenfold of the pilots' size, as a share, beyond what
/// the pilots' own spread says: an allowance, fitted to nothing.
const DRIFT: f64 = 0.06;
/// What merging a pattern costs, of sorting and writing it the first time. Over 4 GB of text, 0.445 of
/// which are merged by the store's rule, merging took 15.2 ns a token and writing 52.9 (docs/benchmarks.md, "Scale").
const MERGE_COST: f64 = 0.65;

/// Fewest of the fastest pilots of which a fixed part can be told.
const ENOUGH_FASTEST: usize = 8;

/// The time over the size of a run, as pilots have measured it: a fixed part, and one that grows
/// with the size.
///
/// That is the text for a directory: every document costs the same whatever came before it, and
/// what is sorted at once is bounded by --memory. For a MongoDB it is the upserts, which grow more
/// slowly than text, as symbols occur again. No other law is allowed: pilots are too near to each
/// other to tell n from n log n.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeLaw {
    /// Of all pilots: says how sure the time is.
    all: Scaling,
    /// Of the two fastest of each size: says the time. Other programs make a pilot slower and never
    /// faster, and a pilot of a tenth of a second much slower, so the fastest say what the machine
    /// does. `None` where these are too few to tell a fixed part.
    fastest: Option<Scaling>,
    /// The law that all pilots would rather have.
    rather: Option<Law>,
    /// Of reading and decoding, which one thread of a pilot does: no run is foretold to be faster. `None` where pilots
    /// do not tell.
    reading: Option<Scaling>,
    /// Seconds in which a worker waits for documents that others have, whatever the size.
    waiting: f64,
    /// Seconds that a byte takes to the disk while nothing is learned.
    flush_a_byte: f64,
}

impl TimeLaw {
    /// Fits the law to pilots.
    ///
    /// # Errors
    ///
    /// When they are of fewer than three sizes.
    pub(crate) fn fit(measured: &[Measured]) -> Result<Self> {
        let analyzer = ScalingAnalyzer::new()
            .with_laws([Law::Linear])
            .with_force(true);
        let points = measured
            .iter()
            .map(|pilot| (pilot.size(), pilot.growing_seconds()));
        let all = analyzer.fit(points).map_err(|error| match &error {
            ScalingError::TooFewSizes { .. } => anyhow::Error::from(error)
                .context("the corpus has too few documents for pilots of several sizes: estimate it with `kato estimate`, or train it"),
            _ => error.into(),
        })?;
        let free = fitted(&ScalingAnalyzer::new(), measured, |pilot| {
            Some(pilot.growing_seconds())
        });
        let rather =
            free.filter(|free| free.law() != Law::Linear && !free.rivals().contains(&Law::Linear));
        Ok(Self {
            all,
            fastest: of_fastest(measured),
            rather: rather.map(|free| free.law()),
            reading: fitted(&analyzer, measured, |pilot| Some(pilot.reader_seconds)),
            waiting: waiting(measured),
            flush_a_byte: flush_a_byte(measured),
        })
    }

    /// Returns the seconds in which what was written last goes to the disk, of a run that is done
    /// but for so many bytes.
    #[must_use]
    pub(crate) fn last_flush(&self, bytes: f64) -> Interval {
        Interval::around(self.flush_a_byte * bytes, 1.0)
    }

    /// Returns the law of all pilots.
    #[must_use]
    pub(crate) fn of_all(&self) -> &Scaling {
        &self.all
    }

    /// Returns the seconds of a run of a size: by the law, with what laws are off by at a distance, and not less
    /// than reading takes.
    ///
    /// # Errors
    ///
    /// When the size is no number above 0.
    pub(crate) fn seconds(&self, size: f64) -> Result<Interval> {
        let prediction = self.all.predict(size)?;
        let decades = prediction.extrapolation.max(1.0).log10();
        let drift = (DRIFT * decades).exp();
        let fastest = self.fastest.as_ref();
        let expected = fastest.and_then(|law| law.predict(size).ok());
        let expected = expected.map_or(prediction.value, |expected| expected.value);
        let found = Interval::new(expected, prediction.low / drift, prediction.high * drift);
        let found = found.widened(beyond(prediction.extrapolation));
        let reading = self.reading.as_ref();
        let reading = reading.and_then(|law| law.predict(size).ok());
        let found = reading.map_or(found, |reading| {
            Interval::new(
                found.value.max(reading.value),
                found.low.max(reading.low),
                found.high.max(reading.value),
            )
        });
        Ok(found.plus(Interval::around(self.waiting, 1.0)))
    }

    /// Describes the law, and whether the pilots would rather have another; `larger` says how they become larger.
    #[must_use]
    pub(crate) fn in_words(&self, larger: &str) -> String {
        let (law, which) = match &self.fastest {
            Some(law) => (
                law,
                "by the two fastest pilots of each size; all pilots are",
            ),
            None => (&self.all, "by all pilots, which are"),
        };
        let mut text = format!(
            "{}: {}, {which} within {:.0} % of their law",
            law.law(),
            law.equation(),
            100.0 * self.all.spread()
        );
        if let Some(rather) = self.rather {
            text += &format!("; the pilots look like {rather} instead: {larger}");
        }
        text
    }
}

/// Returns the seconds that merging adds to a run over so much text, which writes `merged` of what it
/// learns once more; `threads` are those of the machine.
///
/// Merging sorts and writes as learning does, on a thread beside the workers. Where these have all
/// threads it takes its share of theirs; where one is left over it adds nothing but what it may.
#[must_use]
pub(crate) fn merging(
    measured: &[Measured],
    text_bytes: f64,
    merged: f64,
    threads: u64,
) -> Interval {
    let text: u64 = measured.iter().map(|pilot| pilot.text_bytes).sum();
    let written: f64 = measured.iter().map(|pilot| pilot.stage_seconds).sum();
    let all = written / text.max(1) as f64 * text_bytes * merged * MERGE_COST;
    let shared = all / threads.max(1) as f64;
    let workers = measured.first().map_or(1, |pilot| pilot.workers);
    match workers < threads {
        true => Interval::new(0.0, 0.0, shared),
        false => Interval::around(shared, 0.5),
    }
}

/// Returns the factor by which the ends of an interval are further away for a run that is so many
/// times the pilots: 1 up to [`REACH`].
#[must_use]
pub(crate) fn beyond(times: f64) -> f64 {
    (BEYOND * (times / REACH).max(1.0).log10()).exp()
}

/// Returns the seconds in which workers of a pilot waited for documents, in the mean.
fn waiting(measured: &[Measured]) -> f64 {
    let all: f64 = measured.iter().map(Measured::waiting_seconds).sum();
    all / measured.len().max(1) as f64
}

/// Returns the seconds that a byte took to the disk once a pilot had learned all.
fn flush_a_byte(measured: &[Measured]) -> f64 {
    let bytes: u64 = measured.iter().filter_map(|pilot| pilot.disk_bytes).sum();
    let seconds: f64 = measured.iter().map(|pilot| pilot.flush_seconds).sum();
    seconds / bytes.max(1) as f64
}

/// Fits the law to the two fastest pilots of each size.
fn of_fastest(measured: &[Measured]) -> Option<Scaling> {
    let mut by_text: BTreeMap<u64, Vec<&Measured>> = BTreeMap::new();
    for pilot in measured {
        by_text.entry(pilot.text_bytes).or_default().push(pilot);
    }
    let mut points = Vec::new();
    for mut pilots in by_text.into_values() {
        pilots.sort_by(|a, b| a.growing_seconds().total_cmp(&b.growing_seconds()));
        let fastest = pilots.into_iter().take(2);
        points.extend(fastest.map(|pilot| (pilot.size(), pilot.growing_seconds())));
    }
    if points.len() < ENOUGH_FASTEST {
        return None;
    }
    let analyzer = ScalingAnalyzer::new()
        .with_laws([Law::Linear])
        .with_force(true);
    analyzer.fit(points).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pilot that learns 100 MB of text a second, and then flushes 2 GB a second.
    fn pilot(text_bytes: u64) -> Measured {
        let disk_bytes = text_bytes * 3 / 2;
        let flush_seconds = disk_bytes as f64 / 2e9;
        Measured {
            text_bytes,
            documents: text_bytes / 2_000,
            seconds: text_bytes as f64 / 1e8 + flush_seconds,
            flush_seconds,
            stage_seconds: text_bytes as f64 / 4e8,
            disk_bytes: Some(disk_bytes),
            workers: 2,
            tokens: text_bytes / 4,
            ..Measured::default()
        }
    }

    #[test]
    fn the_time_of_a_mongodb_grows_with_upserts_and_not_with_text() {
        // Half a millisecond an upsert, and of these as many as the root of the text.
        let upserts = |text_bytes: u64| 100.0 * (text_bytes as f64).sqrt();
        let measured = [1, 2, 4, 6, 8].map(|eighths| {
            let text_bytes = eighths * 50_000;
            let upserts = upserts(text_bytes);
            Measured {
                upserts: Some(upserts),
                seconds: upserts / 2e3,
                flush_seconds: 0.0,
                ..pilot(text_bytes)
            }
        });
        let law = TimeLaw::fit(&measured).unwrap();
        let seconds = law.seconds(upserts(40_000_000)).unwrap().value;
        assert!((seconds / 316.23 - 1.0).abs() < 1e-3, "{seconds}");
    }

    #[test]
    fn what_pilots_flush_in_the_end_does_not_grow_with_the_run() {
        let sizes = [5, 10, 15, 20].map(|size| size * 1_000_000);
        let measured: Vec<Measured> = sizes.iter().flat_map(|&size| [pilot(size); 2]).collect();
        let law = TimeLaw::fit(&measured).unwrap();
        let seconds = law.seconds(1e9).unwrap().value;
        assert!((seconds - 10.0).abs() < 1e-3, "{seconds}");
        // Beyond what was tested the interval widens, and never the number.
        let share = |size: f64| {
            let found = law.seconds(size).unwrap();
            assert!((found.value / (size / 1e8) - 1.0).abs() < 1e-3, "{found:?}");
            found.high / found.value
        };
        let (near, far) = (share(REACH * 20e6), share(1e3 * REACH * 20e6));
        assert!(far > 2.0 * near, "{near} {far}");
        let last = law.last_flush(100e6);
        assert!((last.value - 0.05).abs() < 1e-9 && last.low == 0.0);
    }

    #[test]
    fn what_workers_of_a_pilot_wait_for_one_document_does_not_grow_with_the_run() {
        // One of two workers has a document that takes a twentieth of a second longer.
        let measured: Vec<Measured> = [1, 2, 4, 6, 8]
            .into_iter()
            .flat_map(|eighths| [pilot(eighths * 375_000); 2])
            .map(|pilot| {
                let seconds = pilot.seconds + 0.025;
                Measured {
                    seconds,
                    starved_share: 0.025 / seconds,
                    ..pilot
                }
            })
            .collect();
        let law = TimeLaw::fit(&measured).unwrap();
        let seconds = law.seconds(1e8).unwrap();
        assert!((seconds.value - 1.025).abs() < 1e-6, "{seconds:?}");
        assert!(seconds.high < 1.3, "{seconds:?}");
    }

    #[test]
    fn no_run_is_faster_than_its_text_is_read() {
        let measured = [1, 2, 4, 8].map(|eighths| {
            let pilot = pilot(eighths * 1_000_000);
            Measured {
                reader_seconds: 2.0 * pilot.growing_seconds(),
                ..pilot
            }
        });
        let law = TimeLaw::fit(&measured).unwrap();
        let seconds = law.seconds(1e9).unwrap().value;
        assert!((seconds - 20.0).abs() < 1e-3, "{seconds}");
    }

    #[test]
    fn merging_takes_time_from_workers_that_have_all_threads_and_from_no_other() {
        let measured = [pilot(1_000_000), pilot(2_000_000)];
        // 10 GB are written in 25 s of a thread, 0.4 of them once more.
        let [both, spare] = [2, 3].map(|threads| merging(&measured, 1e10, 0.4, threads));
        assert!((both.value - 25.0 * 0.4 * MERGE_COST / 2.0).abs() < 1e-9);
        assert!(spare.value == 0.0 && spare.high > 0.0, "{spare:?}");
        assert_eq!(merging(&measured, 1e10, 0.0, 2).high, 0.0);
    }
}
