//! Servers that keep to no rule: the bytes that another client gets, or one error that says what
//! the server did.
//!
//! `tests/data/misbehaving.py` describes the servers and has asked `requests`.

use std::io::Read as _;
use std::time::{Duration, Instant};

use kato_fetch::{FetchError, Fetcher, Timeouts};
use kato_hub_standin::{HubStandin, Raw};
use serde_json::Value;

use crate::support::{builder, eager, list};

/// Longest time until a server has been found out, on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

fn recorded() -> Value {
    serde_json::from_str(include_str!("../data/misbehaving.json")).unwrap()
}

/// Bytes that a step or a result describes.
fn described(value: &Value, file: &[u8]) -> Vec<u8> {
    if let Some(range) = value.get("file") {
        let bound = |at: usize| range[at].as_u64().unwrap() as usize;
        return file[bound(0)..bound(1)].to_vec();
    }
    let text = value["base64"].as_str().unwrap();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter(|digit| *digit != b'=') {
        let value = alphabet.iter().position(|known| *known == digit).unwrap();
        (bits, held) = (bits << 6 | value as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// Returns the answer of a good server, with ranges of `longest` bytes at most.
fn good(answer: Raw, range: Option<&str>, longest: Option<u64>, file: &[u8]) -> Raw {
    let size = file.len() as u64;
    let asked = range.and_then(|range| {
        let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().unwrap_or(size - 1));
        Some((first, last.min(first + longest.unwrap_or(size) - 1)))
    });
    let Some((first, last)): Option<(u64, u64)> = asked else {
        let head =
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n");
        return answer.bytes(head).bytes(file);
    };
    let head = format!(
        "HTTP/1.1 206 OK\r\nConnection: close\r\nContent-Range: bytes {first}-{last}/{size}\r\nContent-Length: {}\r\n\r\n",
        last + 1 - first
    );
    answer
        .bytes(head)
        .bytes(&file[first as usize..=last as usize])
}

/// Starts the server of a row.
fn standin(rules: &Value, file: &[u8]) -> HubStandin {
    let (rules, file) = (rules.clone(), file.to_vec());
    HubStandin::builder()
        .script_all(move |seen, host| {
            let fits = |rule: &&Value| {
                let method = rule
                    .get("method")
                    .is_none_or(|method| *method == *seen.method);
                let path = rule.get("path").is_none_or(|path| *path == *seen.path);
                let range = match rule.get("range") {
                    Some(Value::String(only)) => seen.range == Some(format!("bytes={only}")),
                    Some(_) => seen.range.is_some(),
                    None => true,
                };
                let cookie = rule
                    .get("cookie")
                    .is_none_or(|cookie| cookie.as_str() == seen.cookie.as_deref());
                method && path && range && cookie
            };
            let rule = rules.as_array().unwrap().iter().find(fits).unwrap();
            let steps = rule["steps"].as_array().unwrap();
            steps.iter().fold(Raw::new(), |answer, step| match step {
                Value::String(text) => answer.bytes(text.replace("{host}", host)),
                step if step.get("good").is_some() => {
                    let longest = step.get("longest").and_then(Value::as_u64);
                    good(answer, seen.range.as_deref(), longest, &file)
                }
                step if step.get("stall").is_some() => answer.stall(),
                step if step.get("repeat").is_some() => answer.repeat(
                    step["repeat"].as_str().unwrap(),
                    step["times"].as_u64().unwrap(),
                    Duration::from_millis(step["pause_ms"].as_u64().unwrap()),
                ),
                step => answer.bytes(described(step, &file)),
            })
        })
        .start()
        .unwrap()
}

/// Reads the file by all means: as a stream, and by ranges where there are any.
fn read(standin: &HubStandin) -> Result<Vec<u8>, FetchError> {
    let mut timeouts = Timeouts::default();
    timeouts.idle = Duration::from_millis(600);
    let fetcher = builder(standin)
        .with_timeouts(timeouts)
        .with_retry(eager().with_attempts(4))
        .build()?;
    let listing = fetcher.list(&standin.file_url("a").parse()?)?;
    let reader = fetcher.open(&listing.files[0])?;
    let mut bytes = Vec::new();
    if let Err(error) = reader.stream(0).read_to_end(&mut bytes) {
        let inner = error.into_inner().unwrap();
        return Err(*inner.downcast::<FetchError>().unwrap());
    }
    if reader.has_ranges() {
        let size = reader.size().unwrap();
        assert_eq!(reader.read(0..size)?, bytes);
    }
    Ok(bytes)
}

#[test]
fn the_right_bytes_come_or_an_error_that_says_what_the_server_did() {
    let recorded = recorded();
    let file = recorded["file"].as_str().unwrap().as_bytes();
    let rows = recorded["rows"].as_array().unwrap();
    assert!(rows.len() >= 100);
    // Most of the time they wait for one another.
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = rows.chunks(rows.len().div_ceil(6));
        let parts: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || part.iter().filter_map(|row| failure(row, file)).collect())
            })
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        parts.flat_map(|part: Vec<String>| part).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns what is wrong with what comes of a row.
fn failure(row: &Value, file: &[u8]) -> Option<String> {
    let (name, ours) = (&row["name"], row["ours"].as_str().unwrap());
    let expected = match ours {
        "right" => Ok(described(&row["requests"]["bytes"], file)),
        "the file" => Ok(file.to_vec()),
        part => Err(part),
    };
    let standin = standin(&row["rules"], file);
    let begun = Instant::now();
    let found = read(&standin);
    if begun.elapsed() > LONGEST {
        return Some(format!("{name}: {:?}", begun.elapsed()));
    }
    match (&found, expected) {
        (Ok(found), Ok(expected)) if *found == expected => None,
        (Err(error), Err(part)) if texts(error).contains(part) => None,
        _ => Some(format!("{name}: {ours}, found {found:?}")),
    }
}

/// Returns the texts of an error and of its causes.
fn texts(error: &FetchError) -> String {
    let first: Option<&dyn std::error::Error> = Some(error);
    let causes = std::iter::successors(first, |cause| cause.source());
    causes.map(|cause| format!("{cause}; ")).collect()
}

#[test]
fn with_the_defaults_too_a_server_is_found_out_within_seconds() {
    let recorded = recorded();
    let file = recorded["file"].as_str().unwrap().as_bytes();
    let rows = recorded["rows"].as_array().unwrap().iter();
    let asked_about = [
        "a length that is too long",
        "206 without Content-Range",
        "two lengths",
        "to itself",
        "gzip that is none",
        "another protocol",
    ];
    let rows: Vec<_> = rows
        .filter(|row| asked_about.contains(&row["name"].as_str().unwrap()))
        .collect();
    assert_eq!(rows.len(), asked_about.len());
    for row in rows {
        let standin = standin(&row["rules"], file);
        let begun = Instant::now();
        let found = Fetcher::builder().build().and_then(|fetcher| {
            let listing = fetcher.list(&standin.file_url("a").parse()?)?;
            let reader = fetcher.open(&listing.files[0])?;
            Ok(crate::support::read_all(&reader, 0).is_ok())
        });
        assert_eq!(found.unwrap_or(false), row["ours"] == "right", "{row}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{row}");
    }
}

#[test]
fn a_file_that_is_compressed_itself_stays_as_it_is() {
    let bytes = b"\x1f\x8b and what follows";
    let standin = HubStandin::builder()
        .script("a.jsonl.gz", move |_| {
            Raw::status(200)
                .header("Content-Encoding", "gzip")
                .header("Content-Length", bytes.len().to_string())
                .body(bytes)
        })
        .start()
        .unwrap();
    let fetcher = builder(&standin).build().unwrap();
    let reader = crate::support::open(&fetcher, &standin.file_url("a.jsonl.gz"));
    assert_eq!(crate::support::read_all(&reader, 0).unwrap(), bytes);
}

#[test]
fn a_server_calls_its_file_by_type_and_name() {
    let standin = HubStandin::builder()
        .script("a", |_| {
            Raw::status(200)
                .header("Content-Length", "2")
                .header("Content-Type", "Application/X-NDJSON; charset=utf-8")
                .header("Content-Disposition", "attachment; filename=\"b c.jsonl\"")
                .body("{}")
        })
        .script("b", |_| {
            Raw::status(302).header("Location", "/c/d.csv?e=f").body("")
        })
        .script("/c/d.csv", |_| {
            Raw::status(200).header("Content-Length", "2").body("{}")
        })
        .start()
        .unwrap();
    let fetcher = builder(&standin).build().unwrap();
    let file = list(&fetcher, &standin.file_url("a?download=1"))
        .files
        .remove(0);
    assert_eq!(file.path_name(), "a");
    assert_eq!(file.content_type.as_deref(), Some("application/x-ndjson"));
    assert_eq!(file.served_name.as_deref(), Some("b c.jsonl"));
    let file = list(&fetcher, &standin.file_url("b")).files.remove(0);
    assert_eq!(
        (file.content_type, file.served_name.as_deref()),
        (None, Some("d.csv"))
    );
}
