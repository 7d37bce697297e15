//! How far a run is, on standard error.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kato_advice::counted;
use kato_scheduler::TrainingEvent;
use kato_scheduler::event::Progress;

/// Time between lines where standard error is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Shows the events of a run: a bar with rate and remaining time, or a line every ten seconds.
#[derive(Debug)]
pub(crate) struct ProgressReporter {
    /// `None` where standard error is no terminal, or one that cannot draw it.
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl ProgressReporter {
    pub(crate) fn new() -> Self {
        let template = "{bar:30} {percent:>3} % · {msg} · {bytes_per_sec} · {eta} left";
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_broken| ProgressStyle::default_bar());
        let bar = ProgressBar::new(0).with_style(style);
        Self {
            bar: Some(bar).filter(|bar| !bar.is_hidden()),
            last_line: Instant::now(),
        }
    }

    pub(crate) fn show(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Progress(progress) => self.show_progress(progress),
            TrainingEvent::WorkerDied {
                worker, message, ..
            } => {
                self.line(&format!("worker {worker} died and was replaced: {message}"));
            }
            TrainingEvent::Stalled(stall) => self.line(&stall.to_string()),
            TrainingEvent::Notice { text } => self.line(text),
            TrainingEvent::Stopping => self.line("stopping; what was learned is being written"),
            _ => {}
        }
    }

    fn show_progress(&mut self, progress: &Progress) {
        let documents = counted(progress.documents, "document");
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total_bytes.unwrap_or(0));
            bar.set_position(progress.bytes_read);
            bar.set_message(documents);
        } else if self.last_line.elapsed() >= INTERVAL {
            self.last_line = Instant::now();
            let seconds = progress.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            let rate = progress.session_tokens as f64 / seconds;
            self.line(&format!("{documents}, {rate:.0} tokens/s"));
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            // A closed standard error must not end a run.
            None => drop(writeln!(stderr(), "{text}")),
        }
    }
}

impl Drop for ProgressReporter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
