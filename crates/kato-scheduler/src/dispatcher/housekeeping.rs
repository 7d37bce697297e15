//! What the dispatcher does by the clock: progress, the number of workers, memory, notices and stalls.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Dispatcher;
use crate::event::{Progress, Stall, TrainingEvent};
use crate::resident::resident_memory;
use crate::session::Session;
use crate::{Backend, OnStall, TrainError};

/// Time between two checks of the memory, the number of workers and stalls.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// Time without a report of a worker after which progress says what it waits for.
const SILENCE: Duration = Duration::from_secs(3);

impl<B: Backend> Dispatcher<'_, '_, '_, B> {
    /// Does what is due by the clock: progress, the number of workers, memory, notices and stalls.
    pub(super) fn do_periodic_work(&mut self) -> Result<(), TrainError> {
        if self.last_progress.elapsed() >= self.options.progress_interval {
            self.report_progress_now();
        }
        if self.last_housekeeping.elapsed() < HOUSEKEEPING {
            return Ok(());
        }
        self.last_housekeeping = Instant::now();
        self.tune();
        self.check_memory();
        if let Some(text) = self.backend.notice() {
            (self.on_event)(TrainingEvent::Notice { text });
        }
        let Some((worker, silence)) = self.pool.newly_stalled(self.options.stall_timeout) else {
            return Ok(());
        };
        self.counts.stalls += 1;
        let stall = Stall {
            worker,
            silence,
            stack: self.pool.activity(worker).stack(),
        };
        (self.on_event)(TrainingEvent::Stalled(stall.clone()));
        match self.options.on_stall {
            OnStall::Report => Ok(()),
            OnStall::End => Err(TrainError::Stalled { stall }),
        }
    }

    /// Lets the tuner choose the number of active workers.
    fn tune(&mut self) {
        let Some(tuner) = &mut self.tuner else {
            return;
        };
        // Learn calls, not documents: a long document is progress long before it is done.
        let learned = match self.backend.finished() {
            Some(levels) => levels.iter().sum(),
            None => {
                let levels = self.session.shared.learns.iter();
                levels.map(|level| level.load(Ordering::Relaxed)).sum()
            }
        };
        if tuner.observe(self.session.start.elapsed(), learned) {
            // For progress and the report, which name the workers at work.
            self.counts.workers = tuner.active();
            self.dispatch.activate(tuner.active());
        }
    }

    /// Compares the memory of the process with the ceiling, and slows the run down above it.
    pub(super) fn check_memory(&mut self) {
        let Some(ceiling) = self.options.memory_ceiling else {
            return;
        };
        let Some(resident) = resident_memory() else {
            return;
        };
        let was_slowed = self.is_slowed;
        self.is_slowed = match was_slowed {
            // Back to full speed only below nine tenths of it, not back and forth at the ceiling.
            // Divided first, so that no ceiling overflows.
            true => resident > ceiling / 10 * 9,
            false => resident > ceiling,
        };
        self.set_pressure();
        if self.is_slowed && !was_slowed {
            (self.on_event)(TrainingEvent::Slowed { resident, ceiling });
        }
    }

    /// Tells the dispatch whether memory is short: by the ceiling, or for large documents.
    pub(super) fn set_pressure(&mut self) {
        let is_short = self.is_slowed || self.large.are_too_many();
        self.dispatch.set_memory_pressure(is_short);
    }

    /// Sends a progress event, whatever the clock says.
    pub(super) fn report_progress_now(&mut self) {
        self.last_progress = Instant::now();
        let Session {
            shared, earlier, ..
        } = self.session;
        let session_documents = shared.documents.load(Ordering::Relaxed);
        let session_failed = shared.failed.load(Ordering::Relaxed);
        // A backend that works while it is waited for counts finer than parts that were handed
        // over: one long document is seen to go on.
        let finished = self.backend.finished().unwrap_or_else(|| {
            let levels = shared.learns.iter();
            levels.map(|level| level.load(Ordering::Relaxed)).collect()
        });
        let learns = finished.iter().zip(&earlier.learns);
        let silent = self.pool.most_silent();
        let silent = silent.filter(|(_, silence)| *silence >= SILENCE);
        let waiting = silent.and_then(|(worker, _)| self.pool.activity(worker).stack().pop());
        (self.on_event)(TrainingEvent::Progress(Progress {
            documents: earlier.documents + session_documents,
            session_documents,
            session_tokens: shared.tokens.load(Ordering::Relaxed),
            errors: earlier.failed + session_failed + self.loader.counts().bad,
            records: self.loader.counts().records,
            bytes_read: self.loader.bytes_read(),
            total_bytes: self.loader.total_bytes(),
            learns: learns.map(|(now, earlier)| now + earlier).collect(),
            workers: self.counts.workers,
            waiting: waiting.map(|frame| frame.what),
            elapsed: self.session.start.elapsed(),
        }));
    }
}
