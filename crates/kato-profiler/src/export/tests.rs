//! Every format of a made-up run: valid, whole, and as it was before.

use std::path::{Path, PathBuf};
use std::process::Command;

use kato_test_needs::browser;

use super::prometheus;
use crate::error::ProfileError;
use crate::summary::{FORMAT, ProfilingSummary};
use crate::test_fixtures;
use crate::verdict::{Attribution, Cause};

fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn schema_file() -> serde_json::Value {
    let text = std::fs::read_to_string(crate_file("schemas/profile-v1.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn an_exported_profile_is_valid_by_the_published_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    test_fixtures::summary().export_json(&path).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema_file()).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&json)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");

    let mut broken = json.clone();
    broken["cpu"]["process_seconds"] = "many".into();
    assert!(!validator.is_valid(&broken));
    let mut broken = json;
    broken.as_object_mut().unwrap().remove("verdict");
    assert!(!validator.is_valid(&broken));
}

#[cfg(feature = "schema")]
#[test]
fn the_published_schema_is_that_of_the_types() {
    let schema = super::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        std::fs::create_dir_all(crate_file("schemas")).unwrap();
        std::fs::write(crate_file("schemas/profile-v1.schema.json"), text).unwrap();
    }
    // Not `assert_eq`: it would print both schemas whole.
    assert!(
        schema == schema_file(),
        "the types have changed: run this test with UPDATE_SCHEMA=1; if readers of the old format would misunderstand the new \
         one, raise FORMAT"
    );
}

#[test]
fn a_profile_that_was_exported_can_be_read_and_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let summary = test_fixtures::summary();
    summary.export_json(&path).unwrap();
    let read = ProfilingSummary::from_json(&path).unwrap();
    assert_eq!(read, summary);
    assert_eq!(Attribution::default().judge(&read), summary.verdict);
}

#[test]
fn a_file_of_another_format_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let mut summary = test_fixtures::summary();
    summary.format = "kato-profile/9".to_owned();
    summary.export_json(&path).unwrap();
    let error = ProfilingSummary::from_json(&path).unwrap_err();
    assert!(
        matches!(
            error,
            ProfileError::Format {
                expected: FORMAT,
                ..
            }
        ),
        "{error}"
    );
    std::fs::write(&path, "{").unwrap();
    assert!(matches!(
        ProfilingSummary::from_json(&path),
        Err(ProfileError::Format { .. })
    ));
    assert!(matches!(
        ProfilingSummary::from_json(folder.path().join("none")),
        Err(ProfileError::Read { .. })
    ));
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let summary = test_fixtures::summary();
    let missing = folder.path().join("missing/profile.json");
    for result in [
        summary.export_json(&missing),
        summary.export_csv(&missing),
        summary.export_html(&missing),
    ] {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("profile.json"), "{error}");
    }
    // A folder in the way: the new content must not stay beside it.
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("file"), "").unwrap();
    summary.export_html(&taken).unwrap_err();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_written_to_and_stays_one() {
    use std::os::fd::AsRawFd;
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    super::write(Path::new(&path), b"whole").unwrap();
    drop(writer);
    assert_eq!(std::io::read_to_string(reader).unwrap(), "whole");
}

#[cfg(unix)]
#[test]
fn a_link_stays_one_to_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    test_fixtures::summary().export_json(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    ProfilingSummary::from_json(&file).unwrap();
}

#[test]
fn the_csv_has_a_line_for_each_point_and_a_column_for_each_figure() {
    let summary = test_fixtures::summary();
    let text = super::csv::text(&summary);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + summary.timeline.points().len());
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns));
    insta::assert_snapshot!("csv", lines[..3].join("\n"));
}

#[test]
fn prometheus_text_keeps_its_names() {
    let probe = kato_probe::Probe::on(["learn"]);
    probe
        .node("node0")
        .timed(3, std::time::Duration::from_millis(6));
    drop(probe.calls("a \"peer\"").start());
    let mut moment = test_fixtures::sample_at(2);
    let reading = moment.reading.as_mut().unwrap();
    let measured = probe.read().unwrap();
    reading.nodes[0].latency = measured.nodes[0].latency.clone();
    reading.calls = measured.calls;
    let text = prometheus::text(&moment);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("kato_"), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    insta::assert_snapshot!("prometheus", text);
}

#[test]
fn the_made_up_run_is_bound_by_its_learners() {
    let verdict = test_fixtures::summary().verdict;
    assert_eq!(
        (verdict.stage.as_deref(), verdict.cause),
        (Some("learn"), Cause::Cpu)
    );
    insta::assert_json_snapshot!("verdict", verdict, {".confidence" => insta::rounded_redaction(3), ".evidence[].value" => insta::rounded_redaction(3), ".gain.at_most" => insta::rounded_redaction(3)});
}

#[test]
fn the_page_loads_nothing_and_escapes_its_title() {
    let page = super::html::page(&test_fixtures::summary());
    assert!(
        !page.contains("<script") && !page.contains("http"),
        "nothing from elsewhere"
    );
    assert!(page.contains("Training on &lt;notes&gt; &amp; &quot;letters&quot;"));
    assert!(!page.contains("<notes>"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn a_page_of_a_run_without_anything_is_a_page() {
    let tracker = crate::tracker::Tracker::new(crate::tracker::Sample::default(), 16);
    let summary = tracker.summary(
        "Nothing",
        0.0,
        None,
        crate::summary::ProfilerCost::default(),
    );
    let page = super::html::page(&summary);
    assert!(page.contains("there was nothing to do"));
    assert!(!page.contains("NaN") && !page.contains("<svg"));
}

#[test]
fn a_browser_draws_the_page_without_a_complaint() {
    let Some(browser) = browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.html");
    test_fixtures::summary().export_html(&path).unwrap();
    let shot = folder.path().join("page.png");
    let run = |what: &str| {
        let output = Command::new(&browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--v=0",
            ])
            .arg("--window-size=1280,3200")
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("user").display()
            ))
            .arg(what)
            .arg(format!("file://{}", path.display()))
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{log}");
        // What the page says goes to the console, and from there into the log.
        assert!(!log.contains("CONSOLE"), "{log}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let dom = run("--dump-dom");
    for chart in [
        "Memory",
        "Cores in use by the process",
        "Cores of the machine, busy for anybody: the stronger the colour, the busier",
        "Disk, bytes a second",
        "Samples a second",
        "Items of the stages a second",
        "What the threads of stage “load” did",
        "What the threads of stage “learn” did",
        "What the threads of stage “commit” did",
    ] {
        let label = format!("aria-label=\"{chart}\"");
        assert!(dom.contains(&label), "chart {chart} is missing");
    }
    assert!(dom.matches("<svg").count() >= 9);
    assert!(dom.contains("bounds the run"));
    run(&format!("--screenshot={}", shot.display()));
    let picture = std::fs::read(&shot).unwrap();
    assert!(
        picture.len() > 20_000,
        "a picture of {} bytes is empty",
        picture.len()
    );
    if let Some(keep) = std::env::var_os("KATO_KEEP_REPORT") {
        std::fs::copy(&path, Path::new(&keep).join("profile.html")).unwrap();
        std::fs::copy(&shot, Path::new(&keep).join("profile.png")).unwrap();
    }
}
