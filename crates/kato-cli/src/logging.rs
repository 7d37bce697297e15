//! The logs while a command runs: lines on standard error, by level and module.

use std::env;
use std::io::{IsTerminal, stderr};

use anyhow::{Result, bail};
use clap::ValueEnum;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::notice::is_for_machines;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Form of the logs.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text, global = true)]
    log: Form,
    /// What is logged: off, error, warn, info (`kato serve`: one line a request), debug, trace;
    /// also by module, as in `warn,kato_server=debug`. Default: warn for `kato serve`, else off.
    #[arg(long, value_name = "LEVEL", value_parser = level, global = true)]
    log_level: Option<Targets>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogArgs {
    /// Starts logging as the arguments ask; a server logs warnings by default, as nobody watches
    /// it.
    pub(crate) fn start(&self, is_server: bool) {
        let default = is_server.then(|| Targets::new().with_default(LevelFilter::WARN));
        let Some(wanted) = self.log_level.clone().or(default) else {
            return;
        };
        // Standard output belongs to results.
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(stderr)
            .with_ansi(may_color());
        let lines = match self.log {
            Form::Text if !is_for_machines() => lines.boxed(),
            _ => lines.json().boxed(),
        };
        tracing_subscriber::registry()
            .with(lines.with_filter(wanted))
            .init();
    }
}

/// Returns whether standard error may be coloured: in a file the codes would stand between what is
/// searched for.
fn may_color() -> bool {
    let refuses = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stderr().is_terminal() && !refuses
}

/// Parses the value of `--log-level`.
fn level(text: &str) -> Result<Targets> {
    let is_known = |part: &&str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    if let Some(part) = text.split(',').find(|part| !is_known(part)) {
        // It would be taken for a module, and nothing else would be logged.
        bail!("{part:?} is no level: use off, error, warn, info, debug, trace, or MODULE=LEVEL");
    }
    Ok(text.parse()?)
}
