//! Writes a summary as a page for people: verdict first, then figures, charts and tables. No
//! script, nothing to load.

mod charts;
mod tables;

use std::fmt::Write;

use super::chart::escaped;
use super::units;
use crate::summary::ProfilingSummary;
use crate::trend::Direction;
use crate::verdict::Cause;

const STYLE: &str = include_str!("html/report.css");

/// Returns the page.
pub(crate) fn page(summary: &ProfilingSummary) -> String {
    let title = escaped(&summary.title);
    // An empty icon, or a browser would ask a server for one.
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head><body><main>\n\
         <h1>{title}</h1><p class=\"when\">{} long, begun {} UTC, {} snapshots</p>\n",
        escaped(&units::seconds(summary.duration_seconds)),
        utc(summary.started_unix_seconds),
        summary.profiler.snapshots
    );
    verdict(&mut page, summary);
    tiles(&mut page, summary);
    tables::stages(&mut page, summary);
    charts::all(&mut page, summary);
    tables::rest(&mut page, summary);
    notes(&mut page, summary);
    page.push_str("</main></body></html>\n");
    page
}

/// Writes the verdict.
fn verdict(page: &mut String, summary: &ProfilingSummary) {
    let verdict = &summary.verdict;
    // Writing to a string does not fail, here and below.
    let _ = write!(
        page,
        "<section class=\"card verdict\"><h2>{}</h2>",
        escaped(&verdict.headline())
    );
    if !verdict.advice.is_empty() {
        let _ = write!(page, "<p class=\"advice\">{}</p>", escaped(&verdict.advice));
    }
    if !verdict.evidence.is_empty() {
        page.push_str("<ul>");
        for evidence in &verdict.evidence {
            let _ = write!(page, "<li>{}</li>", escaped(&evidence.text));
        }
        page.push_str("</ul>");
    }
    page.push_str("<div class=\"facts\">");
    if verdict.cause != Cause::Idle {
        let _ = write!(
            page,
            "<span>Confidence <b>{}</b></span>",
            units::percent(verdict.confidence)
        );
    }
    if let Some(gain) = &verdict.gain {
        let then = match &gain.next_stage {
            Some(stage) => format!("then stage “{}” bounds it", escaped(stage)),
            None => "by what else the stage does".to_owned(),
        };
        let _ = write!(
            page,
            "<span>To gain at most <b>{} ×</b>, {then}</span>",
            units::three_digits(gain.at_most)
        );
    }
    let legacy = summary.legacy_verdict;
    let named = legacy
        .resource
        .map_or_else(|| "none".to_owned(), |resource| resource.to_string());
    let _ = writeln!(
        page,
        "<span>Rule of thresholds <b>{named}</b> ({})</span></div></section>",
        units::percent(legacy.confidence)
    );
}

/// Writes the most important figures.
fn tiles(page: &mut String, summary: &ProfilingSummary) {
    let mut tiles: Vec<(String, String)> = Vec::new();
    let mut tile = |value: Option<String>, what: String| {
        if let Some(value) = value {
            tiles.push((value, what));
        }
    };
    let rate = |rate: Option<f64>| rate.map(|rate| format!("{} / s", units::count(rate)));
    // A total that is not known is never shown, because its rate is missing too.
    let total = |total: Option<u64>| units::count(total.unwrap_or(0) as f64);
    let throughput = &summary.throughput;
    tile(
        rate(throughput.samples_per_second),
        format!("samples, {} in all", total(throughput.samples)),
    );
    tile(
        rate(throughput.tokens_per_second),
        format!("tokens, {} in all", total(throughput.tokens)),
    );
    let cpu = &summary.cpu;
    tile(
        cpu.cores.map(|cores| units::three_digits(cores.mean)),
        match cpu.allowed_cores {
            Some(allowed) => format!("of {} cores in use", units::three_digits(allowed)),
            None => "cores in use".to_owned(),
        },
    );
    let memory = &summary.memory;
    tile(
        memory.process_rss.map(|rss| units::bytes(rss.peak)),
        format!(
            "memory at most{}",
            match memory.trend.direction {
                Direction::Growing => ", growing",
                Direction::Declining => ", declining",
                Direction::Stable => ", stable",
                Direction::Unknown => "",
            }
        ),
    );
    let disk = &summary.disk;
    tile(
        disk.written_bytes.map(|bytes| units::bytes(bytes as f64)),
        format!(
            "written to disk, {} / s",
            units::bytes(disk.written_bytes_per_second.unwrap_or(0.0))
        ),
    );
    tile(
        disk.read_bytes.map(|bytes| units::bytes(bytes as f64)),
        format!(
            "read from disk, {} / s",
            units::bytes(disk.read_bytes_per_second.unwrap_or(0.0))
        ),
    );
    page.push_str("<section class=\"tiles\">");
    for (value, what) in tiles {
        let _ = write!(
            page,
            "<div><b>{}</b><span>{}</span></div>",
            escaped(&value),
            escaped(&what)
        );
    }
    page.push_str("</section>\n");
}

/// Writes what profiling cost, and how to read the page.
fn notes(page: &mut String, summary: &ProfilingSummary) {
    let profiler = &summary.profiler;
    page.push_str("<p class=\"note\">");
    if let Some(seconds) = profiler.cpu_seconds {
        let _ = write!(
            page,
            "Profiling took {} of processor time, {} of a core, with a snapshot every {}. ",
            units::seconds(seconds),
            units::percent(profiler.cpu_share.unwrap_or(0.0)),
            units::seconds(profiler.sampling_interval_seconds)
        );
    }
    page.push_str(
        "Values hold for the stretch of time over which they are drawn; point at a chart to read them. \
         What could not be read is left out.</p>\n",
    );
}

/// Returns a time as year-month-day hours:minutes:seconds (civil calendar from days, after H.
/// Hinnant).
fn utc(unix_seconds: f64) -> String {
    let seconds = unix_seconds.max(0.0) as u64;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of year 0, so that a leap day is the last of its year.
    let days = days + 719_468;
    // The calendar repeats every 400 years, an era of 146,097 days.
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March have lengths that this formula yields without a table.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    // January and February belong to the year that begins in the March before.
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_the_calendar() {
        assert_eq!(utc(0.0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_400.0), "2000-02-29 00:00:00");
        assert_eq!(utc(1_767_225_599.9), "2025-12-31 23:59:59");
    }
}
