//! Replicas of a run's model, each a thread with its share of the others.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use kato_neural::collective::{Collective, ThreadGroup};
use kato_neural::run::RunError;
use kato_neural::train::{Task, Trainer};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::MicrobesError;

/// Lets a trainer take its steps together with others, if there are any.
pub(super) fn joined<T: Task>(
    trainer: Trainer<T>,
    collective: Option<Arc<dyn Collective>>,
) -> Result<Trainer<T>, MicrobesError> {
    match collective {
        Some(collective) => Ok(trainer.with_collective(collective)?),
        None => Ok(trainer),
    }
}

/// Runs `n` replicas at the same time: `first`, whose result is returned, and beside it `other` for each
/// of the rest. One alone has nobody to talk to.
pub(super) fn together<R: Send>(
    n: usize,
    first: impl FnOnce(Option<Arc<dyn Collective>>) -> Result<R, MicrobesError> + Send,
    other: impl Fn(Arc<dyn Collective>) -> Result<(), MicrobesError> + Sync,
) -> Result<R, MicrobesError> {
    if n < 2 {
        return first(None);
    }
    let n_threads = (rayon::current_num_threads() / n).max(1);
    let pools: Result<Vec<ThreadPool>, _> = (0..n).map(|_| pool(n_threads)).collect();
    let members = ThreadGroup::split(n).into_iter();
    let mut members = members.map(|member| Arc::new(member) as Arc<dyn Collective>);
    let (pools, leader, other) = (pools?, members.next(), &other);
    thread::scope(|scope| {
        let followers = members
            .zip(&pools[1..])
            .map(|(member, pool)| scope.spawn(move || pool.install(|| other(member))));
        let followers: Vec<_> = followers.collect();
        let led = pools[0].install(|| first(leader));
        let mut gone = None;
        for follower in followers {
            match follower.join() {
                Ok(Ok(())) => {}
                // It only tells that another one has failed, whose error says more.
                Ok(Err(error)) if error.is_gone() => gone = Some(error),
                Ok(Err(error)) => return Err(error),
                Err(panic) => resume_unwind(panic),
            }
        }
        match (led, gone) {
            (Ok(_), Some(error)) => Err(error),
            (led, _) => led,
        }
    })
}

fn pool(n_threads: usize) -> Result<ThreadPool, MicrobesError> {
    let pool = ThreadPoolBuilder::new().num_threads(n_threads).build();
    pool.map_err(|error| {
        let expected = "as many as the system has threads for";
        RunError::setting("training.replicas", &error, expected).into()
    })
}

#[cfg(test)]
mod tests {
    use kato_neural::Error;
    use kato_neural::burn::module::{Module, ModuleVisitor, Param};
    use kato_neural::burn::tensor::{Device, Tensor};
    use kato_neural::train::BatchSource as _;
    use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Tree};

    use super::super::fit::trained;
    use super::*;
    use crate::community::Microbes;
    use crate::metadata::{SampleMetadata, TargetKind};
    use crate::model::values;
    use crate::settings::MicrobesSettings;
    use crate::synth::{SynthOptions, synth};
    use crate::training::{Objective, SampleBatches};
    use crate::work::Work;
    use kato_neural::run::RunSettings;

    const SMALL: &str = "
        data = { depth = 60, tokens = { max_bp = 20 } }
        model = { width = 8, heads = 2, nucleotide_layers = 1, sample_layers = 1, chunk = 7, abundance = false }
        loss = { masked = 0.3, counts = 0.5 }
        training = { batch = 5 }
    ";

    fn works(settings: &MicrobesSettings) -> [Work; 3] {
        let options = SynthOptions::default().with_size(30, 20);
        let made = synth(&options.with_length(20).with_depth(60)).unwrap();
        let microbes = Microbes::prepare(&made.table, &settings.data).unwrap();
        let tree = Tree::from_newick(&made.newick).unwrap();
        let community = Community::new(&microbes.table, &tree, MatchOptions::default()).unwrap();
        let matrix = community.distances(Metric::Unweighted, ComputeOptions::default());
        let ids = microbes.table.sample_ids();
        let aligned = crate::distances::align(&matrix.unwrap(), ids);
        let metadata = SampleMetadata::from_text(&made.metadata).unwrap();
        let target = |column| {
            let target = metadata.target(column, TargetKind::Auto, ids).unwrap();
            Work::from_target(microbes.clone(), target)
        };
        let targets = [target("single"), target("single_class")];
        let [numbers, classes] = targets;
        let distances = Work::from_distances(microbes.clone(), aligned).unwrap();
        [distances, numbers, classes]
    }

    fn weights<M: Module>(model: &M) -> Vec<Vec<f32>> {
        struct Collector(Vec<Vec<f32>>);
        impl ModuleVisitor for Collector {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push(values(param.val()));
            }
        }
        let mut collector = Collector(Vec::new());
        model.valid().visit(&mut collector);
        collector.0
    }

    /// Takes a step over two batches; returns its loss, and how far each weight moved, which is a smooth
    /// function of its gradient.
    fn step(
        settings: &MicrobesSettings,
        work: &Work,
        collective: Option<Arc<dyn Collective>>,
    ) -> (f64, Vec<Vec<f32>>) {
        let parts = work.parts(&settings.split).unwrap();
        let objective = Objective::new(work, &parts, &settings.loss);
        let source = SampleBatches::new(work, &parts.train, settings, objective.clone()).unwrap();
        let device = Device::flex().autodiff();
        let (task, model, mut options) = trained(settings, work, objective, None, &device).unwrap();
        options.adam.epsilon = 0.1;
        let before = weights(&model);
        let trainer = Trainer::new(task, model, options).unwrap();
        let mut trainer = joined(trainer, collective).unwrap();
        let plan = source.plan(0);
        let batches = [0, 1].map(|index| {
            let items = plan.batch(index as usize).unwrap();
            source.batch(0, index, items)
        });
        let report = trainer.step(0.1, &batches).unwrap();
        let mut moved = weights(trainer.whole().unwrap());
        for (after, before) in moved.iter_mut().flatten().zip(before.iter().flatten()) {
            *after -= before;
        }
        (report.loss, moved)
    }

    fn assert_same(what: &str, found: &(f64, Vec<Vec<f32>>), expected: &(f64, Vec<Vec<f32>>)) {
        let gap = (found.0 - expected.0).abs() / expected.0.abs();
        assert!(gap < 1e-5, "{what}: the loss is off by {gap}");
        for (found, expected) in found.1.iter().zip(&expected.1) {
            let largest = expected.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
            let gaps = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
            let widest = gaps.fold(0.0, f32::max);
            // Weights are near one, and what moved them is the difference of two.
            assert!(
                widest <= 1e-4 * largest + 2e-7,
                "{what}: {widest} of {largest}"
            );
        }
    }

    #[test]
    fn a_step_is_that_of_one_model_whoever_encodes_which_sequences() {
        let mut settings = MicrobesSettings::from_toml(SMALL).unwrap();
        for (work, freeze) in works(&settings).into_iter().zip([false, false, true]) {
            settings.training.freeze = freeze;
            settings.training.replicas = 1;
            settings.training.max_tokens_at_once = None;
            let expected = step(&settings, &work, None);
            for max in [None, Some(1), Some(100)] {
                settings.training.max_tokens_at_once = max;
                settings.training.sharded = max.is_some();
                for n in [1, 2, 3, 7] {
                    settings.training.replicas = n;
                    let what = format!("{n} replicas, {max:?} tokens at once");
                    let run = |collective| Ok(step(&settings, &work, collective));
                    let alike = std::sync::Mutex::new(Vec::new());
                    let found = together(n, run, |collective| {
                        let found = step(&settings, &work, Some(collective));
                        alike.lock().unwrap().push(found.1);
                        Ok(())
                    });
                    let found = found.unwrap();
                    assert_same(&what, &found, &expected);
                    // To the bit, or they would drift apart.
                    let alike = alike.into_inner().unwrap();
                    assert!(alike.iter().all(|other| *other == found.1), "{what} differ");
                }
            }
        }
    }

    #[test]
    fn the_error_of_any_replica_is_told_and_ends_all() {
        let failed = || MicrobesError::from(RunError::setting("x", &1, "2"));
        for bad in 0..3 {
            let wait = |collective: Arc<dyn Collective>| -> Result<(), MicrobesError> {
                if collective.rank() == bad {
                    return Err(failed());
                }
                let said = collective.gather(&[1]);
                let step = 0;
                said.map_err(|source| Error::Collective { step, source })?;
                Ok(())
            };
            let first = |collective: Option<Arc<dyn Collective>>| wait(collective.unwrap());
            let error = together(3, first, wait).unwrap_err();
            assert_eq!(error.to_string(), failed().to_string(), "rank {bad}");
        }
    }

    #[test]
    fn plain_operations_give_the_fused_ones_result() {
        let mut settings = MicrobesSettings::from_toml(SMALL).unwrap();
        let [work, ..] = works(&settings);
        let expected = step(&settings, &work, None);
        settings.training.fused = false;
        let plain = step(&settings, &work, None);
        assert_same("plain operations", &plain, &expected);
        settings.training.recompute = false;
        assert!(step(&settings, &work, None) == plain, "results kept");
    }
}
