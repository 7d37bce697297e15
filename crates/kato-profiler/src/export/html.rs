//! Writes a summary as a page for people: verdict first, then figures, charts and tables. No
//! script, nothing to load.

mod charts;
mod tables;

use kato_report::figures::{self, bytes, count, percent, three_digits};
use kato_report::{Callout, Page};

use crate::summary::ProfilingSummary;
use crate::trend::Direction;
use crate::verdict::Cause;

/// Returns the page.
pub(crate) fn page(summary: &ProfilingSummary) -> String {
    let mut page = Page::new(&summary.title);
    page.lead(&format!(
        "{} long, begun {} UTC, {} snapshots",
        figures::seconds(summary.duration_seconds),
        utc(summary.started_unix_seconds),
        summary.profiler.snapshots
    ));
    page.callout(&verdict(summary));
    page.tiles(tiles(summary));
    tables::stages(&mut page, summary);
    charts::all(&mut page, summary);
    tables::rest(&mut page, summary);
    page.note(&notes(summary));
    page.into_html()
}

/// Returns the verdict.
fn verdict(summary: &ProfilingSummary) -> Callout {
    let verdict = &summary.verdict;
    let mut facts = Vec::new();
    if verdict.cause != Cause::Idle {
        facts.push(("Confidence".to_owned(), percent(verdict.confidence)));
    }
    if let Some(gain) = &verdict.gain {
        let then = match &gain.next_stage {
            Some(stage) => format!("then stage “{stage}” bounds it"),
            None => "by what else the stage does".to_owned(),
        };
        let at_most = three_digits(gain.at_most);
        facts.push(("To gain at most".to_owned(), format!("{at_most} ×, {then}")));
    }
    let evidence = verdict.evidence.iter();
    Callout {
        title: verdict.headline(),
        text: verdict.advice.clone(),
        points: evidence.map(|evidence| evidence.text.clone()).collect(),
        facts,
    }
}

/// Returns the most important figures; what is not known has no tile.
fn tiles(summary: &ProfilingSummary) -> Vec<(String, String)> {
    let rate = |rate: Option<f64>| rate.map(|rate| format!("{} / s", count(rate)));
    // A total that is not known is never shown, because its rate is missing too.
    let total = |total: Option<u64>| count(total.unwrap_or(0) as f64);
    let throughput = &summary.throughput;
    let (cpu, memory, disk) = (&summary.cpu, &summary.memory, &summary.disk);
    let cores = match cpu.allowed_cores {
        Some(allowed) => format!("of {} cores in use", three_digits(allowed)),
        None => "cores in use".to_owned(),
    };
    let grows = match memory.trend.direction {
        Direction::Growing => ", growing",
        Direction::Declining => ", declining",
        Direction::Stable => ", stable",
        Direction::Unknown => "",
    };
    let a_second = |rate: Option<f64>| bytes(rate.unwrap_or(0.0));
    let tiles = [
        (
            rate(throughput.samples_per_second),
            format!("samples, {} in all", total(throughput.samples)),
        ),
        (
            rate(throughput.tokens_per_second),
            format!("tokens, {} in all", total(throughput.tokens)),
        ),
        (cpu.cores.map(|cores| three_digits(cores.mean)), cores),
        (
            memory.process_rss.map(|rss| bytes(rss.peak)),
            format!("memory at most{grows}"),
        ),
        (
            disk.written_bytes.map(|written| bytes(written as f64)),
            format!(
                "written to disk, {} / s",
                a_second(disk.written_bytes_per_second)
            ),
        ),
        (
            disk.read_bytes.map(|read| bytes(read as f64)),
            format!(
                "read from disk, {} / s",
                a_second(disk.read_bytes_per_second)
            ),
        ),
    ];
    let known = tiles.into_iter();
    known
        .filter_map(|(value, what)| Some((value?, what)))
        .collect()
}

/// Returns what profiling cost, and how to read the page.
fn notes(summary: &ProfilingSummary) -> String {
    let profiler = &summary.profiler;
    let cost = profiler.cpu_seconds.map_or_else(String::new, |seconds| {
        format!(
            "Profiling took {} of processor time, {} of a core, with a snapshot every {}. ",
            figures::seconds(seconds),
            percent(profiler.cpu_share.unwrap_or(0.0)),
            figures::seconds(profiler.sampling_interval_seconds)
        )
    });
    cost + "Values hold for the stretch of time over which they are drawn; point at a chart to read them. \
            What could not be read is left out."
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
