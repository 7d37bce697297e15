//! Answers that are written byte by byte, for servers that keep to no rule.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use crate::request::Seen;
use crate::response::Next;

/// Step of a raw answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes so often, each time followed by a pause.
    Repeat(Vec<u8>, u64, Duration),
    /// Nothing more, until the client gives up.
    Stall,
}

/// Answer as it goes over the wire; behind it the connection ends.
///
/// # Examples
///
/// ```
/// use std::io::{Read as _, Write as _};
/// use kato_hub_standin::{HubStandin, Raw};
///
/// let standin = HubStandin::builder()
///     .script("a", |_| Raw::status(200).header("Content-Length", "1000").body("short"))
///     .start()?;
/// let mut connection = std::net::TcpStream::connect(standin.address())?;
/// connection.write_all(b"GET /files/a HTTP/1.1\r\n\r\n")?;
/// let mut answer = String::new();
/// connection.read_to_string(&mut answer)?;
/// assert!(answer.ends_with("Content-Length: 1000\r\n\r\nshort"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "an answer does nothing until it is given"]
pub struct Raw {
    /// The head so far; the steps begin behind it.
    head: Vec<u8>,
    steps: Vec<Step>,
}

impl Raw {
    /// Creates an answer without a head: what is added is all that is sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an answer that begins with the line of a status.
    pub fn status(status: u16) -> Self {
        Self {
            head: format!("HTTP/1.1 {status} As Told\r\n").into_bytes(),
            steps: Vec::new(),
        }
    }

    /// Adds a line to the head.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.head.extend_from_slice(name.as_bytes());
        self.head.extend_from_slice(b": ");
        self.head.extend_from_slice(value.as_ref());
        self.head.extend_from_slice(b"\r\n");
        self
    }

    /// Ends the head, and adds bytes behind it, whatever the head says of them.
    pub fn body(self, bytes: impl AsRef<[u8]>) -> Self {
        self.bytes("\r\n").bytes(bytes)
    }

    /// Adds bytes as they are, without ending the head.
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// Adds bytes `times` over, with a pause behind each.
    pub fn repeat(mut self, bytes: impl AsRef<[u8]>, times: u64, pause: Duration) -> Self {
        let bytes = bytes.as_ref().to_vec();
        self.steps.push(Step::Repeat(bytes, times, pause));
        self
    }

    /// Sends nothing more, and keeps the connection until the client gives up.
    pub fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Writes the answer.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<Next> {
        to.write_all(&self.head)?;
        for step in &self.steps {
            match step {
                Step::Bytes(bytes) => to.write_all(bytes)?,
                Step::Repeat(bytes, times, pause) => {
                    for _ in 0..*times {
                        to.write_all(bytes)?;
                        if !pause.is_zero() {
                            to.flush()?;
                            std::thread::sleep(*pause);
                        }
                    }
                }
                Step::Stall => {
                    to.flush()?;
                    return Ok(Next::Stall);
                }
            }
        }
        to.flush()?;
        Ok(Next::Close)
    }
}

/// Function that answers requests to one path.
#[derive(Clone)]
pub(crate) struct Script(pub(crate) Arc<Answer>);

/// Answers a request; the second argument is the server's host and port.
pub(crate) type Answer = dyn Fn(&Seen, &str) -> Raw + Send + Sync;

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}
