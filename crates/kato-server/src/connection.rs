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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time;

use crate::app::App;
use crate::dispatch;
use crate::repeated::Repeated;
use crate::stall::StallGuard;

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
}

impl Connections {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let places = app.options.max_connections.min(Semaphore::MAX_PERMITS);
        Self {
            app,
            tasks: JoinSet::new(),
            places: Arc::new(Semaphore::new(places)),
            closing: watch::Sender::new(false),
        }
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
                    let serve = serve(Arc::clone(&self.app), stream, self.closing.subscribe());
                    self.tasks.spawn(async move {
                        serve.await;
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

/// Serves one connection.
async fn serve(app: Arc<App>, stream: TcpStream, mut closing: watch::Receiver<bool>) {
    // Answers are written whole: waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection waits for full packets");
    }
    let io = TokioIo::new(StallGuard::new(stream, app.options.write_timeout));
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
