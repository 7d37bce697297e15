//! Reading documents, and where an epoch ends.

use std::sync::Arc;
use std::time::Instant;

use kato_probe::ThreadState;

use super::{Dispatcher, Position};
use crate::backend::WorkSize;
use crate::{Backend, TrainError};

impl<B: Backend> Dispatcher<'_, '_, '_, B> {
    /// Reads the next documents and takes them in, or ends the intake where there are none.
    pub(super) fn load(&mut self) -> Result<(), TrainError> {
        let clock = &self.session.clocks.load;
        let position = self.loader.cursor().documents();
        let work_size = self.backend.work_size(position);
        let busy = kato_probe::thread::during(ThreadState::Busy);
        self.session.reading.turn();
        let loaded = clock.time(|| match work_size {
            WorkSize::Bytes => self.loader.next_batch(self.batch_bytes),
            WorkSize::Documents(number) => self.loader.next_documents(number),
        });
        self.session.reading.turn();
        drop(busy);
        self.bad_records.append(&mut self.loader.take_bad_records());
        match loaded {
            Ok(Some(documents)) => {
                // In front of handing out: a backend may have to remember what travels together
                // before it is sent.
                self.backend.begin_work(position, documents.len())?;
                kato_probe::thread::add_items(documents.len() as u64);
                let group = match work_size {
                    WorkSize::Bytes => None,
                    WorkSize::Documents(number) => {
                        // From the position in the corpus alone, so that a group has the same
                        // number in every session.
                        Some(documents.first_index() / number.get() as u64)
                    }
                };
                let batch = self.dispatch.add_batch(documents.len(), group);
                self.large.add(batch, documents.text_bytes());
                self.set_pressure();
                self.batches.insert(batch, Arc::new(documents));
                // Between two batches, because the position of an epoch is the cursor behind a
                // whole batch.
                if self.epoch_start.elapsed() >= self.options.commit_interval {
                    self.close_epoch();
                }
            }
            Ok(None) => self.end(),
            // The reading was ended by the stop signal, which the loop looks at next.
            Err(_) if self.options.stop.is_stopped() => {}
            Err(error) => {
                // Everything in front of the error is learned and committed before the run ends
                // with it.
                self.unreadable = Some(error);
                self.end();
            }
        }
        // Behind the last batch, which is learned and committed with what was skipped in it.
        self.limit_failures();
        Ok(())
    }

    /// Ends the intake of documents, and closes the last epoch.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
        self.dispatch.end();
        self.close_epoch();
    }

    /// Closes the open epoch at the present position of the loader.
    fn close_epoch(&mut self) {
        let epoch = self.epochs.entry(self.dispatch.open_epoch()).or_default();
        epoch.position = Some(Position {
            cursor: self.loader.cursor(),
            bad_records: std::mem::take(&mut self.bad_records),
            // By the position and not by how the session ends: a complete run stays complete when a
            // session on it is stopped, and a limit on documents completes nothing.
            complete: self.loader.is_exhausted(),
        });
        self.dispatch.close_epoch();
        self.epoch_start = Instant::now();
    }
}
