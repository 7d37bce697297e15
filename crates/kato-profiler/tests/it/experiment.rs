//! Slowing a stage down tells whether it bounds the pipeline.

use std::sync::atomic::{AtomicBool, Ordering};

use kato_probe::{Probe, ThreadState, Wait};
use kato_profiler::experiment::{Elasticity, ExperimentOutcome, ThrottleExperiment};
use kato_profiler::verdict::Cause;
use kato_profiler::{ProfileError, ProfilingEngine};
use kato_test_needs::wait_until;

use crate::support::{Pipeline, STAGES, asleep, millis, pass};

/// Stops the pipeline also when a test fails, which would wait for it forever.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn while_running<T>(pipeline: &Pipeline, probe: &Probe, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        scope.spawn(|| pipeline.run(probe, &stop));
        wait_until("items come through", || n_committed(probe) > 0);
        act()
    })
}

/// Items that the last stage has done.
fn n_committed(probe: &Probe) -> u64 {
    let reading = probe.read().unwrap();
    let commit = reading.stages.iter().find(|stage| stage.name == "commit");
    commit.map_or(0, |stage| stage.items)
}

/// Asks until the answer is clear, at most twenty times: other programs may hold windows up.
fn ask(experiment: &ThrottleExperiment, probe: &Probe) -> Elasticity {
    let experiment = experiment
        .clone()
        .with_share(0.5)
        .with_window(millis(250.0))
        .with_pairs(4);
    let mut answers = (0..20).filter_map(|_| experiment.run(probe).ok());
    let clear = answers.find(|found| found.outcome != ExperimentOutcome::Unclear);
    clear.expect("a clear answer in twenty")
}

#[test]
fn the_stage_that_bounds_is_confirmed_and_the_others_are_refuted() {
    let probe = Probe::on(STAGES);
    let pipeline = Pipeline {
        learn: asleep(4.0),
        commit: asleep(1.0),
        ..Pipeline::default()
    };
    let (learn, commit) = while_running(&pipeline, &probe, || {
        (
            ask(&ThrottleExperiment::new("learn"), &probe),
            ask(&ThrottleExperiment::new("commit"), &probe),
        )
    });
    println!("{learn:?}\n{commit:?}");
    assert_eq!(learn.outcome, ExperimentOutcome::Confirmed);
    assert!((0.5..=1.5).contains(&learn.elasticity), "{learn:?}");
    assert_eq!(commit.outcome, ExperimentOutcome::Refuted);
}

#[test]
fn a_verdict_can_be_confirmed_while_the_run_goes_on() {
    let probe = Probe::on(STAGES);
    let pipeline = Pipeline {
        commit: asleep(4.0),
        ..Pipeline::default()
    };
    let found = while_running(&pipeline, &probe, || {
        let engine = ProfilingEngine::builder()
            .with_probe(probe.clone())
            .with_sampling_interval(millis(20.0));
        let profile = engine.build().unwrap().start().unwrap();
        let before = n_committed(&probe);
        wait_until("it is told by many items", || {
            n_committed(&probe) >= before + 50
        });
        let verdict = profile.stop().verdict;
        assert_eq!(verdict.stage.as_deref(), Some("commit"));
        ask(&ThrottleExperiment::from_verdict(&verdict).unwrap(), &probe)
    });
    assert_eq!(found.outcome, ExperimentOutcome::Confirmed, "{found:?}");
}

#[test]
fn afterwards_the_stage_has_its_full_speed_even_if_the_experiment_failed() {
    let probe = Probe::on(["learn"]);
    let experiment = ThrottleExperiment::new("learn")
        .with_share(2.0)
        .with_window(millis(20.0))
        .with_pairs(3);
    let error = experiment.run(&probe).unwrap_err();
    assert!(matches!(error, ProfileError::Experiment { .. }));
    assert!(error.to_string().contains("longer windows"), "{error}");
    let _thread = probe.thread("learn");
    for _ in 0..10 {
        kato_probe::thread::set(ThreadState::Busy);
        pass(millis(5.0));
        kato_probe::thread::set(ThreadState::Blocked(Wait::Downstream));
    }
    let busy = probe.read().unwrap().stages[0].seconds.busy;
    // A stage slowed by 2 would need three times its 50 ms; the pauses count as busy.
    assert!(busy < 0.14, "{busy} s");
}

#[test]
fn a_verdict_without_a_stage_cannot_be_tried() {
    let profile = ProfilingEngine::builder().build().unwrap().start().unwrap();
    let mut verdict = profile.stop().verdict;
    verdict.stage = None;
    assert!(ThrottleExperiment::from_verdict(&verdict).is_err());
    verdict.stage = Some("load".to_owned());
    verdict.cause = Cause::Source;
    assert!(ThrottleExperiment::from_verdict(&verdict).is_err());
    verdict.cause = Cause::Cpu;
    assert_eq!(
        ThrottleExperiment::from_verdict(&verdict).unwrap(),
        ThrottleExperiment::new("load")
    );
}
