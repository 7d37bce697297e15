//! A probe hears what a run does, and changes nothing of what is learned.

use kato_probe::reading::StageReading;
use kato_probe::{Probe, Reading};
use kato_scheduler::TrainingReport;
use kato_scheduler::stages::STAGES;
use kato_store::PatternStore;
use proptest::prelude::*;

use crate::support::{
    Corpus, LEARNER, Oracle, Settings, go_on, memory_store, plain_records, records, settings,
};

fn trained(
    corpus: &Corpus,
    settings: &Settings,
    probe: Probe,
) -> (impl PatternStore, TrainingReport) {
    let store = memory_store(&LEARNER);
    let mut options = settings.lenient();
    options.probe = probe;
    let report = go_on(corpus.lenient(), &LEARNER, &store, &options, |_event| {}).unwrap();
    (store, report)
}

fn stage<'a>(reading: &'a Reading, name: &str) -> &'a StageReading {
    let found = reading.stages.iter().find(|stage| stage.name == name);
    found.unwrap_or_else(|| panic!("no stage {name}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_learned_is_the_same_with_a_probe(records in records(60), settings in settings()) {
        let corpus = Corpus::new(&records);
        let (store, _) = trained(&corpus, &settings, Probe::on(STAGES));
        Oracle::of(&LEARNER, corpus.lenient()).assert_learned(&store);
    }
}

#[test]
fn a_probe_counts_what_the_report_counts() {
    let corpus = Corpus::new(&plain_records(300));
    let probe = Probe::on(STAGES);
    let (_, report) = trained(&corpus, &Settings::EAGER, probe.clone());
    let reading = probe.read().unwrap();

    let names: Vec<_> = reading
        .stages
        .iter()
        .map(|stage| stage.name.as_str())
        .collect();
    assert_eq!(names, STAGES);
    assert_eq!(stage(&reading, "load").items, report.documents_attempted);
    assert_eq!(stage(&reading, "learn").items, report.documents_processed);
    let observations = reading.nodes.iter().map(|node| node.learns);
    assert!(observations.eq(report.levels.iter().map(|level| level.learns)));
    let nodes = reading.nodes.iter().map(|node| node.name.as_str());
    assert!(nodes.eq(report.levels.iter().map(|level| level.node.as_str())));
}

#[test]
fn some_learn_calls_of_every_level_are_timed() {
    let corpus = Corpus::new(&plain_records(300));
    let probe = Probe::on(STAGES);
    trained(&corpus, &Settings::EAGER, probe.clone());
    for node in probe.read().unwrap().nodes {
        let timed = node.latency.count();
        assert!(timed > 0 && timed < node.learns, "{}: {timed}", node.name);
        assert!(node.latency.sum_seconds() > 0.0);
    }
}

#[test]
fn after_a_run_nobody_is_at_work_and_no_work_waits() {
    let corpus = Corpus::new(&plain_records(100));
    let probe = Probe::on(STAGES);
    let (_, report) = trained(&corpus, &Settings::EAGER, probe.clone());
    let reading = probe.read().unwrap();

    for stage in &reading.stages {
        assert!(stage.threads.is_empty(), "{stage:?}");
        assert!(stage.seconds.busy > 0.0, "{stage:?}");
    }
    assert!(
        reading.queues.iter().all(|queue| queue.len == 0),
        "{:?}",
        reading.queues
    );
    // As many threads as there were workers, each for no longer than the run.
    let learn = stage(&reading, "learn");
    let most = reading.seconds * report.n_workers as f64;
    assert!(learn.seconds.present() <= most, "{learn:?} in {most} s");
    let told = report.stage_seconds;
    for (what, seconds) in [
        ("load", told.load),
        ("learn", told.learn),
        ("stage", told.stage),
        ("commit", told.commit),
    ] {
        assert!(seconds > 0.0 && seconds <= most, "{what}: {seconds}");
    }
}

#[test]
fn a_stage_that_is_throttled_slows_the_run_down_and_learns_the_same() {
    let corpus = Corpus::new(&plain_records(400));
    let busy_and_paused = |share: f64| {
        let probe = Probe::on(STAGES);
        assert!(probe.throttle("learn", share));
        let mut settings = Settings::EAGER;
        settings.workers = 1;
        let (store, _) = trained(&corpus, &settings, probe.clone());
        Oracle::of(&LEARNER, corpus.lenient()).assert_learned(&store);
        stage(&probe.read().unwrap(), "learn").seconds.present()
    };
    // Ten times its own work in pauses. A loaded machine can only lengthen a run, so one that is not throttled
    // is shorter sooner or later.
    let throttled = busy_and_paused(10.0);
    let is_shorter = |_| busy_and_paused(0.0) < throttled;
    assert!(
        (0..10).any(is_shorter),
        "none is shorter than {throttled} s"
    );
}
