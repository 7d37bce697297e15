//! The views of `kato runs`: runs, exports and deletions, for people or for programs.

use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _, stderr, stdin};
use std::path::PathBuf;

use anyhow::{Result, bail};
use indicatif::{HumanBytes, HumanCount};
use kato_runs::manifest::{RunOrigin, RunState};
use kato_runs::{Archive, Run, RunLocation, RunManifest, Runs};
use serde::Serialize;
use serde_json::Value;

use crate::backend::Backend;
use crate::exit::bail_as;
use crate::forecast::{Taken, compared, expected_time};
use crate::inspect::View;
use crate::inspect::layout::{cell, table};
use crate::numbers::counted;

/// Opens the runs of a place.
///
/// # Errors
///
/// When there is no such place, or it does not know its runs.
pub(crate) fn runs_in(place: &Backend) -> Result<Runs> {
    Ok(match place {
        Backend::Embedded(dir) => Runs::in_directory(dir)?,
        Backend::Mongodb(uri) => Runs::in_mongodb(uri)?,
        Backend::Kato(_) => bail_as!(
            Usage,
            "a server does not know its runs: name the directory with their NAME.kato-run.json"
        ),
    })
}

/// A list of runs.
#[derive(Debug, Serialize)]
pub(crate) struct RunList {
    runs: Vec<Run>,
}

/// A run with everything known of it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct RunView(pub Run);

/// A run that was exported.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    exported: PathBuf,
    manifest: RunManifest,
}

/// A run that was deleted.
#[derive(Debug, Serialize)]
pub(crate) struct Deleted {
    /// The run as it was.
    pub(crate) deleted: Run,
}

impl RunList {
    /// Creates a list of these runs, in their order.
    #[must_use]
    pub(crate) fn new(runs: Vec<Run>) -> Self {
        Self { runs }
    }
}

impl Exported {
    /// Creates the view of an export that was just written.
    #[must_use]
    pub(crate) fn of(archive: &Archive) -> Self {
        Self {
            exported: archive.dir().to_owned(),
            manifest: archive.manifest().clone(),
        }
    }
}

/// Asks on standard error for the name of the run that is to be deleted.
///
/// # Errors
///
/// When another name, or none, is typed.
pub(crate) fn confirm(run: &Run) -> Result<()> {
    let name = &run.manifest.name;
    let mut err = stderr().lock();
    write!(
        err,
        "{}\ntype the name of the run to delete it for good: ",
        one_line(run)
    )?;
    err.flush()?;
    let mut typed = String::new();
    stdin().lock().read_line(&mut typed)?;
    if typed.trim() != name.as_str() {
        // Nobody has ended the line of the question.
        if typed.is_empty() {
            writeln!(err)?;
        }
        bail!("run {name} is not deleted: its name was not typed; --yes deletes without asking");
    }
    Ok(())
}

impl View for RunList {
    fn text(&self, _width: usize) -> String {
        if self.runs.is_empty() {
            return "no runs\n".to_owned();
        }
        let rows: Vec<Vec<String>> = self.runs.iter().map(row).collect();
        let mut text = table(
            &[
                "run",
                "state",
                "backend",
                "documents",
                "errors",
                "size",
                "began",
                "place",
            ],
            &rows,
        );
        for run in &self.runs {
            if let Some(problem) = &run.problem {
                // Writing into a string cannot fail.
                let _ = writeln!(text, "{}: {problem}", run.manifest.name);
            }
        }
        text
    }
}

/// Returns the cells of a run in the table.
fn row(run: &Run) -> Vec<String> {
    let manifest = &run.manifest;
    let results = manifest.results.as_ref();
    vec![
        manifest.name.to_string(),
        state(run).to_owned(),
        manifest.backend.kind.as_str().to_owned(),
        cell(results.map(|results| HumanCount(results.documents))),
        cell(results.map(|results| HumanCount(results.errors))),
        cell(run.disk_bytes.map(HumanBytes)),
        // The date of the time, which is written as RFC 3339 says.
        field(manifest, "created").chars().take(10).collect(),
        run.location.to_string(),
    ]
}

/// Returns the state of a run, as far as it can be read.
fn state(run: &Run) -> &str {
    match &run.problem {
        Some(_) => "unreadable",
        None => run.manifest.state.as_str(),
    }
}

/// Returns a field of a manifest as it is written there.
fn field(manifest: &RunManifest, name: &str) -> String {
    // By way of JSON, so that times look as they do in `run.json`.
    let written = serde_json::to_value(manifest).expect("a manifest is kept as JSON");
    written[name].as_str().unwrap_or("-").to_owned()
}

impl View for RunView {
    fn text(&self, _width: usize) -> String {
        let Self(run) = self;
        let manifest = &run.manifest;
        let mut lines = vec![
            ("run", manifest.name.to_string()),
            ("id", id(run)),
            ("state", state(run).to_owned()),
            ("began", field(manifest, "created")),
            ("place", run.location.to_string()),
            (
                "backend",
                format!(
                    "{} {}",
                    manifest.backend.kind.as_str(),
                    manifest.backend.place
                ),
            ),
        ];
        if let Some(problem) = &run.problem {
            lines.push(("problem", problem.clone()));
        }
        if let Some(tokenizer) = &manifest.tokenizer {
            lines.push(("tokenizer", tokenizer.name.clone()));
        }
        if let Some(corpus) = &manifest.corpus {
            let files = counted(corpus.files, "file");
            lines.push(("corpus", format!("{files}, {}", corpus.digest)));
        }
        if let Some(results) = &manifest.results {
            let documents = counted(results.documents, "document");
            let (errors, tokens) = (
                counted(results.errors, "error"),
                counted(results.tokens, "token"),
            );
            let mut text = format!("{documents}, {errors}, {tokens}");
            if let Some(seconds) = results.seconds {
                let _ = write!(text, ", {seconds:.1} s");
            }
            lines.push(("results", text));
        }
        lines.extend(foretold(run).into_iter().map(|text| ("foretold", text)));
        if let Some(bytes) = run.disk_bytes {
            lines.push(("size", HumanBytes(bytes).to_string()));
        }
        for (name, value) in &manifest.options {
            lines.push(("option", format!("{name} = {value}")));
        }
        for origin in &manifest.lineage {
            lines.push(("from", from(origin)));
        }
        let mut text = String::new();
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<10} {value}");
        }
        text + &levels(manifest)
    }
}

/// Describes what was foretold of a run: beside what it took, where it is complete.
fn foretold(run: &Run) -> Vec<String> {
    let manifest = &run.manifest;
    let Some(forecast) = &manifest.forecast else {
        return Vec::new();
    };
    let results = manifest.results.as_ref();
    let complete = results.filter(|_| manifest.state == RunState::Complete);
    let taken = complete.map_or_else(Taken::default, |results| Taken {
        seconds: results.seconds,
        disk_bytes: run.disk_bytes,
        ..Taken::default()
    });
    let lines = compared(forecast, taken);
    match lines.is_empty() {
        true => expected_time(forecast).into_iter().collect(),
        false => lines,
    }
}

/// Returns the run's id, with what to do where it is not recorded.
fn id(run: &Run) -> String {
    let id = &run.manifest.id;
    match run.is_recorded {
        true => id.to_string(),
        // Such as databases that a KATO wrote: nothing tells how they were trained.
        false if run.manifest.configuration.is_null() => format!("{id} (not a run of ours)"),
        false => format!("{id} (not recorded; `kato runs record` does)"),
    }
}

/// Describes where a run comes from.
fn from(origin: &RunOrigin) -> String {
    match origin {
        RunOrigin::Cloned { id, name } => format!("cloned from {name} ({id})"),
        RunOrigin::Imported { id, name } => format!("imported from an export of {name} ({id})"),
        // The enum is open: a kind that is not known here is shown as it is recorded.
        _ => serde_json::to_value(origin)
            .as_ref()
            .map(Value::to_string)
            .unwrap_or_default(),
    }
}

/// Returns the table of a run's levels, or nothing where none is known.
fn levels(manifest: &RunManifest) -> String {
    let rows = manifest.levels.iter().map(|level| {
        let results = manifest.results.iter().flat_map(|results| &results.levels);
        let result = results.clone().find(|result| result.node == level.node);
        vec![
            level.node.clone(),
            cell(level.chunk_size.map(HumanCount)),
            cell(result.map(|result| HumanCount(result.learns))),
            cell(result.and_then(|result| result.patterns).map(HumanCount)),
            level.database.clone(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    table(
        &["level", "chunk", "learned", "patterns", "database"],
        &rows,
    )
}

impl View for Exported {
    fn text(&self, _width: usize) -> String {
        let manifest = &self.manifest;
        let mut text = format!("run {} is in {}\n", manifest.name, self.exported.display());
        if let Some(contents) = &manifest.contents {
            for file in &contents.patterns {
                let _ = writeln!(
                    text,
                    "{:<20} {}, {}",
                    file.name,
                    counted(file.patterns, "pattern"),
                    HumanBytes(file.bytes)
                );
            }
            for what in &contents.left_out {
                let _ = writeln!(text, "not exported: {what}");
            }
        }
        text
    }
}

impl View for Deleted {
    fn text(&self, _width: usize) -> String {
        let run = &self.deleted;
        let mut text = format!("deleted {}\n", one_line(run));
        // Only the files here were deleted: the nodes are on a server.
        if let RunLocation::StateFile(_) = run.location {
            let ids = run.manifest.levels.iter().map(|level| &*level.node_id);
            let ids: Vec<&str> = ids.collect();
            let _ = writeln!(
                text,
                "what it learned is still on {}: nodes {}",
                run.manifest.backend.place,
                ids.join(", ")
            );
        }
        text
    }
}

/// Describes a run in a few words.
fn one_line(run: &Run) -> String {
    let documents = run
        .manifest
        .results
        .as_ref()
        .map(|results| results.documents);
    format!(
        "run {}, {}, at {}",
        run.in_words(),
        counted(documents.unwrap_or(0), "document"),
        run.location
    )
}
