//! Lines of `requests.jsonl`: when requests arrived, and when they were done.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::journal::{self, Journal};
use crate::request::Request;
use crate::session::now;

const FILE: &str = "requests.jsonl";

/// Request as a server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// Its number, from 1; goes on after a restart.
    pub number: u64,
    /// Method and target: `POST /sessions/…/learn`.
    pub line: String,
    /// Time at which all of it had arrived, in milliseconds since 1970.
    pub received_at: u64,
    /// Time at which it was done, whether or not anybody waited for its answer, and its status;
    /// `None` if it never was.
    pub done: Option<(u64, u16)>,
}

/// Log of the requests of a directory.
#[derive(Debug)]
pub(crate) struct RequestLog {
    journal: Journal,
    received: AtomicU64,
}

/// Line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Received { request: u64, line: String, at: u64 },
    Done { request: u64, status: u16, at: u64 },
}

impl RequestLog {
    /// Opens the log of a directory.
    pub(crate) fn open(dir: Option<&Path>) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Line>(dir, FILE)?;
        // Numbers go on where the last server stopped, so that they name requests for good.
        let received = lines
            .iter()
            .filter(|line| matches!(line, Line::Received { .. }));
        let received = AtomicU64::new(received.count() as u64);
        Ok(Self { journal, received })
    }

    /// Notes a request, and returns its number.
    pub(crate) fn received(&self, request: &Request) -> u64 {
        let number = self.received.fetch_add(1, Ordering::SeqCst) + 1;
        self.journal.append(&Line::Received {
            request: number,
            line: format!("{} {}", request.method, request.target),
            at: now(),
        });
        number
    }

    /// Notes that a request is done.
    pub(crate) fn done(&self, request: u64, status: u16) {
        let at = now();
        self.journal.append(&Line::Done {
            request,
            status,
            at,
        });
    }
}

/// Reads all requests that servers on a directory have seen, in the order in which they came.
///
/// # Panics
///
/// When the file cannot be read.
#[must_use]
pub fn requests(dir: &Path) -> Vec<SeenRequest> {
    let mut seen: Vec<SeenRequest> = Vec::new();
    let (lines, _) = journal::read(&dir.join(FILE)).expect("the log of requests can be read");
    for line in lines {
        match line {
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
