//! Windows in any order, sorted a batch at a time in bounded memory.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::CountsError;
use super::runs::{self, Run};
use crate::trie::{Packing, WINDOW_BYTES, Windows};

/// Windows of a batch at least, and at most.
const WINDOWS: std::ops::RangeInclusive<usize> = 1 << 4..=1 << 26;

/// Windows that are collected, sorted on another thread and written.
pub(super) struct Batches {
    scratch: PathBuf,
    pub(super) windows: Windows,
    most_windows: usize,
    sorting: Option<JoinHandle<Result<(Run, Windows), CountsError>>>,
    /// The memory of a batch that was written.
    spare: Option<Windows>,
    runs: Vec<Run>,
    n_begun: usize,
}

impl Batches {
    pub(super) fn new(packing: Packing, scratch: &Path, sort_bytes: usize) -> Self {
        // One is collected while another is sorted.
        let most_windows = sort_bytes / 2 / WINDOW_BYTES;
        Self {
            scratch: scratch.to_owned(),
            windows: Windows::new(packing),
            most_windows: most_windows.clamp(*WINDOWS.start(), *WINDOWS.end()),
            sorting: None,
            spare: None,
            runs: Vec::new(),
            n_begun: 0,
        }
    }

    pub(super) fn end_if_full(&mut self) -> Result<(), CountsError> {
        if self.windows.len() < self.most_windows {
            return Ok(());
        }
        self.wait()?;
        let spare = self.spare.take();
        let empty = spare.unwrap_or_else(|| Windows::new(self.windows.packing()));
        let mut windows = std::mem::replace(&mut self.windows, empty);
        let (scratch, number) = (self.scratch.clone(), self.n_begun);
        self.n_begun += 1;
        self.sorting = Some(std::thread::spawn(move || {
            windows.sort();
            let run = runs::write(&scratch, number, &windows)?;
            windows.clear();
            Ok((run, windows))
        }));
        Ok(())
    }

    fn wait(&mut self) -> Result<(), CountsError> {
        if let Some(sorting) = self.sorting.take() {
            let sorted = sorting.join();
            let (run, windows) = sorted.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.runs.push(run);
            self.spare = Some(windows);
        }
        Ok(())
    }

    /// Returns all of them; the last ones are in memory still.
    pub(super) fn finish(mut self) -> Result<Vec<Run>, CountsError> {
        self.windows.sort();
        self.wait()?;
        let empty = Windows::new(self.windows.packing());
        let last = std::mem::replace(&mut self.windows, empty);
        let mut runs = std::mem::take(&mut self.runs);
        runs.push(Run::Memory(last));
        Ok(runs)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // Whoever fails meanwhile leaves no thread behind that still writes.
        if let Some(sorting) = self.sorting.take() {
            drop(sorting.join());
        }
    }
}
