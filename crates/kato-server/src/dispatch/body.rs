//! Reading the body of a request, or skipping it, within bounds of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time;

use crate::app::App;
use crate::budget::{BudgetError, Share};
use crate::options::Options;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::stall::MIN_BYTES_PER_SECOND;
use crate::weight::Weight;

/// Longest time that a body waits for memory that others hold.
const ROOM_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the body of a route that has one, and pays for the memory that parsing it will take.
pub(super) async fn read(app: &App, body: Body, share: &Share) -> Result<Bytes, Refusal> {
    let bounds = Bounds::from_options(&app.options);
    match collect_body(bounds, body, share).await {
        Ok(body) => Ok(body),
        Err(fault) => Err(bounds.refusal(&fault, share)),
    }
}

/// Reads a body part by part.
async fn collect_body(bounds: Bounds, body: Body, share: &Share) -> Result<Bytes, Fault> {
    let mut reading = bounds.reading(body)?;
    let mut read = BodyBuffer::default();
    let mut weight = Weight::default();
    while let Some(data) = reading.next().await? {
        let began = time::Instant::now();
        let deadline = began + ROOM_TIMEOUT.min(bounds.timeout);
        // Paid for before the next part is asked for: while a request waits here hyper reads no
        // more of it, so the client is held back instead of memory being filled.
        share.grow_until(weight.of_part(&data), deadline).await?;
        // The client could not send in the meantime, which must not count as slowness.
        reading.started += began.elapsed();
        read.add(data);
    }
    Ok(read.into_bytes())
}

/// Skips a body that no route wanted, in parallel with the answer: what the client still sends is
/// not the next request. Returns whether the connection can go on; if not, the rest of the body
/// stays unread.
pub(super) fn discard(app: &App, request: &HeaderMap, body: Body) -> bool {
    if body.is_end_stream() {
        return true;
    }
    let bounds = Bounds::from_options(&app.options);
    // A client that waits to be asked for the body need not send it any more.
    if bounds.are_exceeded_by(&body) || is_held_back(request) {
        return false;
    }
    // In a task that outlives the answer. hyper closes a connection whose body was dropped, unless
    // the rest of it has already arrived.
    tokio::spawn(async move {
        if let Err(fault) = drain(bounds, body).await {
            tracing::debug!(?fault, "a body was not read over, and its connection ends");
        }
    });
    true
}

/// Reads a body to its end and drops it.
async fn drain(bounds: Bounds, body: Body) -> Result<(), Fault> {
    let mut reading = bounds.reading(body)?;
    while reading.next().await?.is_some() {}
    Ok(())
}

/// Returns whether the client sends the body only when it is told to.
fn is_held_back(request: &HeaderMap) -> bool {
    let expect = request.get(header::EXPECT);
    expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// How many bytes of a body are read, and for how long.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    bytes: usize,
    timeout: Duration,
}

/// The reason why a body was not read to its end.
#[derive(Debug)]
enum Fault {
    TooLarge,
    TooSlow,
    Aborted,
    NoMemory(BudgetError),
}

impl From<BudgetError> for Fault {
    fn from(error: BudgetError) -> Self {
        Self::NoMemory(error)
    }
}

/// A body that is being read.
#[derive(Debug)]
struct Reading {
    body: Limited<Body>,
    timeout: Duration,
    started: time::Instant,
    n_bytes: u64,
}

impl Reading {
    /// Returns the next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        while !self.body.is_end_stream() {
            // Every byte buys time at the least rate, so that a large body may take long, but not
            // for ever.
            let grace = Duration::from_secs(self.n_bytes / MIN_BYTES_PER_SECOND);
            let deadline = self.started + self.timeout + grace;
            let frame = time::timeout_at(deadline, self.body.frame()).await;
            match frame.map_err(|_| Fault::TooSlow)? {
                None => break,
                Some(Ok(frame)) => {
                    // Frames without data are trailers, which nobody reads.
                    if let Ok(data) = frame.into_data() {
                        self.n_bytes += data.len() as u64;
                        return Ok(Some(data));
                    }
                }
                // A chunked body does not announce its length and is found too large only here.
                Some(Err(error)) if error.is::<LengthLimitError>() => return Err(Fault::TooLarge),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a body broke off");
                    return Err(Fault::Aborted);
                }
            }
        }
        Ok(None)
    }
}

impl Bounds {
    /// Returns the bounds that the server is set to.
    fn from_options(options: &Options) -> Self {
        Self {
            bytes: options.max_body_bytes,
            timeout: options.read_timeout,
        }
    }

    /// Returns whether the body announces more bytes than are read.
    fn are_exceeded_by(self, body: &Body) -> bool {
        body.size_hint().lower() > self.bytes as u64
    }

    /// Begins to read a body.
    fn reading(self, body: Body) -> Result<Reading, Fault> {
        if self.are_exceeded_by(&body) {
            return Err(Fault::TooLarge);
        }
        Ok(Reading {
            body: Limited::new(body, self.bytes),
            timeout: self.timeout,
            started: time::Instant::now(),
            n_bytes: 0,
        })
    }

    /// Creates the refusal of a request whose body was needed and not read.
    fn refusal(self, fault: &Fault, share: &Share) -> Refusal {
        let (status, detail) = match fault {
            Fault::NoMemory(BudgetError::Exhausted) => {
                let detail =
                    "the server is reading as much at the moment as its memory allows; try again";
                return closing(Refusal::overloaded(detail));
            }
            Fault::NoMemory(BudgetError::TooLarge) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the body has so many values that reading it takes more than {} bytes of memory, the most that the server has for one; send less at a time",
                    share.most()
                ),
            ),
            Fault::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the body has more than {} bytes, the most that the server takes; send less at a time",
                    self.bytes
                ),
            ),
            Fault::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "the body did not arrive in time; send it again".to_owned(),
            ),
            Fault::Aborted => (
                StatusCode::BAD_REQUEST,
                "the body broke off; send it again".to_owned(),
            ),
        };
        closing(Refusal::new(status, detail))
    }
}

/// Makes the refusal end the connection, because the rest of the body stays unread.
fn closing(refusal: Refusal) -> Refusal {
    Reply::from(refusal)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
        .into()
}

/// The parts of a body in one piece; a single part is not copied.
#[derive(Debug, Default)]
struct BodyBuffer {
    first: Bytes,
    all: Vec<u8>,
}

impl BodyBuffer {
    /// Adds a part.
    fn add(&mut self, data: Bytes) {
        // Most bodies arrive in one part.
        if self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&data);
    }

    /// Returns the whole body.
    fn into_bytes(mut self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            // A vector that has doubled may be half empty, for as long as the request is worked on.
            self.all.shrink_to_fit();
            self.all.into()
        }
    }
}
