//! What the Python original has recorded: its database of runs, and its snapshots of knowledge.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::Forecast;
use crate::history::file::read_only;
use crate::history::record::{LevelOutcome, Machine, NewRun, Outcome, RecordedCorpus, RunSettings};
use crate::history::{HistoryError, TrainingHistory};

/// Bytes of the original's megabytes and gigabytes, which are powers of 1024.
const MEBIBYTE: f64 = 1_048_576.0;
const GIBIBYTE: f64 = 1_073_741_824.0;

/// Levels for which the original's table has columns.
const LEVELS: usize = 10;

/// Reads the original's database of runs, in the order in which they were recorded.
///
/// What the original calls the storage of a run is what all programs wrote to the disks meanwhile,
/// so it becomes [`Outcome::written_bytes`]; the bytes on the disk are those of its snapshot, where
/// there was one. An estimate of 0 is none. Columns that an older version did not have are taken
/// for empty.
///
/// # Errors
///
/// [`HistoryError::Missing`] where there is no file, [`HistoryError::Import`] where it is no such
/// database or a row makes no sense.
pub fn original_runs(path: impl AsRef<Path>) -> Result<Vec<NewRun>, HistoryError> {
    let path = path.as_ref();
    let wrong = |reason: String| HistoryError::Import {
        path: path.to_owned(),
        reason,
    };
    let connection = read_only(path)?;
    let failed = |error: rusqlite::Error| wrong(error.to_string());
    let mut statement = connection
        .prepare("SELECT * FROM training_runs ORDER BY timestamp, rowid")
        .map_err(failed)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).map_err(failed)?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let mut cells = Map::new();
        for (idx, name) in names.iter().enumerate() {
            let value = match row.get_ref(idx).map_err(failed)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            };
            cells.insert(name.clone(), value);
        }
        runs.push(run_of(&cells).map_err(wrong)?);
    }
    Ok(runs)
}

/// Reads one of the original's snapshots: what a run has learned, level by level.
///
/// A snapshot knows no time, so the run took 0 s, and is not complete; its notes say so.
///
/// # Errors
///
/// [`HistoryError::Read`] and [`HistoryError::Import`] where the file cannot be read or is no
/// snapshot.
pub fn original_snapshot(path: impl AsRef<Path>) -> Result<NewRun, HistoryError> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).map_err(|source| HistoryError::Read {
        path: path.to_owned(),
        source,
    })?;
    let wrong = |reason: String| HistoryError::Import {
        path: path.to_owned(),
        reason,
    };
    // A byte order mark is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let snapshot = value
        .as_object()
        .ok_or_else(|| wrong("it is no JSON object".to_owned()))?;
    let nodes = snapshot.get("nodes").and_then(Value::as_object);
    let nodes = nodes.ok_or_else(|| wrong("it has no `nodes`".to_owned()))?;
    let mut levels: Vec<LevelOutcome> = nodes
        .iter()
        .filter_map(|(name, node)| Some(level_of_snapshot(name, node.as_object()?)))
        .collect();
    // By number, as `node10` comes after `node9`.
    levels.sort_by_key(|level| (number_in(&level.node), level.node.clone()));
    let config = snapshot.get("config").cloned().unwrap_or_default();
    let outcome = Outcome {
        levels,
        disk_bytes: number(snapshot, "total_storage_mb").map(|mb| whole(mb * MEBIBYTE)),
        ..Outcome::default()
    };
    let run_id = snapshot.get("run_id").and_then(Value::as_str);
    Ok(NewRun {
        run_id: run_id.map(str::to_owned),
        recorded: snapshot.get("timestamp").and_then(time_of),
        notes: "a snapshot of the Python original, which knows no time and no samples".to_owned(),
        ..NewRun::new(settings_of(&config), outcome)
    })
}

impl TrainingHistory {
    /// Records those of the runs of [`original_runs`] or [`original_snapshot`] whose ids the history does not
    /// have, and returns these ids.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn import(&mut self, runs: Vec<NewRun>) -> Result<Vec<String>, HistoryError> {
        let mut new = Vec::new();
        for run in runs {
            let id = run.run_id.clone().unwrap_or_else(|| run.default_id());
            match self.run(&id) {
                Ok(known) if known.run_id == id => {}
                Ok(_) | Err(HistoryError::UnknownRun { .. }) => new.push(run),
                Err(error) => return Err(error),
            }
        }
        self.record_all(&new)
    }
}

/// Makes a run of a row.
fn run_of(cells: &Map<String, Value>) -> Result<NewRun, String> {
    let text = |name: &str| cells.get(name).and_then(Value::as_str);
    let run_id = text("run_id").ok_or("a row has no run_id")?;
    let config = text("config").unwrap_or("{}");
    let config: Value =
        serde_json::from_str(config).map_err(|error| format!("config of {run_id}: {error}"))?;
    let seconds = number(cells, "actual_time_seconds").unwrap_or(0.0);
    let mebibytes = |name| positive(cells, name).map(|mb| mb * MEBIBYTE);
    let gibibytes = |name| positive(cells, name).map(|gb| gb * GIBIBYTE);
    let memory = mebibytes("peak_memory_mb").or_else(|| mebibytes("actual_memory_mb"));
    let outcome = Outcome {
        samples: whole(number(cells, "samples_processed").unwrap_or(0.0)),
        errors: count(cells, "errors"),
        warnings: count(cells, "warnings"),
        levels: levels_of(cells),
        disk_bytes: mebibytes("total_storage_mb").map(whole),
        written_bytes: gibibytes("actual_storage_gb").map(whole),
        memory_bytes: memory.map(whole),
        cpu_percent: positive(cells, "avg_cpu_percent"),
        ..Outcome::new(seconds)
    };
    let estimate = Forecast {
        made_by: None,
        seconds: positive(cells, "estimated_time_seconds").map(Into::into),
        // The original's estimate of storage is of other bytes than those that it calls actual,
        // but of the same as ours: what is stored.
        disk_bytes: gibibytes("estimated_storage_gb").map(Into::into),
        memory_bytes: mebibytes("estimated_memory_mb").map(Into::into),
        ..Forecast::default()
    };
    Ok(NewRun {
        run_id: Some(run_id.to_owned()),
        recorded: cells.get("timestamp").and_then(time_of),
        corpus: text("dataset_key")
            .map(RecordedCorpus::new)
            .unwrap_or_default(),
        machine: Machine {
            tier: text("hardware_tier").map(str::to_owned),
            ..Machine::default()
        },
        estimate: Some(estimate),
        notes: text("notes").unwrap_or_default().to_owned(),
        ..NewRun::new(settings_of(&config), outcome)
    })
}

/// Returns the levels for which a row has a number of patterns.
fn levels_of(cells: &Map<String, Value>) -> Vec<LevelOutcome> {
    (0..LEVELS)
        .map_while(|level| {
            let patterns = number(cells, &format!("node{level}_patterns"))?;
            let mean = number(cells, &format!("node{level}_mean_freq")).unwrap_or(0.0);
            let bytes = number(cells, &format!("node{level}_storage_mb"));
            // The number of learn calls is not in the table: the mean frequency tells it.
            Some(LevelOutcome {
                patterns: Some(whole(patterns)),
                bytes: bytes.map(|mb| whole(mb * MEBIBYTE)),
                ..LevelOutcome::new(format!("node{level}"), whole(patterns * mean))
            })
        })
        .collect()
}

fn level_of_snapshot(name: &str, node: &Map<String, Value>) -> LevelOutcome {
    let histogram = node.get("frequency_histogram").and_then(Value::as_object);
    // Keys are texts in JSON, and a map of numbers puts them into the order of numbers again.
    let frequencies: BTreeMap<u64, u64> = histogram
        .into_iter()
        .flatten()
        .filter_map(|(frequency, patterns)| Some((frequency.parse().ok()?, patterns.as_u64()?)))
        .collect();
    let learns = whole(number(node, "total_observations").unwrap_or(0.0));
    LevelOutcome {
        patterns: number(node, "total_patterns").map(whole),
        bytes: number(node, "db_size_mb").map(|mb| whole(mb * MEBIBYTE)),
        frequencies,
        ..LevelOutcome::new(name, learns)
    }
}

/// Makes settings of the original's configuration.
fn settings_of(config: &Value) -> RunSettings {
    let sizes = config.get("chunk_sizes").and_then(Value::as_array);
    let sizes = sizes.into_iter().flatten().filter_map(Value::as_u64);
    let mut settings = RunSettings::new(sizes);
    let number = |name: &str| config.get(name).and_then(Value::as_u64);
    settings.batch_size = number("batch_size");
    settings.workers = number("num_workers").or_else(|| number("workers"));
    let known = [
        "chunk_sizes",
        "batch_size",
        "num_workers",
        "workers",
        "num_levels",
    ];
    for (name, value) in config.as_object().into_iter().flatten() {
        if !known.contains(&name.as_str()) {
            settings.other.insert(name.clone(), value.clone());
        }
    }
    settings
}

/// Returns a number of a row; `None` for what is no number of 0 or more.
fn number(cells: &Map<String, Value>, name: &str) -> Option<f64> {
    let number = cells.get(name)?.as_f64()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Returns a number above 0; the original writes 0 for what it does not know.
fn positive(cells: &Map<String, Value>, name: &str) -> Option<f64> {
    number(cells, name).filter(|&number| number > 0.0)
}

/// Returns a count, which the original keeps as a number or as a list in JSON.
fn count(cells: &Map<String, Value>, name: &str) -> u64 {
    if let Some(number) = number(cells, name) {
        return whole(number);
    }
    let text = cells.get(name).and_then(Value::as_str).unwrap_or("[]");
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list.len() as u64,
        Ok(Value::Number(number)) => number.as_u64().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the nearest whole number; the cast ends at the largest.
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Returns the time that a text or a number of seconds stands for.
fn time_of(value: &Value) -> Option<SystemTime> {
    match value {
        Value::String(text) => humantime::parse_rfc3339_weak(text).ok(),
        Value::Number(seconds) => {
            let seconds = std::time::Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        }
        _ => None,
    }
}

/// Returns the first number in a name; names without one come last.
fn number_in(name: &str) -> u64 {
    let digits: String = name
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(u64::MAX)
}
