//! The server as a value: built, bound, served.

mod periodic;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use kato_service::{Descriptors, Service};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task;

use self::periodic::{Periodic, keep_room, maintain, sample, write_indexes};
use crate::app::App;
use crate::compat::openapi;
use crate::connection::Connections;
use crate::error::ServerError;
use crate::options::Options;
use crate::workers::MAX_WORKERS;
use crate::{dispatch, routes};

/// The entry point: creates servers.
///
/// ```
/// use kato_server::Server;
/// use kato_service::{Service, ServiceOptions};
///
/// let service = Service::in_memory(ServiceOptions::default());
/// let router = Server::builder(service).with_max_body_bytes(1 << 20).router()?;
/// # let _: axum::Router = router;
/// # Ok::<(), kato_server::ServerError>(())
/// ```
#[derive(Debug)]
pub struct Server(());

/// The settings of a server. Defaults are safe for one machine: loopback only, no token, no pages
/// of other origins.
#[derive(Clone)]
#[must_use = "a server does nothing before it is bound"]
pub struct ServerBuilder {
    service: Service,
    options: Options,
    tokens: Vec<String>,
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates the settings of a server for a service.
    pub fn builder(service: Service) -> ServerBuilder {
        ServerBuilder {
            service,
            options: Options::default(),
            tokens: Vec::new(),
        }
    }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $with:ident $field:ident: $type:ty;)*) => {
        impl ServerBuilder {
            $($(#[$doc])* pub fn $with(mut self, $field: $type) -> Self {
                self.options.$field = $field;
                self
            })*
        }
    };
}

settings! {
    /// Sets the address to listen on. Default 127.0.0.1:8000; port 0 takes any that is free.
    with_addr addr: SocketAddr;
    /// Sets the maximum size of a request's body in bytes; larger ones that are to be read get
    /// status 413. Default 100 MiB.
    with_max_body_bytes max_body_bytes: usize;
    /// Sets the maximum memory in bytes that the bodies of all requests take together with what is
    /// parsed out of them. A body counts ten times its bytes, 128 for each value and 768 for each
    /// object; one that takes more than seven eighths alone is answered with status 413, one for
    /// which there is no room beside others with status 503 and `Retry-After`. Default 512 MiB.
    with_max_request_memory max_request_memory: usize;
    /// Sets the maximum total size in bytes of all answers together that clients have not read yet,
    /// and of the copies that they are being made of, those up to 64 KiB not counted. Reads for
    /// whose answers there is no room get status 503 and `Retry-After`, those larger than seven
    /// eighths alone status 507. Of writes only a purge of more than 1,024 patterns without their names is
    /// refused for it, before it purges. Default 256 MiB.
    with_max_answer_memory max_answer_memory: usize;
    /// Sets the maximum number of requests that are answered at a time, up to the last byte of
    /// their answers, those that wait for a thread included; others get status 503 and
    /// `Retry-After`. Default 4096.
    with_max_concurrent_requests max_concurrent_requests: usize;
    /// Sets the maximum number of connections; others wait to be accepted. Default 16,384, and
    /// never more than half of the files that the process may open (see [`Descriptors`]), so that
    /// stores can always be read and written.
    with_max_connections max_connections: usize;
    /// Sets the maximum number of clients of the event stream. Default 256.
    with_max_event_clients max_event_clients: usize;
    /// Sets how long a client of the event stream may be silent: each is pinged every half of that
    /// time, which every library answers on its own, and dropped at the first ping by which it was
    /// silent for all of it. Default 60 s.
    with_event_timeout event_timeout: Duration;
    /// Sets the maximum number of threads for the short requests of one node, 2 to 1,024. Half as
    /// many are for long work such as predictions, and twice as many of either for all nodes
    /// together, so that neither long work nor one node takes all of them. Default: twice the
    /// processor's cores, at least 4.
    with_workers workers: usize;
    /// Sets how long a thread works for one prediction, or for what comes next; after that it is
    /// ended, with status 504 as its answer. One that nobody waits for is ended at once. Default 60 s.
    with_prediction_timeout prediction_timeout: Duration;
    /// Sets how long a client may take to send a request's head, how long a connection may be idle,
    /// and how long a body may take before it must come at 16 KiB a second. Default 30 s.
    with_read_timeout read_timeout: Duration;
    /// Sets how long a client may take less of its answer than 16 KiB a second; then its connection
    /// ends. Default 60 s.
    with_write_timeout write_timeout: Duration;
    /// Sets how long clients may wait for their answers when the server stops; then they are cut
    /// off. What has begun for them still runs to its end, except for predictions. Until half as long
    /// again is over the service is folded into its stores; the rest stays in the journal. Default 30 s.
    with_shutdown_timeout shutdown_timeout: Duration;
    /// Sets whether every web page may use the server, as KATO allows. That opens all of the server
    /// to all pages that anybody visits whose browser reaches it: they read what was learned,
    /// teach, and clear nodes. Without a token that is everybody who follows a link. Default
    /// `false`: only pages of the server itself, and those that
    /// [`with_allowed_origin`](Self::with_allowed_origin) names.
    with_cors cors: bool;
    /// Sets whether `/openapi.json`, `/docs` and `/redoc` exist. Default `true`.
    with_docs docs: bool;
    /// Sets whether the server has more than KATO: `learn-batch`, `ask-batch`, `next`, idempotency keys, Prometheus
    /// figures, records of training runs, `/admin`, `/extensions`. Default `true`.
    with_extensions extensions: bool;
    /// Sets whether the endpoints exist that only the 2025-10 generation has: `POST /genes/update`
    /// and `GET /gene/{name}`. A stock 3.10.1 answers 404 to them. Default `true`.
    with_generation_2025_10 generation_2025_10: bool;
}

impl ServerBuilder {
    /// Requires a bearer token of all requests but `/`, `/health` and preflights of allowed pages; called
    /// again, one of several.
    /// Only a hash of it is kept once the server is built.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// Allows pages of an origin such as `https://kato.example` or `http://localhost:3000` to use
    /// the server; called again, of one more.
    pub fn with_allowed_origin(mut self, origin: impl Into<String>) -> Self {
        self.options.allowed.origins.push(origin.into());
        self
    }

    /// Allows a name by which the server is asked, such as `kato.example` or that of a container;
    /// called again, one more.
    ///
    /// Without a token a server refuses requests that ask it by another name than an address or `localhost`:
    /// the domain of a page could be made to lead to the server's address, and the page would then
    /// be taken for one of the server's. If the server listens on a loopback address, the address
    /// must be that or another loopback address. With a token, or [open](Self::with_cors) to every page,
    /// names do not matter.
    pub fn with_allowed_host(mut self, name: impl Into<String>) -> Self {
        self.options.allowed.hosts.push(name.into());
        self
    }

    /// Enables `POST /admin/backups`, which copies the running service ([`Service::backup`]) into a
    /// new directory below this one, named by the time. Whoever may use the server may do so. Without
    /// it the path is answered with status 404.
    pub fn with_backups(mut self, dir: impl Into<PathBuf>) -> Self {
        self.options.backups.dir = Some(dir.into());
        self
    }

    /// Sets the number of copies in the directory of backups at which another one is refused, unless
    /// the oldest are [removed](Self::with_pruned_backups). Copies that were broken off count, those
    /// that a server was started on do not. Default 7.
    pub fn with_max_backups(mut self, max: usize) -> Self {
        self.options.backups.max = max;
        self
    }

    /// Sets whether the oldest copies are removed once a new one is whole, instead of refusing the
    /// new one, and with them those that were broken off. The new one and copies that a server was
    /// started on stay. Default `false`.
    pub fn with_pruned_backups(mut self, prunes: bool) -> Self {
        self.options.backups.prunes = prunes;
        self
    }

    /// Serves HTTPS with a certificate, as PEM together with those that lead to its root, and its
    /// key, as PEM too. The files are read by [`bind`](Self::bind), so a new certificate is used
    /// when the server is started again.
    #[cfg(feature = "tls")]
    pub fn with_tls(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.options.tls = Some(crate::tls::TlsFiles {
            certificate: certificate.into(),
            key: key.into(),
        });
        self
    }

    /// Builds the state of the server.
    fn app(mut self) -> Result<Arc<App>, ServerError> {
        for (idx, token) in self.tokens.iter().enumerate() {
            // An empty token would open the server to anybody; one that no header can carry, to
            // nobody.
            if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(ServerError::Token { idx });
            }
            self.options.tokens.add(token);
        }
        self.options.allowed.check()?;
        if self.options.workers > MAX_WORKERS {
            return Err(ServerError::Workers {
                workers: self.options.workers,
                most: MAX_WORKERS,
            });
        }
        let generation = self.service.options().generation();
        let unreached = self.service.unreached_nodes();
        if !unreached.is_empty() {
            tracing::warn!(
                n_nodes = unreached.len(),
                example = unreached[0],
                "nodes were named by another generation of KATO, or with another SERVICE_NAME, and begin empty as KATO {generation}: \
                 those show them (`kato serve --kato`)"
            );
        }
        self.options.generation = generation;
        let routes: Vec<_> = routes::active(&self.options).collect();
        let document = move || openapi::document(&routes, generation).to_string().into();
        Ok(Arc::new(App::new(
            self.service,
            self.options,
            Box::new(document),
        )))
    }

    /// Creates the server as a router, to be served or tested by other means. Time-outs of
    /// connections, TLS, the periodic work of the service ([`Service::maintain`],
    /// [`Service::keep_room`], [`Service::write_indexes`]) and samples of the machine's load are then up
    /// to the caller.
    ///
    /// # Errors
    ///
    /// [`ServerError::Token`], [`ServerError::Origin`], [`ServerError::Host`], [`ServerError::Workers`].
    pub fn router(self) -> Result<Router, ServerError> {
        let app = self.app()?;
        Ok(Router::new().fallback(move |request| dispatch::handle(Arc::clone(&app), request)))
    }

    /// Opens the port, and raises the process's limit of open files as far as possible. Must be
    /// called, like all that follows, within a tokio runtime with its timer and I/O enabled.
    ///
    /// # Errors
    ///
    /// [`ServerError::Bind`], and as [`router`](Self::router); with the feature `tls`, `ServerError::Tls`.
    pub async fn bind(self) -> Result<BoundServer, ServerError> {
        // First, because connections get a share of the limit.
        Descriptors::raise();
        let app = self.app()?;
        #[cfg(feature = "tls")]
        let tls = app
            .options
            .tls
            .as_ref()
            .map(crate::tls::TlsFiles::read)
            .transpose()?;
        let addr = app.options.addr;
        let bind = |source| ServerError::Bind { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(bind)?;
        let local_addr = listener.local_addr().map_err(bind)?;
        Ok(BoundServer {
            app,
            listener,
            local_addr,
            #[cfg(feature = "tls")]
            tls,
        })
    }
}

/// A server whose port is open; connections wait until it serves.
#[derive(Debug)]
#[must_use = "nobody is answered before the server serves"]
pub struct BoundServer {
    app: Arc<App>,
    listener: TcpListener,
    local_addr: SocketAddr,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
}

/// The report of a server that has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// Number of connections that were cut off because their requests took longer than the
    /// shutdown may.
    pub n_cut_off: usize,
    /// Time from the signal to the end.
    pub took: Duration,
}

impl BoundServer {
    /// Returns the address that it listens on.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` is ready; then accepts no more connections, lets running requests
    /// finish, and closes the service: what was acknowledged goes into the stores as far as
    /// [time](ServerBuilder::with_shutdown_timeout) allows, and the rest stays in the journal.
    ///
    /// # Errors
    ///
    /// [`ServerError::Close`].
    pub async fn serve(
        self,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<Stopped, ServerError> {
        let Self {
            app,
            listener,
            local_addr,
            #[cfg(feature = "tls")]
            tls,
        } = self;
        tracing::info!(%local_addr, "serving");
        // Not the signal of the shutdown: the periodic work goes on until no request writes any
        // more.
        let ending = watch::Sender::new(false);
        let maintaining = Periodic::spawn(maintain(Arc::clone(&app), ending.subscribe()));
        let keeping_room = Periodic::spawn(keep_room(Arc::clone(&app), ending.subscribe()));
        let indexing = Periodic::spawn(write_indexes(Arc::clone(&app), ending.subscribe()));
        let sampling = Periodic::spawn(sample(Arc::clone(&app), ending.subscribe()));
        let mut connections = Connections::new(Arc::clone(&app));
        #[cfg(feature = "tls")]
        connections.secure(tls);
        connections.accept(listener, shutdown).await;
        let stopping = Instant::now();
        tracing::info!("stopping");
        // Nothing is lost by it, and a request may be waiting for an index that is written no more.
        let within = app.options.shutdown_timeout;
        match stopping.checked_add(within.saturating_mul(3) / 2) {
            Some(deadline) => app.service.close_by(deadline),
            None => app.service.stop_writing_indexes(),
        }
        let n_cut_off = connections.finish(within).await;
        // Writes run to their end, also for clients that were cut off: they must be in the journal
        // before the service is closed.
        app.workers.finish().await;
        ending.send_replace(true);
        maintaining.finish().await;
        keeping_room.finish().await;
        indexing.finish().await;
        sampling.finish().await;
        let service = app.service.clone();
        // Folds everything into the stores, which takes disk and time.
        let closed = task::spawn_blocking(move || service.close()).await;
        // A panic in there is passed on as it is: nothing can be promised about the service.
        closed
            .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
            .map_err(ServerError::Close)?;
        let took = stopping.elapsed();
        tracing::info!(
            n_cut_off,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "stopped"
        );
        Ok(Stopped { n_cut_off, took })
    }
}
