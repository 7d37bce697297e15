//! A plan as a page of HTML that needs nothing beside it.

use kato_planner::chart::{Axis, Chart, Mark, bars, escaped};
use kato_planner::recommend::{Verdict, span};
use kato_planner::scaling::Scaling;

use super::Plan;
use super::view::bytes;
use crate::inspect::View;

/// Points of a curve.
const POINTS: i32 = 60;

/// Returns the page.
#[must_use]
pub(crate) fn page(plan: &Plan, time: &Scaling) -> String {
    let rows: Vec<String> = plan
        .recommendation
        .options
        .iter()
        .map(|option| {
            let verdict = match option.verdict {
                Verdict::Surely => "yes",
                Verdict::Probably => "probably",
                _ => "no",
            };
            let why: Vec<String> = option.shortfalls.iter().map(ToString::to_string).collect();
            format!(
                "<tr><td>{verdict}</td><td>{}</td><td>{}</td><td>{} to {}</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>",
                escaped(&option.machine),
                span(option.hours.value),
                span(option.hours.low),
                span(option.hours.high),
                option.usd.value,
                option.bound_by,
                escaped(&why.join("; "))
            )
        })
        .collect();
    let rates: Vec<(String, Vec<f64>)> = plan
        .pilots
        .iter()
        .map(|pilot| {
            let rate = pilot.tokens as f64 / pilot.seconds.max(1e-9) / 1e6;
            (bytes(pilot.text_bytes as f64), vec![rate])
        })
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Plan of a training run</title><style>{STYLE}</style></head>\
         <body><h1>Plan of a training run</h1><p>{}</p><pre>{}</pre><h2>Time</h2>{}{}<h2>Machines</h2>\
         <table><tr><th>does it</th><th>machine</th><th>time</th><th>interval</th><th>USD</th><th>bound by</th><th>lacks</th></tr>{}</table>\
         </body></html>\n",
        escaped(&plan.sources.join(" ")),
        escaped(&plan.text(100)),
        time_chart(plan, time),
        bars(
            "Rate of the pilots",
            "million tokens a second",
            &["rate"],
            &rates
        ),
        rows.join("")
    )
}

/// The style of pages.
pub(crate) const STYLE: &str = "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}\
    pre{background:#f6f6f6;padding:1em;overflow-x:auto}table{border-collapse:collapse}\
    td,th{border-bottom:1px solid #ddd;padding:.3em .7em;text-align:left}svg{max-width:100%;height:auto}";

/// The pilots, the law, and the run.
fn time_chart(plan: &Plan, time: &Scaling) -> String {
    let (first, _) = time.range();
    let last = plan.target.size().max(time.range().1);
    let step = (last / first).max(1.0).powf(1.0 / f64::from(POINTS));
    let curve: Vec<_> = (0..=POINTS)
        .filter_map(|n| time.predict(first * step.powi(n)).ok())
        .collect();
    let axes = (
        Axis::logarithmic(plan.target.unit()),
        Axis::logarithmic("seconds"),
    );
    let run = (plan.target.size(), plan.forecast.seconds.value);
    Chart::new("Time by size", axes.0, axes.1)
        .with_band(
            curve
                .iter()
                .map(|point| (point.size, point.low, point.high)),
        )
        .with_series(
            "law",
            Mark::Line,
            curve.iter().map(|point| (point.size, point.value)),
        )
        .with_series("pilots", Mark::Points, time.measurements().iter().copied())
        .with_series("the run", Mark::Points, [run])
        .to_svg()
}
