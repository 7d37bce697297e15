//! The charts of the page.

use kato_report::figures::{bytes, count, percent, three_digits};
use kato_report::{Axis, Cell, Chart, ChartSpan, Color, HeatMap, Page, Picture, Shape};

use crate::point::{StageTimes, TimelinePoint};
use crate::summary::ProfilingSummary;

/// Steps of a chart: more cannot be distinguished on a screen.
const STEPS: usize = 200;
/// Cells of a row of shades: every one is an element of its own, for each core.
const CELLS: usize = 100;

/// A state: its name, its colour, and its time.
type StateTime = (&'static str, Color, fn(&StageTimes) -> f64);

/// The states in the order in which they are stacked.
pub(super) const STATES: [StateTime; 6] = [
    ("busy", Color::Good, |times| times.busy),
    ("waiting for a server", Color::Nth(0), |times| {
        times.blocked_server
    }),
    ("waiting for a disk", Color::Nth(1), |times| {
        times.blocked_disk
    }),
    ("waiting for a lock", Color::Bad, |times| times.blocked_lock),
    ("blocked downstream", Color::Muted, |times| {
        times.blocked_downstream
    }),
    ("starved", Color::Faint, |times| times.starved),
];

/// A curve: its name, and its value at a point.
type Curve = (&'static str, fn(&TimelinePoint) -> Option<f64>);

/// A chart: its title, how values are written, and its curves.
type Curves = (&'static str, fn(f64) -> String, &'static [Curve]);

/// What the process used, before the map of the cores.
const PROCESS: [Curves; 2] = [
    (
        "Memory",
        bytes,
        &[
            ("process", |p| p.process_rss.map(|level| level.max)),
            ("with descendants", |p| {
                // Only where it differs: otherwise one line hides the other.
                let (tree, own) = (p.tree_rss?, p.process_rss?);
                (tree.max > own.max).then_some(tree.max)
            }),
            ("cgroup", |p| p.cgroup_memory.map(|level| level.max)),
        ],
    ),
    (
        "Cores in use by the process",
        three_digits,
        &[("mean", |p| p.cpu_cores.map(|level| level.mean))],
    ),
];

/// What it used else, and what it waited for.
const MACHINE: [Curves; 3] = [
    (
        "Disk, bytes a second",
        bytes,
        &[
            ("written by the process", |p| {
                by_second(p.disk_written_bytes, p)
            }),
            ("read by the process", |p| by_second(p.disk_read_bytes, p)),
            ("written to the device", |p| {
                by_second(p.device_written_bytes, p)
            }),
        ],
    ),
    (
        "Network of the machine, bytes a second",
        bytes,
        &[
            ("received", |p| by_second(p.network_received_bytes, p)),
            ("sent", |p| by_second(p.network_sent_bytes, p)),
        ],
    ),
    (
        "Pressure: share of time in which tasks waited",
        percent,
        &[
            ("for a processor", |p| stalled(p.cpu_stall_seconds, p)),
            ("for a disk", |p| stalled(p.io_stall_seconds, p)),
            ("for memory", |p| stalled(p.memory_stall_seconds, p)),
        ],
    ),
];

const SAMPLES: Curves = (
    "Samples a second",
    count,
    &[("samples", |p| by_second(p.samples, p))],
);

/// Writes all charts for which there are figures.
pub(super) fn all(page: &mut Page, summary: &ProfilingSummary) {
    let points = summary.timeline.reduced(STEPS);
    if points.is_empty() {
        return;
    }
    let steps = |(title, format, curves): Curves| {
        let curves = curves.iter();
        let values = curves.map(|(name, value)| (*name, spans(&points, value)));
        stepped(title, format, values)
    };
    page.heading("Resources over time");
    let resources = PROCESS.into_iter().filter_map(steps);
    let resources = resources.chain(cores(summary));
    page.pictures(resources.chain(MACHINE.into_iter().filter_map(steps)));

    page.heading("Work over time");
    let stages = summary.stages.iter().enumerate();
    let items = stages
        .clone()
        .filter(|(_, stage)| stage.items > 0)
        .map(|(at, stage)| {
            let items = |p: &TimelinePoint| by_second(p.stages.get(at).map(|stage| stage.items), p);
            (stage.name.as_str(), spans(&points, items))
        });
    let items = stepped("Items of the stages a second", count, items);
    let times = stages
        .filter(|(_, stage)| stage.times.present() > 0.0)
        .map(|(at, stage)| stage_times(&points, at, &stage.name));
    page.pictures(steps(SAMPLES).into_iter().chain(items).chain(times));
}

/// Returns curves as steps, if any of them is known: what is not has no curve and no entry in the
/// legend.
fn stepped<'a>(
    title: &str,
    format: fn(f64) -> String,
    curves: impl Iterator<Item = (&'a str, Vec<ChartSpan>)>,
) -> Option<Picture> {
    let is_known = |spans: &[ChartSpan]| spans.iter().any(|span| span.value.is_some());
    let mut known = curves
        .enumerate()
        .filter(|(_, (_, spans))| is_known(spans))
        .peekable();
    known.peek()?;
    let chart = Chart::new(title, Axis::time(), Axis::linear("").with_format(format));
    let chart = known.fold(chart, |chart, (at, (name, spans))| {
        chart.with(Color::Nth(at), name, Shape::Steps(spans))
    });
    Some(chart.draw())
}

/// Returns a value over the stretches of the points.
fn spans(
    points: &[TimelinePoint],
    value: impl Fn(&TimelinePoint) -> Option<f64>,
) -> Vec<ChartSpan> {
    let points = points.iter();
    points
        .map(|point| ChartSpan {
            start: point.start_seconds,
            end: point.start_seconds + point.seconds,
            value: value(point),
        })
        .collect()
}

/// Returns the share of the stage's time in each state.
fn stage_times(points: &[TimelinePoint], at: usize, name: &str) -> Picture {
    let title = format!("What the threads of stage “{name}” did");
    let chart = Chart::new(title, Axis::time(), Axis::share());
    let shares = STATES.map(|(state, color, time)| {
        let share = |point: &TimelinePoint| {
            let times = point.stages.get(at)?.times;
            let present = times.present();
            (present > 0.0).then(|| time(&times) / present)
        };
        (state, color, spans(points, share))
    });
    let occurs = |spans: &[ChartSpan]| spans.iter().any(|span| span.value.is_some_and(|v| v > 0.0));
    shares
        .into_iter()
        // States that do not occur would only lengthen the legend.
        .filter(|(_, _, spans)| occurs(spans))
        .fold(chart, |chart, (state, color, spans)| {
            chart.with(color, state, Shape::Stack(spans))
        })
        .draw()
}

/// Returns how busy each core of the machine was.
fn cores(summary: &ProfilingSummary) -> Option<Picture> {
    let points = summary.timeline.reduced(CELLS);
    let n_cores = points.iter().map(|p| p.core_busy.len()).max()?;
    let cores = 0..n_cores;
    let busy = |core| points.iter().map(move |p| p.core_busy.get(core).copied());
    let map = HeatMap {
        title: "Cores of the machine, busy for anybody: the stronger the colour, the busier"
            .to_owned(),
        columns: (
            String::new(),
            points
                .iter()
                .map(|point| kato_report::figures::seconds(point.start_seconds))
                .collect(),
        ),
        rows: (
            String::new(),
            cores.clone().map(|core| format!("core {core}")).collect(),
        ),
        values: cores.map(|core| busy(core).collect()).collect(),
        range: Some((0.0, 1.0)),
        format: percent,
    };
    (n_cores > 0).then(|| map.draw())
}

/// Returns a stage's time by state as one bar.
pub(super) fn bar(times: &StageTimes) -> Cell {
    let present = times.present().max(f64::MIN_POSITIVE);
    let parts = STATES.iter().map(|(state, color, time)| {
        let share = time(times) / present;
        (*color, share, format!("{state}: {}", percent(share)))
    });
    Cell::Bar(parts.collect())
}

/// Returns an amount by second; points have no length where two snapshots fell together.
fn by_second(amount: Option<u64>, point: &TimelinePoint) -> Option<f64> {
    let amount = amount? as f64;
    (point.seconds > 0.0).then(|| amount / point.seconds)
}

/// Returns the share of a point's time that was stalled, at most 1: stalls and snapshots are read at
/// slightly different moments.
fn stalled(seconds: Option<f64>, point: &TimelinePoint) -> Option<f64> {
    let seconds = seconds?;
    (point.seconds > 0.0).then(|| (seconds / point.seconds).min(1.0))
}
