//! The client and our server together: over a real socket, in one process.

mod embeddings;
mod endpoints;
#[cfg(feature = "events")]
mod events;
mod sessions;
mod settings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kato_client::{KatoClient, KatoClientBuilder, SessionOptions};
use kato_server::{Server, ServerBuilder, ServerError, Stopped};
use kato_service::clock::ManualClock;
use kato_service::{Service, ServiceOptions};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs in this process.
struct Running {
    addr: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Stopped, ServerError>>,
}

impl Running {
    async fn of(
        service: Service,
        addr: SocketAddr,
        configure: impl Fn(ServerBuilder) -> ServerBuilder,
    ) -> Self {
        let server = configure(Server::builder(service).with_addr(addr))
            .bind()
            .await
            .unwrap();
        let addr = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server.serve(async {
            stopped.await.ok();
        }));
        Self { addr, stop, served }
    }

    async fn in_memory(configure: impl Fn(ServerBuilder) -> ServerBuilder) -> Self {
        let service = Service::in_memory(ServiceOptions::default());
        Self::of(service, any_port(), configure).await
    }

    /// With a clock that stands still.
    async fn manual() -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
        let service = Service::in_memory(options);
        (Self::of(service, any_port(), |server| server).await, clock)
    }

    fn builder(&self, session: SessionOptions) -> KatoClientBuilder {
        // A server that starts again takes its time: what counts is how often, not how long.
        let policy = crate::mini::impatient().with_attempts(100_000);
        KatoClient::builder(format!("http://{}", self.addr), session)
            .with_retry(policy)
            .with_settle(Duration::ZERO)
    }

    async fn stop(self) {
        self.stop.send(()).ok();
        self.served.await.unwrap().unwrap();
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn session() -> SessionOptions {
    SessionOptions::new("n").with_ttl(Duration::from_secs(60))
}
