//! A meter of progress on standard error: a bar on a terminal that can draw one, a line every ten
//! seconds elsewhere.

use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::notice::say;

/// Time between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Draws of the bar in a second; nobody could read more of them.
const DRAWS_PER_SECOND: u8 = 5;
/// Columns of the bar, the percentage and the spaces around them.
const BAR_COLUMNS: usize = 20 + 8;
/// Time that something must have run before its rates mean anything.
pub(crate) const WARM_UP: Duration = Duration::from_secs(1);

/// A meter of a share with facts beside it; standard output stays free for results.
#[derive(Debug)]
pub(crate) struct Meter {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Bar { bar: ProgressBar },
    Lines { last: Instant },
    Silent,
}

impl Meter {
    /// Creates a meter: a bar if standard error is a terminal that can draw one, lines otherwise, no
    /// progress if `silent`.
    #[must_use]
    pub(crate) fn new(silent: bool) -> Self {
        if silent {
            return Self { kind: Kind::Silent };
        }
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
        // Of what is drawn nowhere nothing would be seen: neither in a log or a pipe, nor on a
        // terminal that cannot move its cursor (`TERM=dumb`, or none).
        if target.is_hidden() {
            return Self::lines();
        }
        let style = ProgressStyle::with_template("{bar:20} {percent:>3} %  {msg}");
        // The template is a constant that parses, so the plain bar is never needed.
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(0), target).with_style(style);
        Self {
            kind: Kind::Bar { bar },
        }
    }

    /// Creates a meter of lines, also on a terminal.
    #[must_use]
    pub(crate) fn lines() -> Self {
        // The first line comes after a whole interval, so what is done sooner writes none.
        let last = Instant::now();
        Self {
            kind: Kind::Lines { last },
        }
    }

    /// Shows how much of a total is done, with facts, the most important first.
    pub(crate) fn update(
        &mut self,
        done: u64,
        total: Option<u64>,
        facts: impl FnOnce() -> Vec<String>,
    ) {
        match &mut self.kind {
            Kind::Bar { bar } => {
                let columns = Term::stderr()
                    .size_checked()
                    .map_or(80, |(_, columns)| usize::from(columns));
                let line = join(&facts(), columns.saturating_sub(BAR_COLUMNS));
                // Both in one update, which draws once: between two of them the bar would show a
                // share of the old total.
                bar.update(|state| {
                    // A bar of length 0 would be shown as full.
                    state.set_len(total.unwrap_or(done).max(1));
                    state.set_pos(done);
                });
                bar.set_message(line);
            }
            Kind::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                let share = total.map(|total| format!("{} %", percent(done, total)));
                let facts: Vec<String> = share.into_iter().chain(facts()).collect();
                self.say(&join(&facts, usize::MAX));
            }
            Kind::Lines { .. } | Kind::Silent => {}
        }
    }

    /// Shows a text beside the bar; does nothing where there is no bar.
    pub(crate) fn message(&self, text: &'static str) {
        if let Kind::Bar { bar } = &self.kind {
            bar.set_message(text);
        }
    }

    /// Writes a notice as a line, above the bar if there is one. It is no progress, so a silent meter
    /// tells it, too.
    pub(crate) fn say(&self, line: &str) {
        self.voice()(line);
    }

    /// Returns what writes notices also from another thread.
    pub(crate) fn voice(&self) -> impl Fn(&str) + Send + use<> {
        let bar = match &self.kind {
            Kind::Bar { bar } => Some(bar.clone()),
            Kind::Lines { .. } | Kind::Silent => None,
        };
        move |line| match &bar {
            Some(bar) => bar.println(line),
            None => say(line),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Kind::Bar { bar } = &self.kind {
            bar.finish_and_clear();
        }
    }
}

/// Returns a share in per cent, rounded down.
fn percent(done: u64, total: u64) -> u64 {
    // In 128 bits, because a hundred times a number of bytes may not fit into 64.
    let share = 100 * u128::from(done) / u128::from(total.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// An amount that was done, with the time that it took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The amount.
    pub(crate) done: u64,
    /// The time.
    pub(crate) elapsed: Duration,
}

impl Pace {
    /// Returns the amount a second; `None` while the time is too short.
    #[must_use]
    pub(crate) fn per_second(self) -> Option<f64> {
        (self.elapsed >= WARM_UP).then(|| self.done as f64 / self.elapsed.as_secs_f64())
    }

    /// Returns the time that the rest will take; `None` while that is not known.
    #[must_use]
    pub(crate) fn time_for(self, rest: u64) -> Option<Duration> {
        if rest == 0 || self.done == 0 {
            return None;
        }
        // A time that no `Duration` holds is as good as unknown.
        Duration::try_from_secs_f64(rest as f64 / self.per_second()?).ok()
    }

    /// Describes a number of bytes a second: `12.3 MB/s`.
    #[must_use]
    pub(crate) fn megabytes(self) -> Option<String> {
        Some(format!("{:.1} MB/s", self.per_second()? / 1e6))
    }
}

/// Joins as many facts as fit, from the first on; none is cut, because half a number is a wrong
/// one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_says_nothing_before_it_is_known() {
        let early = Pace {
            done: 100,
            elapsed: Duration::from_millis(500),
        };
        assert_eq!((early.megabytes(), early.time_for(100)), (None, None));
        let known = Pace {
            done: 5_000_000,
            elapsed: Duration::from_secs(2),
        };
        assert_eq!(known.megabytes().as_deref(), Some("2.5 MB/s"));
        assert_eq!(known.time_for(10_000_000), Some(Duration::from_secs(4)));
        assert_eq!(known.time_for(0), None);
    }

    #[test]
    fn facts_are_left_out_whole() {
        let facts = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(join(&facts, 8), "one, two");
        assert_eq!(join(&facts, 7), "one");
        assert_eq!(join(&facts, 2), "");
        assert_eq!(percent(u64::MAX, 1 << 63), 199);
    }
}
