//! A page of everything, looked at in a browser: it fits into every screen, light or dark.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

use std::path::Path;
use std::process::Command;

use kato_report::{
    Axis, Callout, Cell, Chart, ChartSpan, Color, HeatMap, Page, PageTable, Picture, Range, Ranges,
    Shape, bars, figures,
};
use kato_test_needs::browser;

const LONG: &str = "a_name_without_any_place_to_break_it_of_a_corpus_or_a_machine_that_is_longer_than_a_phone_is_wide";

fn pictures() -> Vec<Picture> {
    let spans = |values: [Option<f64>; 3]| {
        let values = values.into_iter().enumerate();
        let span = |(at, value)| ChartSpan {
            start: at as f64,
            end: at as f64 + 1.0,
            value,
        };
        values.map(span).collect()
    };
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    let seconds = Axis::logarithmic("").with_format(figures::seconds);
    let range = |name: &str, color| Range {
        name: name.to_owned(),
        ends: (0.5, 2.0, 9e6),
        color,
        meaning: "whatever the colour means".to_owned(),
    };
    vec![
        Chart::new(LONG, Axis::logarithmic("text"), seconds.clone())
            .with(
                Color::Nth(0),
                "",
                Shape::Band(vec![(1.0, 1.0, 2.0), (1e9, 1e6, 9e6)]),
            )
            .with(
                Color::Nth(0),
                LONG,
                Shape::Line(vec![(1.0, 1.5), (1e9, 3e6)]),
            )
            .with(Color::Nth(1), "dots", Shape::Points(vec![(1e4, 30.0)]))
            .draw(),
        Chart::new("Steps", Axis::time(), Axis::linear("MB"))
            .with(
                Color::Bad,
                "steps",
                Shape::Steps(spans([Some(1.0), None, Some(3.0)])),
            )
            .draw(),
        Chart::new("Shares", Axis::time(), Axis::share())
            .with(
                Color::Good,
                "a",
                Shape::Stack(spans([Some(0.2), None, Some(0.3)])),
            )
            .with(
                Color::Faint,
                "b",
                Shape::Stack(spans([Some(0.8), None, Some(0.7)])),
            )
            .draw(),
        bars(
            "Bars",
            &Axis::linear("MB"),
            &["p", "q"],
            &[(LONG.to_owned(), vec![1.0, 2.0])],
        ),
        HeatMap {
            title: "Map".to_owned(),
            columns: ("columns".to_owned(), names(["1", "2"])),
            rows: ("rows".to_owned(), names(["1", "2"])),
            values: vec![vec![Some(1.0), None], vec![Some(2.0), Some(3.0)]],
            ..HeatMap::default()
        }
        .draw(),
        Ranges {
            title: "Ranges".to_owned(),
            axis: seconds,
            rows: vec![range(LONG, Color::Good), range("other", Color::Fair)],
            limit: Some((100.0, "wanted: 100 s".to_owned())),
        }
        .draw(),
    ]
}

fn page() -> String {
    let mut page = Page::new(LONG);
    page.lead(LONG);
    page.callout(&Callout {
        title: LONG.to_owned(),
        text: "Text.".to_owned(),
        points: vec![LONG.to_owned()],
        facts: vec![("Fact".to_owned(), LONG.to_owned())],
    });
    page.tiles([(LONG.to_owned(), "tile".to_owned())]);
    page.command(&format!("kato train {LONG} --levels 5,3"));
    page.pictures(pictures());
    let mut table = PageTable::new(["name", "a", "b"]);
    let bar = Cell::Bar(vec![(Color::Good, 0.5, "half".to_owned())]);
    table.row(LONG, [bar, Cell::Text(LONG.replace('_', " "))]);
    page.table(&table);
    page.note(LONG);
    page.into_html()
}

/// Opens a page as wide as that and returns what the browser made of it.
fn opened(browser: &Path, html: &str, width: u32, dark: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--dump-dom",
        ])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--blink-settings=preferredColorScheme={}",
            u8::from(!dark)
        ))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("user").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !log.contains("CONSOLE"), "{log}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_page_of_everything_fits_into_every_screen() {
    let Some(browser) = browser() else {
        return;
    };
    // The page has no script; this one says what is seen, and what stands out of it.
    let look = "<script>\
        const wide = document.documentElement.clientWidth;\
        const out = [...document.querySelectorAll('h1, h2, p, li, figure, td, th, pre, span, .card')]\
            .filter(e => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right > wide + 1; })\
            .map(e => e.tagName + ' ' + e.className);\
        document.title = ['seen', wide, document.documentElement.scrollWidth, out.join(' '), \
            getComputedStyle(document.body).backgroundColor].join('|');\
        </script></body>";
    let html = page().replace("</body>", look);
    for (width, dark, ground) in [
        (360, false, "rgb(246, 247, 249)"),
        (360, true, "rgb(18, 21, 27)"),
        (768, false, "rgb(246, 247, 249)"),
        (1600, true, "rgb(18, 21, 27)"),
    ] {
        let dom = opened(&browser, &html, width, dark);
        let (_, seen) = dom.split_once("<title>seen|").unwrap();
        let (seen, _) = seen.split_once("</title>").unwrap();
        assert_eq!(seen, format!("{width}|{width}||{ground}"));
    }
}
