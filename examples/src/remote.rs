//! Training into the nodes of a server: options, opening the run, and what it took.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::HumanCount;
use kato_client::{KatoClient, RetryPolicy, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_model::RunName;
use kato_remote::RemoteBackend;
use kato_scheduler::{RunConfiguration, TrainingReport};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::report;
use crate::tokens::read_tokens;

/// Where the nodes are, if not in a knowledge base of this process.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    /// Train the nodes of the KATO server at this URL, stock or kato-rs, instead of --kb.
    #[arg(long, value_name = "URL", conflicts_with = "kb")]
    kato: Option<String>,
    /// Name of the run, with which its node ids begin. Default: a new name. Needed to resume.
    #[arg(long, value_name = "NAME", requires = "kato")]
    run: Option<RunName>,
    /// Documents that go to the server together.
    #[arg(long, value_name = "N", requires = "kato", default_value = "8")]
    batch: NonZeroUsize,
    /// File that keeps the run's position. Default: NAME.kato-run.json.
    #[arg(long, value_name = "FILE", requires = "kato")]
    state: Option<PathBuf>,
    /// Seconds to go on, at the least, while the server does not answer; then the run ends and can be resumed.
    #[arg(long, value_name = "SECONDS", requires = "kato", default_value_t = 60)]
    patience: u32,
    /// File that begins with the bearer token of the server.
    #[arg(long, value_name = "FILE", requires = "kato")]
    token_file: Option<PathBuf>,
}

impl RemoteArgs {
    /// Gives a new run a name if the user did not.
    ///
    /// # Errors
    ///
    /// When a run is to be resumed and nobody says which.
    pub fn choose_name(&mut self, resume: bool) -> Result<()> {
        if self.kato.is_some() && self.run.is_none() {
            if resume {
                bail!("--resume needs the name of the run: --run NAME");
            }
            self.run = Some(RunName::from_random(Uuid::new_v4().as_u64_pair().0));
        }
        Ok(())
    }

    /// The file that keeps the run's position; `None` without a server.
    #[must_use]
    pub fn state_file(&self) -> Option<PathBuf> {
        let run = self.run.as_ref()?;
        let named = || PathBuf::from(format!("{run}.kato-run.json"));
        Some(self.state.clone().unwrap_or_else(named))
    }

    /// Opens the run on the server; `None` when it is to be trained into a knowledge base of this process.
    ///
    /// # Errors
    ///
    /// When the run exists and is not to be resumed, or cannot be opened.
    pub fn open(
        &self,
        learner: &HierarchicalConceptLearner,
        configuration: &RunConfiguration,
        resume: bool,
    ) -> Result<Option<RemoteBackend>> {
        let (Some(url), Some(run), Some(state)) = (&self.kato, &self.run, self.state_file()) else {
            return Ok(None);
        };
        if state.exists() && !resume {
            bail!(
                "{} exists: --resume goes on with that run, another --run NAME begins a new one",
                state.display()
            );
        }
        let mut client = KatoClient::builder(url, SessionOptions::new(run.as_str()))
            .retry(patient_for(self.patience));
        if let Some(file) = &self.token_file {
            let token = read_tokens(file)?.swap_remove(0);
            client = client.bearer_token(token);
        }
        let backend = RemoteBackend::builder(client, run.clone(), state).batch(self.batch);
        Ok(Some(backend.build(learner, configuration)?))
    }
}

/// The usual policy, with as many attempts as outlast a server that is away for this long.
fn patient_for(seconds: u32) -> RetryPolicy {
    let policy = RetryPolicy::default();
    // By then every pause is the longest one, of which chance takes up to a half.
    let shortest = policy.max_backoff.as_secs_f64() / 2.0;
    let more = (f64::from(seconds) / shortest).ceil() as u32;
    RetryPolicy {
        attempts: policy.attempts.saturating_add(more),
        ..policy
    }
}

/// What the run took, in words.
#[must_use]
pub fn summary(report: &TrainingReport, backend: &RemoteBackend) -> String {
    let calls = backend.calls();
    let each = calls.requests as f64 / report.session_samples.max(1) as f64;
    let mut text = format!(
        "{} requests to {}: {each:.2} a sample",
        HumanCount(calls.requests),
        backend.server()
    );
    if calls.retries + calls.recoveries > 0 {
        text += &format!(
            "; {} repeated, {} sessions made anew",
            HumanCount(calls.retries),
            HumanCount(calls.recoveries)
        );
    }
    text += &format!(
        "\nrun {}: nodes {}\n",
        backend.run(),
        backend.node_ids().join(", ")
    );
    text
}

/// The report with what the run took, for machines.
///
/// # Errors
///
/// When the report has no JSON form, which would be a bug.
pub fn to_json(report: &TrainingReport, backend: &RemoteBackend) -> Result<Value> {
    let mut value = report::to_json(report)?;
    value["server"] = json!({
        "url": backend.server(),
        "run": backend.run().as_str(),
        "node_ids": backend.node_ids(),
        "calls": backend.calls(),
    });
    Ok(value)
}
