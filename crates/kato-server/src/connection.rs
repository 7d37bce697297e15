//! Accepting connections, and serving each of them until it or the server ends.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kato_service::Descriptors;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::app::App;
use crate::dispatch;
use crate::log_throttle::LogThrottle;
use crate::stall::StallGuard;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// Pause before accepting again after a failure, such as a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Least time that clients of the event stream have to take what was announced last, and the end of
/// the stream, when the server stops.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes that a connection reads at once, and the most that it reads of a request's head: a longer
/// one is answered with status 431. No budget is behind it, so it is small: hyper's buffer grows to
/// twice as much, which is 512 MiB for the 16,384 connections that there are at most by default.
const MAX_BUFFER: usize = 16 << 10;

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    app: Arc<App>,
    tasks: JoinSet<()>,
    places: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Connections {
    /// Creates the set of connections, which accepts none yet.
    pub(crate) fn new(app: Arc<App>) -> Self {
        // Some descriptors are kept back: without them neither a store nor the next connection
        // could be opened.
        let places = app
            .options
            .max_connections
            .min(Descriptors::of_process().connections());
        let places = places.min(Semaphore::MAX_PERMITS);
        Self {
            app,
            tasks: JoinSet::new(),
            places: Arc::new(Semaphore::new(places)),
            closing: watch::Sender::new(false),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Makes every connection begin with a TLS handshake.
    #[cfg(feature = "tls")]
    pub(crate) fn secure(&mut self, tls: Option<Tls>) {
        self.tls = tls;
    }

    /// Accepts connections until `stop` is ready. While all places are taken, new ones wait in the
    /// system's queue.
    pub(crate) async fn accept(&mut self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let failures = LogThrottle::default();
        loop {
            let next = async {
                // The place first: a connection that was accepted without one would hold a
                // descriptor while it waits. The semaphore is never closed, so this is never an
                // error.
                let place = Arc::clone(&self.places).acquire_owned().await;
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                () = &mut stop => return,
                next = next => next,
            };
            // A set keeps the results of tasks that are done until they are taken out.
            while self.tasks.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    let app = Arc::clone(&self.app);
                    let closing = self.closing.subscribe();
                    #[cfg(feature = "tls")]
                    let tls = self.tls.clone();
                    self.tasks.spawn(async move {
                        let stream = guarded(&app, stream);
                        #[cfg(feature = "tls")]
                        match tls {
                            Some(tls) => serve_tls(app, tls, stream, closing).await,
                            None => serve(app, stream, closing).await,
                        }
                        #[cfg(not(feature = "tls"))]
                        serve(app, stream, closing).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    if let Some(n_left_out) = failures.should_log() {
                        tracing::warn!(%error, n_left_out, "a connection was not accepted");
                    }
                    // Without descriptors `accept` fails at once, again and again: the loop must
                    // not take a processor for that.
                    time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Lets running requests finish within the time; returns the number of connections that had to
    /// be cut off.
    pub(crate) async fn finish(mut self, within: Duration) -> usize {
        self.closing.send_replace(true);
        let began = Instant::now();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let finished = time::timeout(within, all).await;
        let n_cut_off = if finished.is_ok() {
            0
        } else {
            self.tasks.len()
        };
        self.tasks.shutdown().await;
        // Only now: the requests that were finished above had things to announce. Event streams are
        // not among the tasks, as a connection's task ends when it is upgraded.
        self.app.events.close();
        let left = within.saturating_sub(began.elapsed()).max(EVENTS_TIMEOUT);
        let ended = time::timeout(left, self.app.events.finish()).await;
        if ended.is_err() {
            tracing::debug!("a client of the event stream does not take the end of it");
        }
        n_cut_off
    }
}

/// Prepares an accepted stream for answers and for clients that do not read them.
fn guarded(app: &App, stream: TcpStream) -> StallGuard {
    // Answers are written as a whole, so waiting for more to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection waits for full packets");
    }
    StallGuard::new(stream, app.options.write_timeout)
}

/// Completes the TLS handshake, then serves the connection.
#[cfg(feature = "tls")]
async fn serve_tls(
    app: Arc<App>,
    tls: Tls,
    stream: StallGuard,
    mut closing: watch::Receiver<bool>,
) {
    let within = app.options.read_timeout;
    let handshake = tokio::select! {
        handshake = tls.accept(stream, within) => handshake,
        // No request has begun on this connection, so there is nothing to finish.
        _ = closing.changed() => return,
    };
    match handshake {
        Ok(stream) => serve(app, stream, closing).await,
        Err(error) => tracing::debug!(%error, "a client did not shake hands"),
    }
}

/// Serves one connection.
async fn serve<S>(app: Arc<App>, stream: S, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(stream);
    let mut builder = http1::Builder::new();
    builder
        // hyper panics on a read time-out without a timer.
        .timer(TokioTimer::new())
        .header_read_timeout(app.options.read_timeout)
        .max_buf_size(MAX_BUFFER);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let request: Request = request.map(Body::new);
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(dispatch::handle(app, request).await) }
    });
    let connection = builder.serve_connection(io, service).with_upgrades();
    let mut connection = pin!(connection);
    let mut is_closing = *closing.borrow();
    loop {
        if is_closing {
            // Ends an idle connection at once and a busy one after its present answer.
            connection.as_mut().graceful_shutdown();
        }
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            _ = closing.changed(), if !is_closing => is_closing = true,
        }
    }
}
