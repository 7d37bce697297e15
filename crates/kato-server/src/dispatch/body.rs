//! Reading the body of a request, or reading over it: not too much, and not for ever.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time;

use crate::app::App;
use crate::options::Options;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// Bytes a second that a client must send at least, once the time-out has passed.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// Reads the body of a route that has one.
pub(super) async fn read(app: &App, body: Body) -> Result<Bytes, Refusal> {
    let bounds = Bounds::of(&app.options);
    let mut read = Gathered::default();
    match bounds.take(body, |data| read.add(data)).await {
        Ok(()) => Ok(read.into_bytes()),
        Err(fault) => Err(bounds.refusal(&fault)),
    }
}

/// Reads over a body that no route wanted, beside the answer: what the client still sends is not the next request. Returns
/// whether the connection can go on; if not, the rest of the body stays unread.
pub(super) fn discard(app: &App, request: &HeaderMap, body: Body) -> bool {
    if body.is_end_stream() {
        return true;
    }
    let bounds = Bounds::of(&app.options);
    // Whoever waits to be asked for a body needs not send it now.
    if bounds.are_exceeded_by(&body) || is_held_back(request) {
        return false;
    }
    tokio::spawn(async move {
        if let Err(fault) = bounds.take(body, drop).await {
            tracing::debug!(?fault, "a body was not read over, and its connection ends");
        }
    });
    true
}

/// Does the client send the body only when it is told to?
fn is_held_back(request: &HeaderMap) -> bool {
    let expect = request.get(header::EXPECT);
    expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// How much is read of a body, and for how long.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    bytes: usize,
    timeout: Duration,
}

/// Why a body was not read to its end.
#[derive(Debug)]
enum Fault {
    TooLarge,
    TooSlow,
    BrokeOff,
}

impl Bounds {
    fn of(options: &Options) -> Self {
        Self {
            bytes: options.max_body_bytes,
            timeout: options.read_timeout,
        }
    }

    /// Does the body announce more than that?
    fn are_exceeded_by(self, body: &Body) -> bool {
        body.size_hint().lower() > self.bytes as u64
    }

    /// Hands on what arrives, to the body's end.
    async fn take(self, body: Body, mut take: impl FnMut(Bytes)) -> Result<(), Fault> {
        if self.are_exceeded_by(&body) {
            return Err(Fault::TooLarge);
        }
        let mut body = Limited::new(body, self.bytes);
        let mut n_bytes = 0;
        let started = time::Instant::now();
        while !body.is_end_stream() {
            // Slow clients may be slow, but not for ever.
            let grace = Duration::from_secs(n_bytes / MIN_BYTES_PER_SECOND);
            let frame = time::timeout_at(started + self.timeout + grace, body.frame()).await;
            match frame.map_err(|_| Fault::TooSlow)? {
                None => break,
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        n_bytes += data.len() as u64;
                        take(data);
                    }
                }
                Some(Err(error)) if error.is::<LengthLimitError>() => return Err(Fault::TooLarge),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a body broke off");
                    return Err(Fault::BrokeOff);
                }
            }
        }
        Ok(())
    }

    /// What is answered where the body was needed.
    fn refusal(self, fault: &Fault) -> Refusal {
        let (status, detail) = match fault {
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
            Fault::BrokeOff => (
                StatusCode::BAD_REQUEST,
                "the body broke off; send it again".to_owned(),
            ),
        };
        Reply::from(Refusal::new(status, detail))
            .with_header(header::CONNECTION, HeaderValue::from_static("close"))
            .into()
    }
}

/// The parts of a body; one alone is not copied.
#[derive(Debug, Default)]
struct Gathered {
    first: Bytes,
    all: Vec<u8>,
}

impl Gathered {
    fn add(&mut self, data: Bytes) {
        if self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.into()
        }
    }
}
