//! Accepting connections, and serving each until it or the server ends.

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
use tokio::time;

use crate::app::App;
use crate::dispatch;
use crate::repeated::Repeated;
use crate::stall::StallGuard;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// How long to wait before accepting again when the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Bytes that a connection reads at once, and beyond which it reads no more of a request's head: a longer one is answered with status
/// 431.
const MAX_BUFFER: usize = 64 << 10;

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
    pub(crate) fn new(app: Arc<App>) -> Self {
        // Some descriptors are kept back: without them neither knowledge nor the next connection could be opened.
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

    /// Has all connections begin with a handshake.
    #[cfg(feature = "tls")]
    pub(crate) fn secure(&mut self, tls: Option<Tls>) {
        self.tls = tls;
    }

    /// Accepts connections until `stop` is ready. While all places are taken, new ones wait in the system's queue.
    pub(crate) async fn accept(&mut self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let failures = Repeated::default();
        loop {
            let next = async {
                let place = Arc::clone(&self.places).acquire_owned().await;
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                () = &mut stop => return,
                next = next => next,
            };
            // Forget those that are over.
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
                            Some(tls) => serve_securely(app, tls, stream, closing).await,
                            None => serve(app, stream, closing).await,
                        }
                        #[cfg(not(feature = "tls"))]
                        serve(app, stream, closing).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    if let Some(n_left_out) = failures.tell() {
                        tracing::warn!(%error, n_left_out, "a connection was not accepted");
                    }
                    time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Lets running requests finish, within the time; the number of connections that had to be cut off.
    pub(crate) async fn finish(mut self, within: Duration) -> usize {
        self.closing.send_replace(true);
        self.app.events.close();
        let all = async {
            while self.tasks.join_next().await.is_some() {}
            self.app.events.finish().await;
        };
        if time::timeout(within, all).await.is_ok() {
            return 0;
        }
        let n_cut_off = self.tasks.len();
        self.tasks.shutdown().await;
        n_cut_off
    }
}

fn guarded(app: &App, stream: TcpStream) -> StallGuard {
    // Answers are written whole: waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection waits for full packets");
    }
    StallGuard::new(stream, app.options.write_timeout)
}

/// Shakes hands, then serves one connection.
#[cfg(feature = "tls")]
async fn serve_securely(
    app: Arc<App>,
    tls: Tls,
    stream: StallGuard,
    mut closing: watch::Receiver<bool>,
) {
    let within = app.options.read_timeout;
    let shaken = tokio::select! {
        shaken = tls.accept(stream, within) => shaken,
        _ = closing.changed() => return,
    };
    match shaken {
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
