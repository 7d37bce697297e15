//! A plan as a page for the person who decides: how long, how much, on what, and why.

use kato_planner::Interval;
use kato_planner::recommend::{Fulfilment, MachineOption, Tenure, span};
use kato_planner::scaling::Scaling;
use kato_report::figures::{bytes, count, seconds};
use kato_report::{Axis, Callout, Chart, Color, Page, PageTable, Picture, Range, Ranges, Shape};

use super::Plan;
use super::view::in_words;
use crate::numbers::counted;

/// Steps of a curve.
const POINTS: i32 = 60;

/// Returns the page.
#[must_use]
pub(crate) fn page(plan: &Plan, time: &Scaling) -> String {
    let mut page = Page::new("Plan of a training run");
    let sources = match plan.sources.as_slice() {
        [first, _, _, ..] => format!("{first} and {} others", plan.sources.len() - 1),
        sources => sources.join(" and "),
    };
    page.lead(&format!(
        "{} of text like {sources}, about {}, {} times the largest pilot",
        bytes(plan.target.text_bytes),
        counted(plan.target.samples.round() as u64, "document"),
        count(plan.extrapolation)
    ));
    page.callout(&headline(plan));
    page.tiles(tiles(plan));
    page.heading("The command");
    page.command(&plan.command);
    page.heading("Time and money by machine");
    page.pictures([times(plan)].into_iter().chain(prices(plan)));
    page.note("A dot is what is expected, a bar what is to hold in 90 of 100 cases.");
    if let Some(source) = plan.price_source() {
        page.note(&source);
    }
    page.heading("What this rests on");
    page.list(plan.assumptions.iter().cloned().chain(on_the_way(plan)));
    page.pictures([law(plan, time), rates(plan)]);
    page.heading("All machines");
    page.table(&machines(plan));
    page.into_html()
}

/// Returns the answer: machine, time and money, or what would have to change.
fn headline(plan: &Plan) -> Callout {
    let recommendation = &plan.recommendation;
    let wanted = wanted(plan);
    let Some(best) = recommendation.options.first() else {
        return Callout {
            title: "There is no machine to choose from".to_owned(),
            ..Callout::default()
        };
    };
    let title = match best.verdict {
        Fulfilment::DoesNot => format!("No machine does it{wanted}"),
        _ => format!(
            "{} on {}, {}",
            span(best.hours.value),
            best.machine,
            money(best)
        ),
    };
    let changes = recommendation.changes.iter();
    Callout {
        title,
        text: reason(best, &wanted)
            + if changes.len() > 0 {
                " One of these would do it:"
            } else {
                ""
            },
        points: changes.map(ToString::to_string).collect(),
        facts: vec![
            ("Between".to_owned(), between(best.hours, span)),
            ("Bound by".to_owned(), best.bound_by.to_string()),
        ],
    }
}

/// Returns why the best machine is the answer, or why it is none.
fn reason(best: &MachineOption, wanted: &str) -> String {
    match best.verdict {
        Fulfilment::Surely if wanted.is_empty() => {
            "The cheapest machine that does it, as neither time nor money was limited.".to_owned()
        }
        Fulfilment::Surely => {
            format!("It is done{wanted} also where everything takes as much as it may.")
        }
        Fulfilment::DoesNot => {
            let lacks: Vec<String> = best.shortfalls.iter().map(ToString::to_string).collect();
            let lacks = lacks.join(", ");
            format!("Nearest is {}, {}: it {lacks}.", best.machine, money(best))
        }
        _ => format!("It is probably done{wanted}, but it may take more than there is."),
    }
}

/// Returns what was wanted of time and money, in words that end a sentence.
fn wanted(plan: &Plan) -> String {
    let wanted = &plan.recommendation.requirements;
    let hours = wanted.hours.map(|hours| format!(" within {}", span(hours)));
    let budget = wanted
        .budget_usd
        .map(|budget| format!(" for {}", usd(budget)));
    hours.unwrap_or_default() + &budget.unwrap_or_default()
}

/// Returns what a machine costs, in words.
fn money(option: &MachineOption) -> String {
    match option.place {
        Tenure::Bought => format!("bought for {}", usd(option.usd.value)),
        _ if option.usd.value > 0.0 => format!("for {}", usd(option.usd.value)),
        _ => "at no cost".to_owned(),
    }
}

/// Returns the figures of the run here.
fn tiles(plan: &Plan) -> Vec<(String, String)> {
    let tile = |interval: Interval, format: fn(f64) -> String, what: &str| {
        let between = between(interval, format);
        (format(interval.value), format!("{what}, {between}"))
    };
    let forecast = &plan.forecast;
    let forecasts = [
        (
            forecast.seconds,
            seconds as fn(f64) -> String,
            "on this machine",
        ),
        (forecast.disk_bytes, bytes, "on the disk"),
        (forecast.index_bytes, bytes, "of index beside it"),
        (forecast.head_bytes, bytes, "of counts of the head"),
        (forecast.occurrences_bytes, bytes, "of occurrences"),
        (forecast.memory_bytes, bytes, "of memory"),
    ];
    forecasts
        .into_iter()
        .filter_map(|(value, format, what)| Some(tile(value?.into(), format, what)))
        .chain([tile(plan.patterns, count, "patterns")])
        .collect()
}

/// Returns an interval's ends in words.
fn between(interval: Interval, format: fn(f64) -> String) -> String {
    format!("{} to {}", format(interval.low), format(interval.high))
}

/// Returns the time that each machine takes.
fn times(plan: &Plan) -> Picture {
    let wanted = plan.recommendation.requirements.hours;
    Ranges {
        title: "Time".to_owned(),
        axis: Axis::logarithmic("").with_format(span),
        rows: plan
            .shown()
            .map(|option| range(option, option.hours))
            .collect(),
        limit: wanted.map(|hours| (hours, format!("wanted: {}", span(hours)))),
    }
    .draw()
}

/// Returns the money that each machine costs; `None` where all are there already.
fn prices(plan: &Plan) -> Option<Picture> {
    plan.shown().find(|option| option.usd.value > 0.0)?;
    let budget = plan.recommendation.requirements.budget_usd;
    let ranges = Ranges {
        title: "Money: the rent for the run, or the price of the machine".to_owned(),
        axis: Axis::logarithmic("").with_format(usd),
        rows: plan
            .shown()
            .map(|option| range(option, option.usd))
            .collect(),
        limit: budget.map(|budget| (budget, format!("wanted: {}", usd(budget)))),
    };
    Some(ranges.draw())
}

fn range(option: &MachineOption, ends: Interval) -> Range {
    let (color, meaning) = match option.verdict {
        Fulfilment::Surely => (Color::Good, "does it"),
        Fulfilment::Probably => (Color::Fair, "probably does it"),
        _ => (Color::Bad, "does not"),
    };
    Range {
        name: option.machine.clone(),
        ends: (ends.low, ends.value, ends.high),
        color,
        meaning: meaning.to_owned(),
    }
}

/// Returns the law and what is met on the way, in words.
fn on_the_way(plan: &Plan) -> Vec<String> {
    let unit = plan.target.unit();
    let mut words = vec![format!("Law of the time, n in {unit}: {}.", plan.law)];
    words.extend(plan.on_the_way.iter().filter_map(|crossing| {
        let at = crossing.expected.or(crossing.earliest)?;
        Some(format!(
            "On the way, {} at {} of text.",
            crossing.what,
            bytes(at)
        ))
    }));
    words
}

/// Returns the pilots, the law, and the run.
fn law(plan: &Plan, time: &Scaling) -> Picture {
    let (first, _) = time.range();
    let last = plan.target.size().max(time.range().1);
    let step = (last / first).max(1.0).powf(1.0 / f64::from(POINTS));
    let curve: Vec<_> = (0..=POINTS)
        .filter_map(|n| time.predict(first * step.powi(n)).ok())
        .collect();
    let band = curve
        .iter()
        .map(|point| (point.size, point.low, point.high));
    let line = curve.iter().map(|point| (point.size, point.value));
    let expected = plan.forecast.seconds.map_or(0.0, |seconds| seconds.value);
    let run = (plan.target.size(), expected);
    let pilots = time.measurements().to_vec();
    Chart::new(
        "Time on this machine by size",
        size_axis(plan),
        Axis::logarithmic("").with_format(seconds),
    )
    .with(Color::Nth(0), "", Shape::Band(band.collect()))
    .with(
        Color::Nth(0),
        "law, with its interval",
        Shape::Line(line.collect()),
    )
    .with(Color::Nth(1), "pilots", Shape::Points(pilots))
    .with(Color::Nth(2), "the run", Shape::Points(vec![run]))
    .draw()
}

/// Returns the rate of the pilots.
fn rates(plan: &Plan) -> Picture {
    let pilots = plan.pilots.iter();
    let rates = pilots.map(|pilot| {
        let rate = pilot.tokens as f64 / pilot.seconds.max(1e-9);
        (pilot.text_bytes as f64, rate)
    });
    let text = Axis::logarithmic("text").with_format(bytes);
    Chart::new("Rate of the pilots", text, Axis::linear("tokens a second"))
        .with(Color::Nth(1), "pilots", Shape::Points(rates.collect()))
        .draw()
}

fn size_axis(plan: &Plan) -> Axis {
    match plan.target.upserts {
        Some(_) => Axis::logarithmic("upserts"),
        None => Axis::logarithmic("text").with_format(bytes),
    }
}

fn machines(plan: &Plan) -> PageTable {
    let columns = [
        "machine", "does it", "time", "between", "money", "bound by", "lacks",
    ];
    let mut table = PageTable::new(columns);
    for option in &plan.recommendation.options {
        let lacks: Vec<String> = option.shortfalls.iter().map(ToString::to_string).collect();
        let cells = [
            in_words(option.verdict).to_owned(),
            span(option.hours.value),
            between(option.hours, span),
            usd(option.usd.value),
            option.bound_by.to_string(),
            lacks.join("; "),
        ];
        table.row(&option.machine, cells);
    }
    table
}

/// Returns money in words.
fn usd(usd: f64) -> String {
    match usd {
        ..1000.0 => format!("{usd:.2} USD"),
        _ => format!("{usd:.0} USD"),
    }
}
