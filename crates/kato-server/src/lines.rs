//! Answers of many lines, which are made piece by piece while they are sent.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::Frame;
use kato_prediction::Cancel;
use serde::Serialize;
use tokio::task::{JoinError, JoinHandle};

use crate::app::App;
use crate::budget::SMALL;
use crate::dispatch::log_failure;
use crate::refusal::Refusal;
use crate::reply::{Cause, Reply};
use crate::resources::{AnswerBuffer, RequestResources, paid_by, until_sent};
use crate::workers::Work;

/// The content type of JSON lines.
pub(crate) const JSON_LINES: &str = "application/x-ndjson";

/// Makes the lines of a piece, by its number. What they take is paid for by the resources.
type AnswerPiece = dyn Fn(&App, usize, &RequestResources, &Cancel) -> Vec<u8> + Send + Sync;

/// Lines that are not made yet.
pub(crate) struct Lines {
    /// The node that answers, by which threads are shared out.
    pub(crate) node: String,
    /// That of the request, for the log.
    pub(crate) trace_id: Option<HeaderValue>,
    pub(crate) n_pieces: usize,
    pub(crate) answer: Arc<AnswerPiece>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("n_pieces", &self.n_pieces)
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// Begins to answer. The request keeps what it holds until the last line is sent.
    pub(crate) fn into_response(
        self,
        app: &Arc<App>,
        resources: &Arc<RequestResources>,
    ) -> Response {
        let mut response = Response::new(Body::new(self.into_body(app, resources)));
        *response.status_mut() = StatusCode::OK;
        let kind = HeaderValue::from_static(JSON_LINES);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn into_body(self, app: &Arc<App>, resources: &Arc<RequestResources>) -> LinesBody {
        LinesBody {
            // As many as work at a time, and as many that wait to be sent or for their turn.
            at_a_time: 2 * app.workers.n_long_of_node(),
            app: Arc::clone(app),
            lines: self,
            begun: 0,
            pieces: VecDeque::new(),
            ending: VecDeque::new(),
            _resources: Arc::clone(resources),
        }
    }
}

/// A body whose pieces are made on threads that may block, some ahead of the one that is sent. A
/// client that does not read has no more of them made, and the work of one that is gone is
/// cancelled.
struct LinesBody {
    app: Arc<App>,
    lines: Lines,
    /// Pieces that were begun.
    begun: usize,
    at_a_time: usize,
    /// Those that are not sent, in order.
    pieces: VecDeque<Piece>,
    /// Those that will be made again, and hold memory until they are done.
    ending: VecDeque<Piece>,
    _resources: Arc<RequestResources>,
}

/// A piece that is being made, until it is dropped.
struct Piece(JoinHandle<Result<Made, Refusal>>);

/// A piece that is made.
struct Made {
    bytes: Bytes,
    /// Whether others, such as the pieces behind it, held memory that it lacked.
    has_lacked: bool,
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LinesBody {
    fn begin(&mut self) {
        while self.begun < self.lines.n_pieces && self.pieces.len() < self.at_a_time {
            let answer = self.app.answer_memory.share();
            // The next one to be sent has the place of its request's answer. Those behind it are made ahead
            // while there is memory, and else when it is their turn.
            if !self.pieces.is_empty() && answer.grow(SMALL).is_err() {
                break;
            }
            let piece = make_piece(
                Arc::clone(&self.app),
                RequestResources::of_part(self.app.request_memory.share(), answer),
                self.lines.node.clone(),
                Arc::clone(&self.lines.answer),
                self.begun,
            );
            self.pieces.push_back(Piece(tokio::spawn(piece)));
            self.begun += 1;
        }
    }
}

impl LinesBody {
    /// Returns a piece that is made, or writes down why there is none: nothing else would tell.
    fn made(&self, made: Result<Result<Made, Refusal>, JoinError>) -> Result<Made, CutOff> {
        let cause = match made {
            Ok(Ok(made)) => return Ok(made),
            Ok(Err(refusal)) => Reply::from(refusal).take_cause(),
            // One that is cancelled goes with a server that stops.
            Err(error) => error.is_panic().then(|| Cause(error.to_string())),
        };
        if let Some(cause) = &cause {
            let trace_id = self.lines.trace_id.as_ref();
            log_failure(&self.app, trace_id, cause, "answer of many lines failed");
        }
        Err(CutOff(cause.map(|Cause(cause)| cause)))
    }
}

async fn make_piece(
    app: Arc<App>,
    resources: Arc<RequestResources>,
    node: String,
    answer: Arc<AnswerPiece>,
    idx: usize,
) -> Result<Made, Refusal> {
    let cancel = paid_by(&resources);
    let (of_job, cancel_of_job, app_of_job) =
        (Arc::clone(&resources), cancel.clone(), Arc::clone(&app));
    let job = move || answer(&app_of_job, idx, &of_job, &cancel_of_job);
    let bytes = app.workers.run(Work::Long, &node, &cancel, job).await?;
    // What they were made of is gone. Lines were paid for one by one, so that no more is missing than
    // the ends of some.
    let _ = resources.charge_answer(bytes.len());
    Ok(Made {
        has_lacked: resources.has_lacked(),
        bytes: until_sent(bytes.into(), resources),
    })
}

impl HttpBody for LinesBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        loop {
            while let Some(piece) = self.ending.front_mut() {
                drop(ready!(Pin::new(&mut piece.0).poll(cx)));
                self.ending.pop_front();
            }
            self.begin();
            let n_begun = self.pieces.len();
            let Some(first) = self.pieces.front_mut() else {
                return Poll::Ready(None);
            };
            let made = ready!(Pin::new(&mut first.0).poll(cx));
            self.pieces.pop_front();
            // Without its end, so that nobody takes what there is for all.
            let made = self.made(made)?;
            if made.has_lacked && self.at_a_time > 1 {
                // Alone it may have what it needs, so from here on none are made ahead.
                self.at_a_time = 1;
                self.begun -= n_begun;
                self.ending = std::mem::take(&mut self.pieces);
                continue;
            }
            // The next one is begun while this one is sent.
            self.begin();
            return Poll::Ready(Some(Ok(Frame::data(made.bytes))));
        }
    }
}

/// The error of an answer that ends before its last line: the server is stopping, or failed.
#[derive(Debug, thiserror::Error)]
#[error("the server ended the answer before its last line{}", of_cause(self.0.as_ref()))]
struct CutOff(Option<String>);

fn of_cause(cause: Option<&String>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}

/// Lines of JSON that are paid for.
pub(crate) struct LinesBuffer<'a> {
    buffer: AnswerBuffer<'a>,
    resources: &'a RequestResources,
}

impl<'a> LinesBuffer<'a> {
    /// Creates a buffer without lines.
    pub(crate) fn new(resources: &'a RequestResources) -> Self {
        Self {
            buffer: AnswerBuffer::new(resources),
            resources,
        }
    }

    /// Adds a line, if there is memory for it.
    pub(crate) fn write<T: Serialize>(&mut self, line: &T) -> Result<(), Refusal> {
        self.resources.check_parts()?;
        let written = self.buffer.write_json(line);
        written.map_err(|error| Refusal::unwritable(&error))??;
        self.buffer.push_free(b"\n");
        Ok(())
    }

    /// Adds a short line, for which nobody pays.
    pub(crate) fn write_free<T: Serialize>(&mut self, line: &T) {
        let line = serde_json::to_vec(line).expect("short lines are plain data");
        self.buffer.push_free(&line);
        self.buffer.push_free(b"\n");
    }

    /// Returns the lines.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.buffer.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use kato_service::{Service, ServiceOptions};

    use super::*;
    use crate::options::Options;

    #[tokio::test]
    async fn an_answer_that_is_cut_off_says_what_failed() {
        let service = Service::in_memory(ServiceOptions::default());
        let app = App::new(service, Options::default(), Box::new(Bytes::new));
        let app = Arc::new(app);
        let (request, answer) = (app.request_memory.share(), app.answer_memory.share());
        let resources = RequestResources::of_part(request, answer);
        let lines = Lines {
            node: String::new(),
            trace_id: None,
            n_pieces: 2,
            answer: Arc::new(|_, idx, _, _| match idx {
                0 => b"{}\n".to_vec(),
                _ => panic!("piece {idx} has no answer"),
            }),
        };
        let body = Body::new(lines.into_body(&app, &resources));
        let error = to_bytes(body, usize::MAX).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains("before its last line"), "{told}");
        assert!(told.contains("piece 1 has no answer"), "{told}");
    }
}
