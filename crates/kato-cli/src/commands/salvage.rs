//! The command `kato salvage`: a new knowledge base of what is whole of a damaged one.
//!
//! ```text
//! kato salvage my-kb --out saved
//! kato salvage my-kb --out saved --json
//! ```

use std::path::{Path, PathBuf};

use anyhow::Result;
use kato_store::EmbeddedStore;
use kato_store::embedded::{Held, SalvageReport, salvage};
use serde::Serialize;

use crate::exit::bail_as;
use crate::inspect::{View, show};
use crate::knowledge_base::directory;
use crate::patience::Spinner;
use crate::writable::refuse_file;

/// Saves what is whole of a damaged knowledge base: every segment of which each byte is right, with its
/// patterns and their counts, into a new knowledge base.
///
/// The damaged one stays as it is. Nothing is counted twice: where one segment may be a merge of another
/// and no manifest tells, one of the two is left out, and listed. Where a part is missing, the new
/// knowledge base can be asked, and `kato train --resume` refuses it: no position in the corpus belongs
/// to it. Symbols may name patterns that are lost.
///
/// With --json one object on standard output: kb, out, complete, commit (null where no manifest of it is
/// whole), saved (segments, patterns, learns), lost (file, reason, and held: segments, patterns and
/// learns, null for a manifest), unnamed (segments that were saved though no manifest names them) and
/// left_out.
///
/// It is done (exit code 0) also where a part is lost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of the damaged knowledge base.
    #[arg(value_name = "KB")]
    kb: PathBuf,
    /// Directory of the new knowledge base: one that does not exist yet, or is empty.
    #[arg(long, value_name = "DIR", value_parser = directory())]
    out: PathBuf,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Salvages and says what was saved and what is lost.
pub(crate) fn run(args: &Args) -> Result<()> {
    refuse_file("--out", &args.out)?;
    if EmbeddedStore::exists(&args.out) {
        bail_as!(
            Conflict,
            "--out {} is a knowledge base already: name another directory",
            args.out.display()
        );
    }
    let reading = format!("reading {}", args.kb.display());
    let spinner = Spinner::new(reading);
    let report = salvage(&args.kb, &args.out);
    drop(spinner);
    show(&Salvaged::new(args, &report?), args.json)
}

/// What was saved.
#[derive(Debug, Serialize)]
struct Salvaged {
    kb: String,
    out: String,
    complete: bool,
    commit: Option<u64>,
    saved: Part,
    lost: Vec<Lost>,
    unnamed: Vec<String>,
    left_out: Vec<String>,
}

/// A part in numbers.
#[derive(Debug, Serialize)]
struct Part {
    segments: u64,
    patterns: u64,
    learns: u64,
    #[serde(skip)]
    text: String,
}

impl Part {
    fn new(held: Held) -> Self {
        Self {
            segments: held.segments,
            patterns: held.patterns,
            learns: held.learns,
            text: held.to_string(),
        }
    }
}

/// A file that is damaged or missing.
#[derive(Debug, Serialize)]
struct Lost {
    file: String,
    reason: String,
    held: Option<Part>,
}

impl Salvaged {
    fn new(args: &Args, report: &SalvageReport) -> Self {
        let shown = |path: &Path| path.display().to_string();
        let all_shown = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        let lost = |file: &kato_store::embedded::DamagedFile| Lost {
            file: shown(&file.path),
            reason: file.reason.clone(),
            held: file.held.map(Part::new),
        };
        Self {
            kb: shown(&args.kb),
            out: shown(&args.out),
            complete: report.is_complete(),
            commit: report.n_commits,
            saved: Part::new(report.saved),
            lost: report.lost.iter().map(lost).collect(),
            unnamed: all_shown(&report.unnamed),
            left_out: all_shown(&report.left_out),
        }
    }
}

impl View for Salvaged {
    fn text(&self, _width: usize) -> String {
        let mut text = format!("saved {} into {}\n", self.saved.text, self.out);
        for lost in &self.lost {
            let held = lost.held.as_ref().map(|held| format!(", {}", held.text));
            let held = held.unwrap_or_default();
            text += &format!("lost {}{held}: {}\n", lost.file, lost.reason);
        }
        for file in &self.unnamed {
            text += &format!("saved {file}, which no manifest names\n");
        }
        for file in &self.left_out {
            text += &format!(
                "left out {file}: it or another segment may be a merge of the other, and patterns would count twice\n"
            );
        }
        text += match (self.complete, self.commit) {
            (true, _) => "nothing is lost\n",
            (false, Some(_)) => {
                "this is a part of what was learned: it can be asked, and not trained on\n"
            }
            (false, None) => {
                "both manifests of the newest commit are lost, so more may be missing than is listed: it can be asked, and not trained on\n"
            }
        };
        text
    }
}
