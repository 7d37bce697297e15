//! Pilots: short runs over a random part of a corpus, each in a process of its own and into a
//! knowledge base that is thrown away.
//!
//! In a process of their own they have the memory, the allocator and the threads that the run will
//! have, and the peak of their memory is theirs alone.

mod place;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kato_advice::ErrorClass;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::StopSignal;
use kato_store::scratch::ScratchDir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::backend::MONGODB_URI;
use crate::exit::CommandError;
use crate::interrupt::AGAIN;
use crate::writable::temporary_directory;
use place::MongodbPilot;

pub(crate) use place::{PilotPlace, PilotStore, kb_in};

/// Text that is taken from a loader at once, in bytes: one document, as what is left of a batch
/// would be lost to what is drawn next from the same loader.
const BATCH_BYTES: usize = 1;

/// Time between two looks whether a pilot is to be ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A random part of a corpus in a file of its own, for runs over its beginnings.
#[derive(Debug)]
pub(crate) struct PilotCorpus {
    dir: ScratchDir,
    /// Bytes of text of the first n documents, for n from 1.
    text_bytes: Vec<u64>,
    /// What tells the texts from others.
    digest: blake3::Hash,
    /// Whether the corpus has no more documents than these.
    pub(crate) is_whole: bool,
}

impl PilotCorpus {
    /// Writes the first documents of a loader, up to so many bytes of text.
    ///
    /// # Errors
    ///
    /// When a document cannot be read or written, when there is none, and when it was interrupted.
    pub(crate) fn draw(
        loader: &mut StreamingDatasetLoader,
        most_bytes: u64,
        stop: &StopSignal,
    ) -> Result<Self> {
        let dir = temporary_directory()?;
        let path = dir.path().join("pilot.jsonl");
        let failed = || format!("failed to write {}", path.display());
        let mut file = BufWriter::new(File::create(&path).with_context(failed)?);
        let mut text_bytes: Vec<u64> = Vec::new();
        let mut digest = blake3::Hasher::new();
        let mut total = 0;
        let mut is_whole = true;
        'all: while let Some(batch) = loader.next_batch(BATCH_BYTES)? {
            ensure!(
                !stop.is_stopped(),
                "interrupted before the pilots were drawn: give the same command again"
            );
            for document in batch.iter() {
                let size = document.text.len() as u64;
                // The first one always, however large it is.
                if total + size > most_bytes && total > 0 {
                    is_whole = false;
                    break 'all;
                }
                let line = json!({"text": document.text}).to_string() + "\n";
                file.write_all(line.as_bytes()).with_context(failed)?;
                digest.update(line.as_bytes());
                total += size;
                text_bytes.push(total);
            }
        }
        file.flush().with_context(failed)?;
        ensure!(!text_bytes.is_empty(), "the corpus has no document");
        drop(file);
        Ok(Self {
            dir,
            text_bytes,
            digest: digest.finalize(),
            is_whole,
        })
    }

    /// Returns the file with the documents.
    #[must_use]
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("pilot.jsonl")
    }

    /// Returns the BLAKE3 of the file, in hex.
    #[must_use]
    pub(crate) fn digest(&self) -> String {
        self.digest.to_hex().to_string()
    }

    /// Returns the number of documents.
    #[must_use]
    pub(crate) fn n_documents(&self) -> usize {
        self.text_bytes.len()
    }

    /// Returns the bytes of text of all documents.
    #[must_use]
    pub(crate) fn total_bytes(&self) -> u64 {
        self.text_bytes.last().copied().unwrap_or(0)
    }

    /// Returns the bytes of text of the largest document.
    #[must_use]
    pub(crate) fn largest(&self) -> u64 {
        let first = self.text_bytes.first().copied();
        let others = self.text_bytes.windows(2).map(|pair| pair[1] - pair[0]);
        others.chain(first).max().unwrap_or(0)
    }

    /// Returns the bytes of text of the first documents.
    #[must_use]
    pub(crate) fn bytes_of(&self, n_documents: usize) -> u64 {
        let at = n_documents.checked_sub(1);
        at.and_then(|at| self.text_bytes.get(at).copied())
            .unwrap_or(0)
    }

    /// Returns how many documents, at least one, have so many bytes of text at most.
    #[must_use]
    pub(crate) fn documents_for(&self, bytes: u64) -> usize {
        self.text_bytes
            .partition_point(|&total| total <= bytes)
            .max(1)
    }

    /// Trains the first documents with flags of `kato train` into a place, and returns the report.
    ///
    /// # Errors
    ///
    /// When the run cannot be started or fails, and when it was interrupted.
    pub(crate) fn train(
        &self,
        place: &PilotPlace,
        n_documents: usize,
        flags: &[String],
        stop: &StopSignal,
    ) -> Result<Value> {
        let documents = n_documents.to_string();
        let mut arguments = vec!["train".to_owned(), self.path().display().to_string()];
        let mut environment = Vec::new();
        match place {
            PilotPlace::Directory(dir) => {
                arguments.extend(["--kb".to_owned(), kb_in(dir).display().to_string()]);
            }
            PilotPlace::Mongodb(MongodbPilot { uri, run, .. }) => {
                // Not as an argument, which everybody on this machine can read: it may hold a
                // password.
                environment.push((MONGODB_URI, uri.as_str()));
                let of_run = ["--backend", "mongodb", "--run", run.as_str()];
                arguments.extend(of_run.map(str::to_owned));
            }
        }
        arguments.extend([
            "--max-documents".to_owned(),
            documents,
            "--json".to_owned(),
            "--quiet".to_owned(),
        ]);
        arguments.extend(flags.iter().cloned());
        let report = answer_of(&arguments, &environment, stop)?;
        ensure!(
            report["complete"] != false || report["samples_processed"] != 0,
            "a pilot has learned nothing"
        );
        Ok(report)
    }

    /// Returns a place for a pilot of a store, which goes when it is dropped.
    ///
    /// # Errors
    ///
    /// When none can be made.
    pub(crate) fn place(&self, store: &PilotStore) -> Result<PilotPlace> {
        PilotPlace::new(store, self.dir.path())
    }

    /// Returns a directory for the knowledge base of a pilot, which goes when it is dropped.
    ///
    /// # Errors
    ///
    /// When none can be made.
    pub(crate) fn dir(&self) -> Result<TempDir> {
        TempDir::new_in(self.dir.path()).context("failed to make a directory for a pilot")
    }
}

/// Runs this program with arguments and variables of its environment, and returns the JSON that it
/// prints.
///
/// # Errors
///
/// When it cannot be started or fails, and when it was interrupted.
pub(crate) fn answer_of(
    arguments: &[String],
    environment: &[(&str, &str)],
    stop: &StopSignal,
) -> Result<Value> {
    ensure!(!stop.is_stopped(), AGAIN);
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut pilot = Command::new(program)
        .args(arguments)
        // A file of settings is for the command that was given, not for its pilots.
        .env_remove(crate::settings::VARIABLE)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to start a pilot")?;
    // Both are read at once: a pilot whose words nobody takes waits for ever.
    let answer = read_beside(pilot.stdout.take())?;
    let told = read_beside(pilot.stderr.take())?;
    while !answer.is_finished() || !told.is_finished() {
        if stop.is_stopped() {
            // Nothing that a pilot makes is kept. Ctrl-C may have reached it as well.
            drop(pilot.kill());
            break;
        }
        thread::park_timeout(POLL_INTERVAL);
    }
    let status = pilot.wait().context("failed to wait for a pilot")?;
    let (answer, told) = (text_of(answer)?, text_of(told)?);
    // The stop comes before the failure of a pilot that it ended.
    ensure!(!stop.is_stopped(), AGAIN);
    if !status.success() {
        let told = told.trim().trim_start_matches("error: ");
        // What is to be done about it is to be done about this command.
        let class = status.code().and_then(ErrorClass::of_exit_code);
        return Err(CommandError {
            class: class.unwrap_or(ErrorClass::Other),
            text: format!("a pilot failed ({status}): {told}"),
        }
        .into());
    }
    serde_json::from_str(&answer).context("a pilot printed no JSON")
}

/// Reads all of a pilot's output on a thread of its own, which wakes this one when it is done.
fn read_beside(
    output: Option<impl Read + Send + 'static>,
) -> Result<JoinHandle<io::Result<Vec<u8>>>> {
    let mut output = output.context("a pilot has no output")?;
    let waiting = thread::current();
    let read = move || {
        let mut bytes = Vec::new();
        let read = output.read_to_end(&mut bytes);
        waiting.unpark();
        read.map(|_| bytes)
    };
    let builder = thread::Builder::new().name("pilot".to_owned());
    builder.spawn(read).context("failed to listen to a pilot")
}

/// Returns what a thread has read.
fn text_of(reading: JoinHandle<io::Result<Vec<u8>>>) -> Result<String> {
    let bytes = reading.join();
    let bytes = bytes.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let bytes = bytes.context("failed to listen to a pilot")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
