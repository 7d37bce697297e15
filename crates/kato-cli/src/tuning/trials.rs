//! The trials: training and asking in processes of their own, and the file that remembers them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kato_planner::halving::{MeasuredPart, Trial};
use kato_scheduler::StopSignal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Configuration;
use crate::learning::LearningArgs;
use crate::pilot::{PilotCorpus, PilotPlace, answer_of, kb_in};

/// Measures of quality.
const QUALITY: [&str; 3] = ["bits", "coverage", "accuracy"];

/// What is tried with each configuration.
#[derive(Debug)]
pub(crate) struct Trials {
    /// The documents that are trained.
    pub(crate) corpus: PilotCorpus,
    /// The documents on which quality is measured.
    pub(crate) held_out: PilotCorpus,
    /// Rules of learning; the levels are those of the configuration.
    pub(crate) learning: LearningArgs,
    /// Tokens about which the lowest level is asked with all of the text, and the same share of them
    /// with a share of it; 0 measures no quality.
    pub(crate) questions: u64,
    /// What trials are known by: only those of the same are taken from the file.
    pub(crate) identity: String,
    /// The file of trials.
    pub(crate) journal: Option<Journal>,
    /// Quality that a first repetition measured, by configuration and number of documents.
    pub(crate) quality: BTreeMap<(String, usize), Trial>,
    /// Trials made.
    pub(crate) made: u64,
    /// Trials that the file had.
    pub(crate) resumed: u64,
}

/// A file of trials, with those that it had.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    known: BTreeMap<String, Trial>,
}

/// A line of the file of trials.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: String,
    trial: Trial,
}

impl Trials {
    /// Tries a configuration with a share of the documents.
    ///
    /// # Errors
    ///
    /// When training or asking fails, and when it was interrupted; what was tried until then is in
    /// the file of trials.
    pub(crate) fn try_out(
        &mut self,
        configuration: &Configuration,
        share: f64,
        repeat: u32,
        stop: &StopSignal,
    ) -> Result<Trial> {
        let bytes = (self.corpus.total_bytes() as f64 * share) as u64;
        let documents = self.corpus.documents_for(bytes);
        // Asking takes longer than learning, and few questions suffice to tell the better third from
        // the others, as all are asked the same.
        let questions = (self.questions as f64 * share).ceil() as u64;
        let key = format!(
            "{} {} {} {documents} {repeat} {questions}",
            self.identity,
            configuration.name(),
            configuration.memory
        );
        let journal = self.journal.as_ref();
        let known = journal.and_then(|journal| journal.known.get(&key)).cloned();
        let mut trial = match known {
            Some(known) => {
                self.resumed += 1;
                known
            }
            None => {
                let trial = self.make(configuration, documents, (questions, repeat), stop)?;
                self.made += 1;
                if let Some(journal) = &mut self.journal {
                    journal.add(key, &trial)?;
                }
                trial
            }
        };
        // What is learned is the same every time, and so is what it answers: only the first
        // repetition has asked.
        let of_first = (configuration.name(), documents);
        if repeat == 0 {
            let mut quality = trial.clone();
            let is_quality = |name: &String| QUALITY.contains(&name.as_str());
            quality.measures.retain(|name, _| is_quality(name));
            self.quality.insert(of_first, quality);
        } else if let Some(quality) = self.quality.get(&of_first).cloned() {
            trial.measures.extend(quality.measures);
            trial.parts.extend(quality.parts);
        }
        Ok(trial)
    }

    fn make(
        &self,
        configuration: &Configuration,
        documents: usize,
        (questions, repeat): (u64, u32),
        stop: &StopSignal,
    ) -> Result<Trial> {
        let dir = self.corpus.dir()?;
        let kb = kb_in(&dir);
        let place = PilotPlace::Directory(dir);
        let learning = self.learning.clone().with_levels(&configuration.levels);
        let mut flags = learning.to_flags();
        flags.extend(configuration.flags());
        let report = self.corpus.train(&place, documents, &flags, stop)?;
        let mut measures = BTreeMap::new();
        let mut add = |name: &str, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
                measures.insert(name.to_owned(), value);
            }
        };
        add("rate", report["rate_samples_per_sec"].as_f64());
        add("seconds", report["total_time_seconds"].as_f64());
        add("bytes", report["disk_bytes"].as_f64());
        add("memory", report["peak_memory_bytes"].as_f64());
        let levels = report["levels"].as_array();
        let patterns = levels.map(|levels| {
            let of_level = levels
                .iter()
                .filter_map(|level| level["unique_patterns"].as_f64());
            of_level.sum()
        });
        add("patterns", patterns);
        let mut parts = BTreeMap::new();
        if questions > 0 && repeat == 0 {
            let answer = self.ask(&kb, questions, stop)?;
            add(
                "bits",
                answer["code_length"]["kato"]["bits_per_token"].as_f64(),
            );
            let of_bits = answer["code_length"]["kato_parts"].as_array();
            let of_bits = of_bits.into_iter().flatten().filter_map(|part| {
                Some(MeasuredPart {
                    weight: part["tokens"].as_f64()?,
                    sum: part["bits"].as_f64()?,
                })
            });
            parts.insert("bits".to_owned(), of_bits.collect());
            let lowest = &answer["levels"][0];
            add("coverage", share_of(&lowest["coverage"]["known_chunks"]));
            add("accuracy", share_of(&lowest["next"]["top_1"]));
        }
        Ok(Trial { measures, parts })
    }

    /// Asks a knowledge base about the documents that were held out.
    fn ask(&self, kb: &Path, questions: u64, stop: &StopSignal) -> Result<Value> {
        let (kb, held_out) = (
            kb.display().to_string(),
            self.held_out.path().display().to_string(),
        );
        let questions = questions.to_string();
        let arguments = [
            "evaluate",
            "--kb",
            &kb,
            "--unseen",
            &held_out,
            "--max-questions",
            &questions,
            // Neither the head, nor the baseline, nor what higher levels expect is looked at, and each
            // of these takes longer than the questions that are.
            "--no-head",
            "--ngram-order",
            "1",
            "--max-levels",
            "1",
            "--json",
            "--quiet",
        ];
        answer_of(&arguments.map(str::to_owned), &[], stop)
    }
}

/// Returns a share, which is told as a count of a whole.
fn share_of(value: &Value) -> Option<f64> {
    let (count, all) = (value["count"].as_f64()?, value["of"].as_f64()?);
    (all > 0.0).then(|| count / all)
}

impl Journal {
    /// Opens a file of trials, or begins it.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written, or is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("--journal {shown} cannot be read"));
            }
        };
        let mut known = BTreeMap::new();
        let mut whole = 0;
        for line in text.split_inclusive('\n') {
            // A line without its end was being written when the program was killed.
            if !line.ends_with('\n') {
                break;
            }
            // An editor may have put a byte order mark in front. The bytes are counted with it.
            let text = line.strip_prefix('\u{feff}').unwrap_or(line);
            let Line { key, trial } = serde_json::from_str(text)
                .with_context(|| format!("{shown} is no file of trials"))?;
            known.insert(key, trial);
            whole += line.len() as u64;
        }
        let failed = || format!("failed to write {shown}");
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(failed)?;
        file.set_len(whole).with_context(failed)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            known,
        })
    }

    fn add(&mut self, key: String, trial: &Trial) -> Result<()> {
        let trial = trial.clone();
        let line = serde_json::to_string(&Line { key, trial })? + "\n";
        let written = self.file.write_all(line.as_bytes());
        written.with_context(|| format!("failed to write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_trials_goes_on_after_a_line_that_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trials.jsonl");
        let trial = Trial {
            measures: [("rate".to_owned(), 2.5)].into(),
            parts: [("bits".to_owned(), vec![MeasuredPart::default()])].into(),
        };
        Journal::open(&path)
            .unwrap()
            .add("a".to_owned(), &trial)
            .unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"key\":\"b")).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(journal.known, [("a".to_owned(), trial.clone())].into());
        journal.add("b".to_owned(), &trial).unwrap();
        assert_eq!(Journal::open(&path).unwrap().known.len(), 2);
        std::fs::write(&path, "something else\n").unwrap();
        assert!(Journal::open(&path).is_err());
    }
}
