//! The charts of the page.

use std::fmt::Write;

use crate::export::chart::{Chart, Series, Span, escaped};
use crate::export::units;
use crate::point::{StageTimes, TimelinePoint};
use crate::summary::ProfilingSummary;

/// Steps of a chart: more cannot be distinguished on a screen.
const STEPS: usize = 200;
/// Cells of a row of shades.
const CELLS: usize = 100;

/// A state: its name, its class, and its time.
type StateTime = (&'static str, &'static str, fn(&StageTimes) -> f64);

/// The states in the order in which they are stacked.
pub(super) const STATES: [StateTime; 6] = [
    ("busy", "busy", |times| times.busy),
    ("waiting for a server", "server", |times| {
        times.blocked_server
    }),
    ("waiting for a disk", "disk", |times| times.blocked_disk),
    ("waiting for a lock", "lock", |times| times.blocked_lock),
    ("blocked downstream", "downstream", |times| {
        times.blocked_downstream
    }),
    ("starved", "starved", |times| times.starved),
];

/// A curve: its name, and its value at a point.
type Curve<'a> = (&'a str, &'a dyn Fn(&TimelinePoint) -> Option<f64>);

/// Writes all charts for which there are figures.
pub(super) fn all(page: &mut String, summary: &ProfilingSummary) {
    let points = summary.timeline.reduced(STEPS);
    if points.is_empty() {
        return;
    }
    let spans = spans(&points);
    let steps =
        |page: &mut String, title: &str, format: fn(f64) -> String, curves: &[Curve<'_>]| {
            let series: Vec<Series> = curves
                .iter()
                .enumerate()
                .map(|(at, (name, value))| Series {
                    name: (*name).to_owned(),
                    // There are six colours.
                    class: format!("c{}", at % 6),
                    values: points.iter().map(value).collect(),
                })
                // What is not known has no curve and no entry in the legend.
                .filter(|series| series.values.iter().any(Option::is_some))
                .collect();
            if series.is_empty() {
                return;
            }
            let chart = Chart {
                title,
                description: described(&series, format),
                format,
                spans: &spans,
            };
            page.push_str(&chart.steps(&series));
        };
    // Points may have no length, where two snapshots fell together.
    let by_second = |amount: Option<u64>, p: &TimelinePoint| {
        (p.seconds > 0.0)
            .then(|| Some(amount? as f64 / p.seconds))
            .flatten()
    };
    page.push_str("<h2>Resources over time</h2><section class=\"charts\">");
    steps(
        page,
        "Memory",
        units::bytes,
        &[
            ("process", &|p| p.process_rss.map(|level| level.max)),
            ("with descendants", &|p| {
                // Only where it differs: otherwise one line hides the other.
                let (tree, own) = (p.tree_rss?, p.process_rss?);
                (tree.max > own.max).then_some(tree.max)
            }),
            ("cgroup", &|p| p.cgroup_memory.map(|level| level.max)),
        ],
    );
    steps(
        page,
        "Cores in use by the process",
        units::three_digits,
        &[("mean", &|p| p.cpu_cores.map(|level| level.mean))],
    );
    cores(page, summary);
    steps(
        page,
        "Disk, bytes a second",
        units::bytes,
        &[
            ("written by the process", &|p| {
                by_second(p.disk_written_bytes, p)
            }),
            ("read by the process", &|p| by_second(p.disk_read_bytes, p)),
            ("written to the device", &|p| {
                by_second(p.device_written_bytes, p)
            }),
        ],
    );
    steps(
        page,
        "Network of the machine, bytes a second",
        units::bytes,
        &[
            ("received", &|p| by_second(p.network_received_bytes, p)),
            ("sent", &|p| by_second(p.network_sent_bytes, p)),
        ],
    );
    // Stalls and snapshots are read at slightly different moments, so a share may exceed 1.
    let stalled = |seconds: Option<f64>, p: &TimelinePoint| {
        (p.seconds > 0.0)
            .then(|| Some((seconds? / p.seconds).min(1.0)))
            .flatten()
    };
    steps(
        page,
        "Pressure: share of time in which tasks waited",
        units::percent,
        &[
            ("for a processor", &|p| stalled(p.cpu_stall_seconds, p)),
            ("for a disk", &|p| stalled(p.io_stall_seconds, p)),
            ("for memory", &|p| stalled(p.memory_stall_seconds, p)),
        ],
    );
    page.push_str("</section>\n");

    page.push_str("<h2>Work over time</h2><section class=\"charts\">");
    steps(
        page,
        "Samples a second",
        units::count,
        &[("samples", &|p| by_second(p.samples, p))],
    );
    let items: Vec<(usize, &str)> = summary
        .stages
        .iter()
        .enumerate()
        .filter(|(_, stage)| stage.items > 0)
        .map(|(at, stage)| (at, stage.name.as_str()))
        .collect();
    // Curves are borrowed closures, so they are kept in a list of their own.
    let of = |at: usize| {
        move |p: &TimelinePoint| by_second(p.stages.get(at).map(|stage| stage.items), p)
    };
    let rates: Vec<_> = items.iter().map(|(at, name)| (*name, of(*at))).collect();
    let curves: Vec<Curve<'_>> = rates.iter().map(|(name, of)| (*name, of as _)).collect();
    steps(page, "Items of the stages a second", units::count, &curves);
    for (at, stage) in summary.stages.iter().enumerate() {
        if stage.times.present() > 0.0 {
            stage_times(page, &points, &spans, at, &stage.name);
        }
    }
    page.push_str("</section>\n");
}

/// Returns the stretches of the points.
fn spans(points: &[TimelinePoint]) -> Vec<Span> {
    points
        .iter()
        .map(|point| Span {
            start: point.start_seconds,
            end: point.start_seconds + point.seconds,
        })
        .collect()
}

/// Writes the share of the stage's time in each state.
fn stage_times(page: &mut String, points: &[TimelinePoint], spans: &[Span], at: usize, name: &str) {
    let series: Vec<Series> = STATES
        .iter()
        .map(|(state, class, time)| Series {
            name: (*state).to_owned(),
            class: (*class).to_owned(),
            values: points
                .iter()
                .map(|point| {
                    let times = point.stages.get(at)?.times;
                    let present = times.present();
                    (present > 0.0).then(|| time(&times) / present)
                })
                .collect(),
        })
        // States that do not occur would only lengthen the legend.
        .filter(|series| series.values.iter().flatten().any(|share| *share > 0.0))
        .collect();
    let title = format!("What the threads of stage “{name}” did");
    let chart = Chart {
        title: &title,
        description: described(&series, units::percent),
        format: units::percent,
        spans,
    };
    page.push_str(&chart.stacked(&series));
}

/// Writes how busy each core of the machine was.
fn cores(page: &mut String, summary: &ProfilingSummary) {
    // Fewer steps than the other charts: every cell is an element of its own, for each core.
    let points = summary.timeline.reduced(CELLS);
    let n_cores = points.iter().map(|p| p.core_busy.len()).max().unwrap_or(0);
    if n_cores == 0 {
        return;
    }
    let series: Vec<Series> = (0..n_cores)
        .map(|core| Series {
            name: format!("core {core}"),
            class: String::new(),
            values: points
                .iter()
                .map(|point| point.core_busy.get(core).copied())
                .collect(),
        })
        .collect();
    let chart = Chart {
        title: "Cores of the machine, busy for anybody: the stronger the colour, the busier",
        description: described(&series, units::percent),
        format: units::percent,
        spans: &spans(&points),
    };
    page.push_str(&chart.shades(&series));
}

/// Returns the chart in words: least and greatest value of each series.
fn described(series: &[Series], format: fn(f64) -> String) -> String {
    let mut words = String::new();
    for series in series {
        let values = || series.values.iter().flatten().copied();
        let (least, most) = (values().reduce(f64::min), values().reduce(f64::max));
        if let (Some(least), Some(most)) = (least, most) {
            let _ = write!(
                words,
                "{}: {} to {}. ",
                series.name,
                format(least),
                format(most)
            );
        }
    }
    words
}

/// Returns a stage's time by state as one bar.
pub(super) fn bar(times: &StageTimes) -> String {
    let present = times.present();
    let mut bar = "<div class=\"bar\">".to_owned();
    for (state, class, time) in STATES {
        let share = time(times) / present.max(f64::MIN_POSITIVE);
        // Narrower parts would not be visible.
        if share > 0.002 {
            let _ = write!(
                bar,
                "<i class=\"{class}\" style=\"width:{:.1}%\" title=\"{}\"></i>",
                100.0 * share,
                escaped(&format!("{state}: {}", units::percent(share)))
            );
        }
    }
    bar.push_str("</div>");
    bar
}
