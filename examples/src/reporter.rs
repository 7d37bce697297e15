//! Showing a run's events: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use indicatif::{
    HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use kato_scheduler::{Progress, TrainingEvent};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// How often the bar is drawn: more often is not read.
const DRAWS_PER_SECOND: u8 = 5;
/// Columns of the bar, the percentage and the spaces around them.
const BAR_COLUMNS: usize = 20 + 8;
/// How long a session must have run before its rates say anything.
const WARM_UP: Duration = Duration::from_secs(1);

/// Shows events on standard error; standard output stays free for results.
#[derive(Debug)]
pub struct Reporter {
    kind: Kind,
    /// The first progress of this session: where it began to read.
    first: Option<Progress>,
    is_stopping: bool,
}

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
        let kind = if silent {
            Kind::Silent
        } else if stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
            let style = ProgressStyle::with_template("{bar:20} {percent:>3} %  {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            Kind::Bar {
                bar: ProgressBar::with_draw_target(Some(0), target).with_style(style),
            }
        } else {
            Kind::Lines {
                last: Instant::now(),
            }
        };
        Self {
            kind,
            first: None,
            is_stopping: false,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Progress(progress) => self.progress(progress),
            TrainingEvent::Stopping => {
                self.is_stopping = true;
                self.say("stopping: committing what was learned");
            }
            TrainingEvent::Counting => {
                if let Kind::Bar { bar } = &self.kind {
                    bar.set_message("counting distinct patterns");
                }
            }
            _ => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Kind::Bar { bar } = &self.kind {
            bar.finish_and_clear();
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let first = self.first.get_or_insert_with(|| progress.clone());
        let left = if self.is_stopping {
            None
        } else {
            time_left(first, progress)
        };
        match &mut self.kind {
            Kind::Bar { bar } => {
                let columns = Term::stderr()
                    .size_checked()
                    .map_or(80, |(_, columns)| usize::from(columns));
                let line = join(&facts(progress, left), columns.saturating_sub(BAR_COLUMNS));
                bar.update(|state| {
                    state.set_len(progress.total_bytes.unwrap_or(progress.bytes_read).max(1));
                    state.set_pos(progress.bytes_read);
                });
                bar.set_message(line);
            }
            Kind::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                let share = progress
                    .total_bytes
                    .map(|total| 100 * progress.bytes_read / total.max(1));
                let share = share.map(|percent| format!("{percent} %")).into_iter();
                let facts: Vec<String> = share.chain(facts(progress, left)).collect();
                self.say(&join(&facts, usize::MAX));
            }
            Kind::Lines { .. } | Kind::Silent => {}
        }
    }

    fn say(&self, line: &str) {
        match &self.kind {
            Kind::Bar { bar } => bar.println(line),
            // A closed standard error must not end a run.
            Kind::Lines { .. } => drop(writeln!(stderr(), "{line}")),
            Kind::Silent => {}
        }
    }
}

/// Time until the corpus is read, at the pace of this session; `None` while that is not known.
fn time_left(first: &Progress, now: &Progress) -> Option<Duration> {
    // Not from the session's start: a resumed run begins in the middle of the corpus.
    let elapsed = now
        .elapsed
        .checked_sub(first.elapsed)
        .filter(|elapsed| *elapsed >= WARM_UP)?;
    let read = now
        .bytes_read
        .checked_sub(first.bytes_read)
        .filter(|read| *read > 0)?;
    let left = now.total_bytes?.checked_sub(now.bytes_read);
    let left = left.filter(|left| *left > 0)?;
    Duration::try_from_secs_f64(elapsed.as_secs_f64() * left as f64 / read as f64).ok()
}

/// What is worth knowing, the most important first.
fn facts(progress: &Progress, left: Option<Duration>) -> Vec<String> {
    let seconds = progress.elapsed.as_secs_f64().max(1e-3);
    let rate = |count: u64| count as f64 / seconds;
    let mut facts = Vec::new();
    facts.extend(left.map(|left| format!("{} left", HumanDuration(left))));
    if progress.errors > 0 {
        facts.push(format!("{} errors", HumanCount(progress.errors)));
    }
    if progress.total_bytes.is_none() {
        facts.push(format!("{} read", HumanBytes(progress.bytes_read)));
    }
    if progress.elapsed >= WARM_UP {
        facts.push(format!(
            "{:.2} M tokens/s",
            rate(progress.session_tokens) / 1e6
        ));
        let per_second = rate(progress.session_samples);
        let digits = usize::from(per_second < 10.0);
        facts.push(format!("{per_second:.digits$} samples/s"));
    }
    facts.push(format!("{} samples", HumanCount(progress.samples)));
    let levels: Vec<String> = progress
        .observations
        .iter()
        .map(|&count| HumanCount(count).to_string())
        .collect();
    facts.push(format!("patterns learned {}", levels.join(" / ")));
    facts
}

/// As many facts as fit, from the first on; none is cut, because half a number is a wrong one.
fn join(facts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for fact in facts {
        let comma = if line.is_empty() { "" } else { ", " };
        if measure_text_width(&line) + comma.len() + measure_text_width(fact) > columns {
            break;
        }
        line += comma;
        line += fact;
    }
    line
}
