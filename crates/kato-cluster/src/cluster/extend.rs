//! Extending a plan by more corpus, which makes its next generation.

use kato_loader::StreamingDatasetLoaderBuilder;

use super::{Cluster, Completed};
use crate::ClusterError;
use crate::blocking;
use crate::generation::Base;
use crate::plan::{ExtendOptions, Plan};

impl Cluster {
    /// Plans the next generation: the corpus of the last one with more behind it, of which only what
    /// is new is learned. The last extension again is done before.
    ///
    /// `add` gets a builder with the files and the options of a generation's corpus and adds inputs to
    /// it; it may be called twice, for the generation before the last one as well, to find out
    /// whether that was extended so. All tasks of the last generation must be done, and its
    /// files must still be there and be what they were. What was published stays as it is.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unfinished`], [`ClusterError::Unplannable`] for a corpus that has no end to
    /// go on from (a random order, a mixture, a limit), [`ClusterError::OtherExtension`] where this
    /// corpus was added with other settings, and what reading the corpus or the store meets.
    pub async fn extend(
        &self,
        add: impl Fn(StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder
        + Clone
        + Send
        + 'static,
        options: &ExtendOptions,
    ) -> Result<Completed<Plan>, ClusterError> {
        let last = self.last_made().await?;
        // Asked for again, as a scheduler does that had no answer: nothing is added twice.
        if let Some(base) = last.base.clone() {
            let previous = self.plan_before(&base).await?;
            let (add, options, last) = (add.clone(), options.clone(), last.clone());
            let is_again = blocking::run(move || {
                let loader = previous.open_extended(&base, add)?;
                if loader.identity() != last.corpus {
                    return Ok(None);
                }
                let again = Plan::extend(&previous, base, loader, &options)?;
                Ok(Some((again == last, last)))
            })
            .await?;
            match is_again {
                None => {}
                Some((true, last)) => {
                    let done = Completed::Before(last);
                    self.witness(&done).await?;
                    return Ok(done);
                }
                Some((false, _)) => return Err(ClusterError::OtherExtension),
            }
        }
        let tasks = self.all_tasks(&last).await?;
        let checkpoint = super::publish::checkpoint(&last, &tasks);
        let base = Base {
            generation: last.generation(),
            plan: last.digest(),
            cursor: checkpoint.cursor,
            counters: checkpoint.counters,
        };
        let options = options.clone();
        let plan = blocking::run(move || {
            last.check_extendable()?;
            let loader = last.open_extended(&base, add)?;
            Plan::extend(&last, base, loader, &options)
        })
        .await?;
        // Where another is there, somebody has extended it otherwise meanwhile.
        let done = self.create_plan(plan).await?;
        done.ok_or(ClusterError::OtherExtension)
    }
}
