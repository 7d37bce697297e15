//! What a history keeps, and how it answers.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use kato_planner::history::accuracy::Trend;
use kato_planner::history::import::{original_runs, original_snapshot};
use kato_planner::history::record::{
    LevelOutcome, Machine, NewRun, Outcome, RecordedCorpus, RunSettings,
};
use kato_planner::history::{HistoryError, NewForecast, RunFilter, TrainingHistory};
use kato_planner::{Forecast, ForecastValue, Forecaster};
use rusqlite::Connection;
use serde_json::{Value, json};

const RECORDED: &str = include_str!("../data/history-runs.jsonl");

fn recorded() -> Vec<Value> {
    RECORDED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn whole_run() -> NewRun {
    let level = LevelOutcome {
        patterns: Some(30),
        bytes: Some(900),
        frequencies: BTreeMap::from([(1, 25), (2, 3), (9, 1)]),
        ..LevelOutcome::new("node0", 40)
    };
    let above = LevelOutcome {
        patterns: Some(7),
        ..LevelOutcome::new("node1", 7)
    };
    let outcome = Outcome {
        samples: 100,
        tokens: Some(9_000),
        errors: 1,
        warnings: 2,
        disk_bytes: Some(1_000),
        written_bytes: Some(5_000),
        memory_bytes: Some(1 << 30),
        cpu_percent: Some(180.0),
        levels: vec![level, above],
        ..Outcome::new(12.5)
    };
    let settings = RunSettings {
        memory_bytes: Some(256 << 20),
        backend: Some("embedded".to_owned()),
        other: BTreeMap::from([("tail".to_owned(), "drop".into())]),
        ..settings([5, 7], 2, Some(8))
    };
    NewRun {
        recorded: Some(at(1_700_000_000)),
        corpus: RecordedCorpus {
            fingerprint: Some("abc".to_owned()),
            bytes: Some(77),
            ..RecordedCorpus::new("wiki, \"raw\"")
        },
        machine: Machine {
            name: Some("Xeon".to_owned()),
            cores: Some(2),
            tier: Some("low".to_owned()),
            ..Machine::default()
        },
        estimate: Some(Forecast {
            seconds: Some(ForecastValue::with_interval(12.0, 11.0, 14.0)),
            disk_bytes: Some(900.0.into()),
            ..Forecast::default()
        }),
        notes: "first\nof all".to_owned(),
        ..NewRun::new(settings, outcome)
    }
}

fn settings(
    sizes: impl IntoIterator<Item = u64>,
    workers: u64,
    batch_size: Option<u64>,
) -> RunSettings {
    RunSettings {
        workers: Some(workers),
        batch_size,
        ..RunSettings::new(sizes)
    }
}

/// A run of which so many seconds were foretold.
fn foretold(run: NewRun, seconds: f64) -> NewRun {
    NewRun {
        estimate: Some(Forecast {
            seconds: Some(seconds.into()),
            ..Forecast::default()
        }),
        ..run
    }
}

/// An outcome that is not that of a whole corpus.
fn stopped(seconds: f64) -> Outcome {
    Outcome {
        complete: false,
        ..Outcome::new(seconds)
    }
}

#[test]
fn a_run_comes_back_as_it_was_recorded_also_from_another_opening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let run = whole_run();
    let id = TrainingHistory::open(&path).unwrap().record(&run).unwrap();
    assert_eq!(id, "run_c5-7_w2_s100");
    let history = TrainingHistory::open_existing(&path).unwrap();
    let found = history.run(&id).unwrap();
    assert_eq!(found.recorded, "2023-11-14T22:13:20.000Z");
    assert_eq!(
        (found.settings, found.corpus, found.machine),
        (run.settings, run.corpus, run.machine)
    );
    assert_eq!(
        (found.estimate, found.outcome, found.notes),
        (run.estimate, run.outcome, run.notes)
    );
}

#[test]
fn a_taken_id_gets_the_time_and_then_a_number() {
    let mut history = TrainingHistory::in_memory().unwrap();
    let ids: Vec<String> = (0..4)
        .map(|_| history.record(&whole_run()).unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "run_c5-7_w2_s100",
            "run_c5-7_w2_s100_1700000000",
            "run_c5-7_w2_s100_1700000000_2",
            "run_c5-7_w2_s100_1700000000_3",
        ]
    );
    let outcome = Outcome {
        samples: 7,
        ..Outcome::new(1.0)
    };
    let uniform = NewRun::new(settings([3; 5], 6, None), outcome);
    assert_eq!(uniform.default_id(), "run_c3x5_w6_s7");
}

#[test]
fn ids_may_be_shortened_while_one_run_begins_so() {
    let mut history = TrainingHistory::in_memory().unwrap();
    for id in ["alpha", "alphabet", "beta"] {
        let run_id = Some(id.to_owned());
        history
            .record(&NewRun {
                run_id,
                ..whole_run()
            })
            .unwrap();
    }
    assert_eq!(history.run("b").unwrap().run_id, "beta");
    assert_eq!(history.run("alpha").unwrap().run_id, "alpha");
    let told = history.run("al").unwrap_err().to_string();
    assert_eq!(
        told,
        "no run `al` in the history alone: it could be alpha, alphabet"
    );
    assert!(
        history
            .run("%")
            .unwrap_err()
            .to_string()
            .contains("kato history list")
    );
    assert_eq!(history.remove("b").unwrap(), "beta");
    assert_eq!(history.count().unwrap(), 2);
    assert_eq!(history.clear().unwrap(), 2);
    assert_eq!(history.count().unwrap(), 0);
}

#[test]
fn filters_keep_what_they_say_newest_first() {
    let mut history = TrainingHistory::in_memory().unwrap();
    let run = |id: &str, time, sizes: &[u64], samples, complete| {
        let outcome = Outcome {
            samples,
            complete,
            ..Outcome::new(1.0)
        };
        NewRun {
            run_id: Some(id.to_owned()),
            recorded: Some(at(time)),
            corpus: RecordedCorpus::new(if samples > 50 { "large" } else { "small" }),
            ..NewRun::new(RunSettings::new(sizes.iter().copied()), outcome)
        }
    };
    let runs = [
        run("a", 30, &[5, 7], 10, true),
        run("b", 10, &[5], 100, true),
        run("c", 20, &[5, 7], 100, false),
    ];
    history.record_all(&runs).unwrap();
    let ids = |filter: RunFilter| -> Vec<String> {
        history
            .runs(&filter)
            .unwrap()
            .into_iter()
            .map(|run| run.run_id)
            .collect()
    };
    let all = RunFilter::default;
    assert_eq!(ids(all()), ["a", "c", "b"]);
    assert_eq!(ids(all().with_limit(1)), ["a"]);
    assert_eq!(ids(all().with_corpus("large")), ["c", "b"]);
    assert_eq!(ids(all().with_chunk_sizes([5, 7])), ["a", "c"]);
    assert_eq!(ids(all().with_min_samples(100).with_complete_only()), ["b"]);
    assert_eq!(ids(all().with_corpus("' OR 1 --")), [""; 0]);
}

#[test]
fn accuracy_leaves_out_what_was_not_foretold_and_its_trend_is_that_of_time() {
    let mut history = TrainingHistory::in_memory().unwrap();
    // Errors of 50, 40, 10 and 0 per cent, recorded out of order; one run without, one not
    // complete.
    for (time, estimate) in [(4, 100.0), (1, 150.0), (3, 90.0), (2, 60.0)] {
        let run = NewRun {
            recorded: Some(at(time)),
            ..NewRun::new(RunSettings::new([5]), Outcome::new(100.0))
        };
        history.record(&foretold(run, estimate)).unwrap();
    }
    history
        .record(&NewRun::new(RunSettings::new([5]), Outcome::new(100.0)))
        .unwrap();
    let stopped = NewRun::new(RunSettings::new([5]), stopped(1.0));
    history.record(&foretold(stopped, 100.0)).unwrap();
    let accuracy = history.accuracy(&RunFilter::default()).unwrap();
    assert_eq!((accuracy.runs, accuracy.without_estimate), (6, 1));
    let seconds = accuracy.seconds.clone().unwrap();
    assert_eq!((seconds.runs, seconds.trend), (4, Trend::Improving));
    assert_eq!((seconds.mean_percent, seconds.worst_percent), (25.0, 50.0));
    assert_eq!(accuracy.disk_bytes, None);
    insta::assert_snapshot!(accuracy, @r"
    6 runs, 1 without an estimate
    time: 4 estimates, 25.0 % off on average (median 25.0 %, worst 50.0 %, bias +0.0 %), getting better
    bytes: nothing was foretold
    memory: nothing was foretold
    ");
}

#[test]
fn similar_runs_come_best_first() {
    let mut history = TrainingHistory::in_memory().unwrap();
    for (id, sizes, workers) in [
        ("other", vec![8], 1),
        ("near", vec![5, 7, 8], 2),
        ("same", vec![5, 7, 9], 2),
    ] {
        let run = NewRun {
            run_id: Some(id.to_owned()),
            ..NewRun::new(settings(sizes, workers, None), Outcome::new(1.0))
        };
        history.record(&run).unwrap();
    }
    let asked = settings([5, 7, 9], 2, Some(50));
    let similar = history.similar(&asked, 10).unwrap();
    let ids: Vec<_> = similar
        .iter()
        .map(|s| (s.run.run_id.as_str(), s.similarity))
        .collect();
    assert_eq!(ids[0], ("same", 1.0));
    assert_eq!(ids[1].0, "near");
    assert!((ids[1].1 - 0.65 / 0.85).abs() < 1e-12);
    assert_eq!(ids.len(), 2, "what shares nothing is left out");
}

#[test]
fn a_comparison_is_a_table_and_csv() {
    let mut history = TrainingHistory::in_memory().unwrap();
    history.record(&whole_run()).unwrap();
    let bare = NewRun {
        recorded: Some(at(1)),
        ..NewRun::new(RunSettings::new([8, 8]), stopped(0.0))
    };
    history.record(&bare).unwrap();
    let comparison = history.compare(&[], &RunFilter::default()).unwrap();
    insta::assert_snapshot!(comparison.to_string());
    insta::assert_snapshot!(comparison.to_csv().replace('\r', ""));
    let one = history
        .compare(&["run_c8".to_owned()], &RunFilter::default())
        .unwrap();
    assert_eq!(one.rows.len(), 1);
}

#[test]
fn writers_at_once_lose_nothing_and_share_no_id() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    // All open a file that is not there yet: one of them makes the tables.
    let ids: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut history = TrainingHistory::open(&path).unwrap();
                    (0..10)
                        .map(|_| history.record(&whole_run()).unwrap())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 60);
    let history = TrainingHistory::open(&path).unwrap();
    assert_eq!(history.count().unwrap(), 60);
    assert!(
        history
            .runs(&RunFilter::default())
            .unwrap()
            .iter()
            .all(|run| run.outcome.levels.len() == 2)
    );
}

#[test]
fn files_of_others_are_refused_and_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    assert!(matches!(
        TrainingHistory::open_existing(path("none")),
        Err(HistoryError::Missing { .. })
    ));
    assert!(!path("none").exists());
    std::fs::write(
        path("text"),
        "a text that is long enough to have a header of a hundred bytes, were it one",
    )
    .unwrap();
    let songs = Connection::open(path("songs")).unwrap();
    songs
        .execute_batch("CREATE TABLE songs (title TEXT)")
        .unwrap();
    let newer = TrainingHistory::open(path("newer")).unwrap();
    drop(newer);
    Connection::open(path("newer"))
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    for (name, expected) in [
        ("text", "no SQLite database"),
        ("songs", "something else"),
        ("newer", "schema 99"),
    ] {
        let before = std::fs::read(path(name)).unwrap();
        let told = TrainingHistory::open(path(name)).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
        assert_eq!(std::fs::read(path(name)).unwrap(), before, "{name}");
    }
    // A column that another program has broken.
    let mut history = TrainingHistory::open(path("mine")).unwrap();
    let id = history.record(&whole_run()).unwrap();
    Connection::open(path("mine"))
        .unwrap()
        .execute_batch("UPDATE runs SET outcome = '{'")
        .unwrap();
    assert!(matches!(
        history.run(&id),
        Err(HistoryError::Damaged { .. })
    ));
}

#[test]
fn times_that_are_none_are_refused() {
    let mut history = TrainingHistory::in_memory().unwrap();
    for seconds in [f64::NAN, f64::INFINITY, -1.0] {
        let run = NewRun::new(RunSettings::new([5]), Outcome::new(seconds));
        assert!(matches!(
            history.record(&run),
            Err(HistoryError::Value {
                field: "seconds",
                ..
            })
        ));
        let run = foretold(
            NewRun::new(RunSettings::new([5]), Outcome::new(1.0)),
            seconds,
        );
        assert!(history.record(&run).is_err());
    }
    assert_eq!(history.count().unwrap(), 0);
}

/// Makes a database as the original does, with the recorded runs.
fn original(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    let levels: Vec<String> = (0..10)
        .map(|n| {
            format!("node{n}_patterns INTEGER, node{n}_storage_mb REAL, node{n}_mean_freq REAL")
        })
        .collect();
    let table = format!(
        "CREATE TABLE training_runs (run_id TEXT PRIMARY KEY, timestamp TEXT, config TEXT, estimated_time_seconds REAL, \
         estimated_storage_gb REAL, estimated_memory_mb REAL, actual_time_seconds REAL, actual_storage_gb REAL, \
         documents_processed INTEGER, peak_memory_mb REAL, avg_cpu_percent REAL, errors INTEGER, warnings TEXT, \
         dataset_key TEXT, hardware_tier TEXT, notes TEXT, total_patterns INTEGER, total_storage_mb REAL, {})",
        levels.join(", ")
    );
    connection.execute_batch(&table).unwrap();
    for (idx, run) in recorded().iter().enumerate() {
        let config = json!({"num_levels": 5, "chunk_sizes": run["chunk_sizes"], "batch_size": run["batch_size"],
            "num_workers": run["num_workers"], "tokenizer": "gpt2"});
        connection
            .execute(
                "INSERT INTO training_runs (run_id, timestamp, config, estimated_time_seconds, estimated_storage_gb, \
                 actual_time_seconds, actual_storage_gb, documents_processed, peak_memory_mb, avg_cpu_percent, errors, warnings, \
                 dataset_key, hardware_tier, total_storage_mb) VALUES (?, ?, ?, 0, NULL, ?, ?, ?, ?, ?, 0, '[\"slow\"]', 'wikitext', 'low', ?)",
                rusqlite::params![
                    run["run_id"].as_str(),
                    format!("2025-10-21T12:{idx:02}:00.123456"),
                    config.to_string(),
                    run["wall_seconds"].as_f64(),
                    run["disk_write_gb"].as_f64(),
                    run["samples_requested"].as_i64(),
                    run["peak_memory_mb"].as_f64(),
                    run["avg_cpu_percent"].as_f64(),
                    run["total_storage_mb"].as_f64(),
                ],
            )
            .unwrap();
        for (level, outcome) in run["levels"].as_array().unwrap().iter().enumerate() {
            let sql = format!(
                "UPDATE training_runs SET node{level}_patterns = ?, node{level}_storage_mb = ?, node{level}_mean_freq = ? WHERE run_id = ?"
            );
            connection
                .execute(
                    &sql,
                    rusqlite::params![
                        outcome["unique_patterns"].as_i64(),
                        outcome["data_size_mb"].as_f64(),
                        outcome["mean_frequency"].as_f64(),
                        run["run_id"].as_str()
                    ],
                )
                .unwrap();
        }
    }
}

#[test]
fn the_history_of_the_original_is_imported_whole_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("training_history.db");
    original(&path);
    let told = TrainingHistory::open(&path).unwrap_err().to_string();
    assert!(told.contains("kato history import"), "{told}");

    let mut history = TrainingHistory::in_memory().unwrap();
    let runs = original_runs(&path).unwrap();
    let ids = history.import(runs.clone()).unwrap();
    assert_eq!(ids.len(), recorded().len());
    assert_eq!(history.import(runs).unwrap().len(), 0);
    for run in recorded() {
        let found = history.run(run["run_id"].as_str().unwrap()).unwrap();
        assert!(
            found.recorded.starts_with("2025-10-21T12:"),
            "{}",
            found.recorded
        );
        assert_eq!(found.outcome.patterns(), run["total_patterns"].as_u64());
        assert_eq!(
            found.outcome.learns(),
            run["total_observations"].as_u64().unwrap()
        );
        // What the original calls storage is what was written to the disks, here and elsewhere.
        let mb = found.outcome.disk_bytes.unwrap() as f64 / 1_048_576.0;
        assert!((mb - run["total_storage_mb"].as_f64().unwrap()).abs() < 1e-5);
        assert!(found.outcome.written_bytes.unwrap() > 10 * found.outcome.disk_bytes.unwrap());
        assert_eq!(
            (found.outcome.warnings, found.settings.workers),
            (1, Some(6))
        );
        assert_eq!(found.estimate, None, "an estimate of 0 is none");
    }
    let similar = history.similar(&settings([3; 5], 6, Some(100)), 3).unwrap();
    assert_eq!(similar[0].run.run_id, "run_c3x5_w6_s1000_1761094246");
}

#[test]
fn a_snapshot_of_the_original_is_imported_with_its_frequencies_as_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("snapshot.json");
    let run = &recorded()[0];
    let nodes: serde_json::Map<String, Value> = run["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| {
            let node = json!({"total_patterns": level["unique_patterns"], "total_observations": level["observations"],
                "db_size_mb": level["data_size_mb"], "frequency_histogram": level["freq_hist"]});
            (level["node"].as_str().unwrap().to_owned(), node)
        })
        .collect();
    let snapshot = json!({"run_id": "run_x", "timestamp": "2025-10-21T12:00:00", "config": {"chunk_sizes": [3, 3, 3, 3, 3]},
        "nodes": nodes, "total_storage_mb": run["total_storage_mb"]});
    std::fs::write(&path, snapshot.to_string()).unwrap();
    let mut history = TrainingHistory::in_memory().unwrap();
    let run = original_snapshot(&path).unwrap();
    assert_eq!(history.import(vec![run.clone()]).unwrap(), ["run_x"]);
    assert!(history.import(vec![run]).unwrap().is_empty());
    let found = history.run("run_x").unwrap();
    assert_eq!(found.outcome.levels.len(), 5);
    let frequencies: Vec<u64> = found.outcome.levels[0]
        .frequencies
        .keys()
        .copied()
        .collect();
    assert_eq!(
        frequencies,
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 17],
        "by number, not as text"
    );
    let counted: u64 = found.outcome.levels[0]
        .frequencies
        .iter()
        .map(|(f, n)| f * n)
        .sum();
    assert_eq!(counted, found.outcome.levels[0].learns);
    std::fs::write(&path, "[]").unwrap();
    assert!(matches!(
        original_snapshot(&path),
        Err(HistoryError::Import { .. })
    ));
    assert!(matches!(
        original_runs(&path),
        Err(HistoryError::Import { .. })
    ));
}

#[test]
fn a_history_is_cleared_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs.db");
    let mut history = TrainingHistory::open(&path).unwrap();
    let run = history.record(&whole_run()).unwrap();
    let made_for = new_forecast(1000, Forecaster::Plan);
    history.record_forecast(&made_for).unwrap();
    // As where the disk is full, or the process is killed, between the two.
    let fault =
        "CREATE TRIGGER fault BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'cut off'); END";
    Connection::open(&path)
        .unwrap()
        .execute_batch(fault)
        .unwrap();
    history.clear().unwrap_err();
    assert_eq!(history.run(&run).unwrap().run_id, run);
    let kept = history.forecast(&made_for.settings, &made_for.corpus, &made_for.machine);
    assert!(kept.unwrap().is_some());
}

/// A forecast of a run like [`whole_run`], of so many bytes of corpus.
fn new_forecast(bytes: u64, made_by: Forecaster) -> NewForecast {
    let run = whole_run();
    let seconds = ForecastValue::with_interval(10.0, 9.0, 12.0);
    NewForecast {
        settings: run.settings,
        corpus: RecordedCorpus {
            bytes: Some(bytes),
            ..run.corpus
        },
        machine: run.machine,
        forecast: Forecast {
            made_by: Some(made_by),
            seconds: (made_by == Forecaster::Plan).then_some(seconds),
            disk_bytes: Some(1000.0.into()),
            ..Forecast::default()
        },
    }
}

#[test]
fn a_run_finds_the_newest_forecast_of_its_time_and_no_other_runs() {
    let mut history = TrainingHistory::in_memory().unwrap();
    let run = whole_run();
    let asked = |history: &TrainingHistory, bytes, workers| {
        let settings = RunSettings {
            workers,
            ..run.settings.clone()
        };
        let corpus = RecordedCorpus {
            bytes: Some(bytes),
            ..run.corpus.clone()
        };
        let found = history.forecast(&settings, &corpus, &run.machine).unwrap();
        found.map(|found| found.made_by.unwrap())
    };
    assert_eq!(asked(&history, 1000, Some(2)), None);
    for new in [
        new_forecast(1000, Forecaster::Plan),
        new_forecast(1000, Forecaster::Estimate),
        new_forecast(5000, Forecaster::Estimate),
    ] {
        history.record_forecast(&new).unwrap();
    }
    let (plan, estimate) = (Some(Forecaster::Plan), Some(Forecaster::Estimate));
    assert_eq!(asked(&history, 1040, Some(2)), plan, "within a twentieth");
    assert_eq!(
        asked(&history, 1000, None),
        plan,
        "workers are not known yet"
    );
    assert_eq!(asked(&history, 5000, Some(2)), estimate);
    assert_eq!(asked(&history, 2000, Some(2)), None, "another size");
    assert_eq!(asked(&history, 1000, Some(3)), None, "other settings");
    assert_eq!(history.count().unwrap(), 0, "forecasts are no runs");
    history.clear().unwrap();
    assert_eq!(asked(&history, 1000, Some(2)), None);
}

#[test]
fn only_forecasts_with_intervals_alike_teach_the_next_one() {
    let mut history = TrainingHistory::in_memory().unwrap();
    let forecast = |half: f64| Forecast {
        made_by: Some(Forecaster::Estimate),
        disk_bytes: Some(ForecastValue::with_interval(1e6, 1e6 / half, 1e6 * half)),
        ..Forecast::default()
    };
    // Counted, it took what was foretold; inferred, twice as much.
    let run = whole_run();
    for (half, bytes) in [(1.02, 1_000_000), (1.03, 1_000_000), (3.0, 2_000_000)] {
        let outcome = Outcome {
            disk_bytes: Some(bytes),
            ..run.outcome.clone()
        };
        let told = NewRun {
            estimate: Some(forecast(half)),
            outcome,
            ..run.clone()
        };
        history.record(&told).unwrap();
    }
    let taught = |next: Option<Forecast>| {
        let (by, machine) = (Forecaster::Estimate, &run.machine);
        let found = history.corrections(by, "embedded", machine, next.as_ref());
        let correction = found.unwrap().disk_bytes.unwrap();
        (correction.runs, correction.factor)
    };
    assert_eq!(taught(Some(forecast(1.025))), (2, 1.0));
    let (runs, factor) = taught(Some(forecast(2.0)));
    assert_eq!(runs, 1);
    assert!((factor - 2f64.cbrt()).abs() < 1e-12, "{factor}");
    assert_eq!(taught(None).0, 3);
}

#[test]
fn errors_of_a_machine_correct_its_next_forecast_and_no_others() {
    let mut history = TrainingHistory::in_memory().unwrap();
    // Foretold 12 s, took 6, each time.
    let run = whole_run();
    let took = Outcome {
        seconds: 6.0,
        ..run.outcome.clone()
    };
    let by = |made_by| {
        let forecast = run.estimate.map(|of| Forecast { made_by, ..of });
        NewRun {
            estimate: forecast,
            outcome: took.clone(),
            ..run.clone()
        }
    };
    for _ in 0..2 {
        history.record(&by(Some(Forecaster::Plan))).unwrap();
        history.record(&by(None)).unwrap();
        let stopped = stopped(1.0);
        let run = NewRun {
            outcome: stopped,
            ..by(Some(Forecaster::Plan))
        };
        history.record(&run).unwrap();
    }
    let corrections = |made_by, backend, machine| {
        history
            .corrections(made_by, backend, machine, None)
            .unwrap()
    };
    let found = corrections(Forecaster::Plan, "embedded", &run.machine);
    let seconds = found.seconds.unwrap();
    assert_eq!(seconds.runs, 2);
    assert!(
        (seconds.factor - 0.5f64.sqrt()).abs() < 1e-12,
        "{seconds:?}"
    );
    let told = found.apply(&new_forecast(1, Forecaster::Plan).forecast);
    assert!((told.seconds.unwrap().value - 7.07).abs() < 0.01);
    assert_eq!(told.seconds.unwrap().correction, Some(seconds));
    let nothing = kato_planner::history::Corrections::default();
    assert_eq!(
        corrections(Forecaster::Estimate, "embedded", &run.machine),
        nothing
    );
    assert_eq!(
        corrections(Forecaster::Plan, "mongodb", &run.machine),
        nothing
    );
    assert_eq!(
        corrections(Forecaster::Plan, "embedded", &Machine::default()),
        nothing
    );
}
