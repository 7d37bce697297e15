//! Writing the index of a knowledge base, and the counts of its head, at the end of a command that changed it,
//! or ahead of a question.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kato::Preparation;
use kato::head::disk::{self as head, CountsError};
use kato_prediction::Cancel;
use kato_prediction::disk::{
    BuildOptions, BuildProgress, BuildReport, IndexFileError, IndexPolicy,
};
use kato_report::figures;
use kato_store::EmbeddedStore;
use serde::Serialize;
use serde_json::{Value, json};

use crate::advice::told;
use crate::notice::{is_for_machines, say};
use crate::patience::{PATIENCE, patiently};

/// Time between two looks at how far it is.
const TICK: Duration = Duration::from_millis(100);

/// Writes the index of a store where the policy wants it, and shows how far it is.
///
/// # Errors
///
/// When it cannot be written; the store is as before.
pub(crate) fn keep(
    store: &EmbeddedStore,
    policy: IndexPolicy,
    options: &BuildOptions,
) -> Result<Option<BuildReport>, IndexFileError> {
    if !policy.is_due(store) {
        kato_prediction::disk::keep_deleted(store);
        return Ok(None);
    }
    showing(&options.progress, || {
        kato_prediction::disk::build(store, options).map(Some)
    })
}

/// Writes the index of what is prepared, where it is due, and shows how far it is.
///
/// # Errors
///
/// As [`keep`].
pub(crate) fn keep_prepared(
    preparation: &mut Preparation<'_>,
) -> Result<Option<BuildReport>, IndexFileError> {
    match preparation.index_options() {
        Some(options) => {
            let progress = options.progress.clone();
            showing(&progress, || preparation.write_index())
        }
        None => preparation.write_index(),
    }
}

/// Shows how far it is while an index is written, and what it took if it was.
fn showing<T, E>(progress: &BuildProgress, write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let (began, is_done) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let shown = scope.spawn(|| show(progress, &is_done));
        // Also when writing panics: the scope waits for the other thread.
        let done = SetAtEnd(&is_done);
        let written = write();
        drop(done);
        shown.thread().unpark();
        if written.is_ok() && shown.join().is_ok_and(|was_shown| was_shown) {
            let took = figures::seconds(began.elapsed().as_secs_f64());
            say(format_args!("index written in {took}"));
        }
        written
    })
}

/// Sets a flag when it is dropped.
#[derive(Debug)]
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What came of the head's counts, for machines.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenCounts {
    pub(crate) ngrams: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) was_there: bool,
}

impl WrittenCounts {
    pub(crate) const fn of(report: &head::CountsReport) -> Self {
        Self {
            ngrams: report.ngrams,
            bytes: report.bytes,
            seconds: report.elapsed.as_secs_f64(),
            was_there: report.was_there,
        }
    }
}

/// Returns the options of writing the head's counts.
pub(crate) fn head_options(sort_bytes: usize, cancel: Cancel) -> head::CountsOptions {
    head::CountsOptions::default()
        .with_sort_bytes(sort_bytes)
        .with_cancel(move || cancel.check().is_err())
}

/// Writes the counts of the head of what is prepared, where they are due. Standard error says so where it takes its
/// time.
///
/// # Errors
///
/// When they cannot be written; the store is as before.
pub(crate) fn keep_head(
    preparation: Preparation<'_>,
) -> Result<Option<WrittenCounts>, CountsError> {
    let line = "counting the n-grams, for `kato next`, `kato score` and `kato generate --head`";
    match patiently(line, || preparation.write_counts()) {
        Ok(report) => Ok(report.as_ref().map(WrittenCounts::of)),
        Err(CountsError::Cancelled) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the index of a knowledge base that a command has changed, where that is worth it, and returns what
/// was built, for machines. That it could not is said, and no reason to fail: who asks first tries again.
pub(crate) fn after(kb: &Path) -> Option<Value> {
    // What cannot be opened now will be told to who asks it.
    after_change(&EmbeddedStore::open_read_only(kb).ok()?)
}

/// Writes the index of a store that a command has changed, as [`after`] does.
pub(crate) fn after_change(store: &EmbeddedStore) -> Option<Value> {
    match keep(store, IndexPolicy::Auto, &BuildOptions::default()) {
        Ok(report) => Some(to_json(&report?)),
        Err(error) => {
            warn("the index was", error);
            None
        }
    }
}

/// Says on standard error that an index, or the head's counts, were not written.
pub(crate) fn warn(what: &str, error: impl Into<anyhow::Error>) {
    let error = told(&error.into());
    say(format_args!("{what} not written: {error}"));
}

/// Returns what was built, for machines.
pub(crate) fn to_json(report: &BuildReport) -> Value {
    json!({
        "patterns": report.patterns,
        "bytes": report.bytes,
        "seconds": report.elapsed.as_secs_f64(),
    })
}

/// Shows on standard error how far it is, until it is done: a bar, or a line where that is no terminal. Returns
/// whether it took so long that anything was shown.
fn show(progress: &BuildProgress, is_done: &AtomicBool) -> bool {
    let began = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    while !is_done.load(Ordering::Acquire) {
        thread::park_timeout(TICK);
        if began.elapsed() < PATIENCE {
            continue;
        }
        let bar = bar.get_or_insert_with(|| {
            let bar = match is_for_machines() {
                true => ProgressBar::hidden(),
                false => ProgressBar::new(progress.total()),
            };
            if bar.is_hidden() {
                say("writing the index");
            }
            let style = "writing the index {bar:30} {percent:>3} %, {eta} left";
            bar.with_style(ProgressStyle::with_template(style).expect("it is a template"))
        });
        bar.set_length(progress.total());
        bar.set_position(progress.done());
    }
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    bar.is_some()
}
