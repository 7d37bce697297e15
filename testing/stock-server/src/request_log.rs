//! The lines of `requests.jsonl`: when requests were there, and when they were done.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::journal::{self, Journal};
use crate::request::Request;
use crate::session::now;

const FILE: &str = "requests.jsonl";

/// A request as a server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// Its number, from 1; goes on after a restart.
    pub number: u64,
    /// Method and target: `POST /sessions/…/learn`.
    pub line: String,
    /// When it was there as a whole; milliseconds since 1970.
    pub received_at: u64,
    /// When it was done, whether or not anybody waited for its answer, and with what status; none if it never was.
    pub done: Option<(u64, u16)>,
}

#[derive(Debug)]
pub(crate) struct RequestLog {
    journal: Journal,
    received: AtomicU64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Started { at: u64 },
    Received { request: u64, line: String, at: u64 },
    Done { request: u64, status: u16, at: u64 },
}

impl RequestLog {
    pub(crate) fn open(dir: Option<&Path>) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Line>(dir, FILE)?;
        let received = lines
            .iter()
            .filter(|line| matches!(line, Line::Received { .. }));
        let received = AtomicU64::new(received.count() as u64);
        journal.append(&Line::Started { at: now() });
        Ok(Self { journal, received })
    }

    /// Notes a request; its number.
    pub(crate) fn received(&self, request: &Request) -> u64 {
        let number = self.received.fetch_add(1, Ordering::SeqCst) + 1;
        self.journal.append(&Line::Received {
            request: number,
            line: format!("{} {}", request.method, request.target),
            at: now(),
        });
        number
    }

    pub(crate) fn done(&self, request: u64, status: u16) {
        let at = now();
        self.journal.append(&Line::Done {
            request,
            status,
            at,
        });
    }
}

/// All requests that servers on a directory have seen, in the order in which they came.
///
/// # Panics
///
/// When the file cannot be read.
#[must_use]
pub fn requests(dir: &Path) -> Vec<SeenRequest> {
    let mut seen: Vec<SeenRequest> = Vec::new();
    for line in lines(dir) {
        match line {
            Line::Started { .. } => {}
            Line::Received { request, line, at } => seen.push(SeenRequest {
                number: request,
                line,
                received_at: at,
                done: None,
            }),
            Line::Done {
                request,
                status,
                at,
            } => {
                let mut latest = seen.iter_mut().rev();
                if let Some(seen) = latest.find(|seen| seen.number == request) {
                    seen.done = Some((at, status));
                }
            }
        }
    }
    seen
}

/// Requests that the server which was started last has not done, and all that it received.
pub(crate) fn unfinished(dir: &Path) -> (usize, usize) {
    let lines = lines(dir);
    let started = lines
        .iter()
        .rposition(|line| matches!(line, Line::Started { .. }));
    let (mut received, mut done) = (0, 0);
    for line in &lines[started.unwrap_or(0)..] {
        match line {
            Line::Started { .. } => {}
            Line::Received { .. } => received += 1,
            Line::Done { .. } => done += 1,
        }
    }
    (received - done, received)
}

fn lines(dir: &Path) -> Vec<Line> {
    let (lines, _) = journal::read(&dir.join(FILE)).expect("the log of requests can be read");
    lines
}
