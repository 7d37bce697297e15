//! Showing a run's events: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use kato_scheduler::{Progress, TrainingEvent};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Shows events on standard error; standard output stays free for results.
#[derive(Debug)]
pub struct Reporter(Kind);

#[derive(Debug)]
enum Kind {
    Bar { bar: ProgressBar },
    Lines { last: Instant },
    Silent,
}

impl Reporter {
    /// A bar if standard error is a terminal, lines otherwise, nothing if `silent`.
    #[must_use]
    pub fn new(silent: bool) -> Self {
        if silent {
            return Self(Kind::Silent);
        }
        if !stderr().is_terminal() {
            return Self(Kind::Lines { last: Instant::now() });
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} % {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(Kind::Bar { bar })
    }

    /// Shows one event.
    pub fn show(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Progress(progress) => self.progress(progress),
            TrainingEvent::Stopping => self.say("stopping: committing what was learned"),
            TrainingEvent::Counting => {
                if let Kind::Bar { bar } = &self.0 {
                    bar.set_message("counting distinct patterns");
                }
            }
            _ => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Kind::Bar { bar } = &self.0 {
            bar.finish_and_clear();
        }
    }

    fn progress(&mut self, progress: &Progress) {
        match &mut self.0 {
            Kind::Bar { bar } => {
                bar.set_length(progress.total_bytes.unwrap_or(progress.bytes_read).max(1));
                bar.set_position(progress.bytes_read);
                bar.set_message(describe(progress));
            }
            Kind::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                self.say(&describe(progress));
            }
            Kind::Lines { .. } | Kind::Silent => {}
        }
    }

    fn say(&self, line: &str) {
        match &self.0 {
            Kind::Bar { bar } => bar.println(line),
            // A closed standard error must not end a run.
            Kind::Lines { .. } => drop(writeln!(stderr(), "{line}")),
            Kind::Silent => {}
        }
    }
}

/// One line: samples, rates, learn calls by level, time left.
fn describe(progress: &Progress) -> String {
    let seconds = progress.elapsed.as_secs_f64().max(1e-3);
    let rate = |count: u64| count as f64 / seconds;
    let levels: Vec<String> = progress.observations.iter().map(|&count| HumanCount(count).to_string()).collect();
    let mut line = format!(
        "{} samples, {:.0} samples/s, {:.2} M tokens/s, patterns learned {}",
        HumanCount(progress.samples),
        rate(progress.session_samples),
        rate(progress.session_tokens) / 1e6,
        levels.join(" / "),
    );
    if progress.errors > 0 {
        line += &format!(", {} errors", HumanCount(progress.errors));
    }
    match progress.total_bytes {
        Some(total) => {
            let left = total.saturating_sub(progress.bytes_read) as f64;
            let bytes_per_second = progress.bytes_read as f64 / seconds;
            if bytes_per_second > 0.0 {
                let eta = Duration::from_secs_f64(left / bytes_per_second);
                line += &format!(", {} left", HumanDuration(eta));
            }
        }
        None => line += &format!(", {} read", HumanBytes(progress.bytes_read)),
    }
    line
}
