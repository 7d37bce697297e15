//! Makes training wait for each checkpoint: what `training.checkpoints = "blocking"` asks for.

use kato_neural::BoxError;
use kato_neural::checkpoint::CheckpointWriter;
use kato_neural::train::{FitEvent, Observer, Trainer};

use super::observer::Watch;
use crate::training::Reconstruction;

/// Watches a training and waits until what was saved is on the disk.
pub(super) struct Waiting<'a, 'b> {
    watch: &'a mut Watch<'b>,
    writer: &'a CheckpointWriter,
}

impl<'a, 'b> Waiting<'a, 'b> {
    pub(super) fn new(watch: &'a mut Watch<'b>, writer: &'a CheckpointWriter) -> Self {
        Self { watch, writer }
    }
}

impl Observer<Reconstruction> for Waiting<'_, '_> {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        if let FitEvent::Saved { stalled, .. } = event {
            let begun = std::time::Instant::now();
            if let Err(error) = self.writer.flush() {
                self.watch.fail(error.into());
            }
            self.watch.stood_still(stalled + begun.elapsed());
            return true;
        }
        self.watch.on_event(event)
    }

    fn judge(
        &mut self,
        trainer: &Trainer<Reconstruction>,
        epoch: u64,
    ) -> Result<Option<f64>, BoxError> {
        self.watch.judge(trainer, epoch)
    }
}
