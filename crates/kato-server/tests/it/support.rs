//! A server on a free port, and a client that sends exactly what it is told.

use std::sync::Arc;
use std::time::Duration;

use kato_model::KatoGeneration;
use kato_server::{Server, ServerBuilder, ServerError, Stopped};
use kato_service::clock::ManualClock;
use kato_service::{Service, ServiceOptions};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs in this process.
pub(crate) struct Running {
    pub(crate) addr: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Stopped, ServerError>>,
}

impl Running {
    /// A server in memory with a clock that stands still.
    pub(crate) async fn manual(
        configure: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> (Self, Arc<ManualClock>) {
        Self::manual_of(KatoGeneration::V3_10, configure).await
    }

    /// A server of a generation in memory with a clock that stands still.
    pub(crate) async fn manual_of(
        generation: KatoGeneration,
        configure: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let options = ServiceOptions::default()
            .with_generation(generation)
            .with_clock(Arc::clone(&clock) as _);
        (
            Self::of(Service::in_memory(options), configure).await,
            clock,
        )
    }

    pub(crate) async fn of(
        service: Service,
        configure: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Self {
        let builder = Server::builder(service).with_addr(([127, 0, 0, 1], 0).into());
        let server = configure(builder).bind().await.unwrap();
        let addr = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server.serve(async {
            stopped.await.ok();
        }));
        Self { addr, stop, served }
    }

    pub(crate) async fn memory() -> Self {
        Self::memory_of(KatoGeneration::V3_10).await
    }

    /// A server of a generation in memory.
    pub(crate) async fn memory_of(generation: KatoGeneration) -> Self {
        let options = ServiceOptions::default().with_generation(generation);
        Self::of(Service::in_memory(options), |builder| builder).await
    }

    pub(crate) async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.addr).await.unwrap();
        Connection {
            stream,
            read: Vec::new(),
        }
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, request: Request) -> Answer {
        self.connect().await.send(&request).await
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.send(Request::new("GET", target)).await
    }

    pub(crate) async fn post(&self, target: &str, body: Value) -> Answer {
        self.send(Request::new("POST", target).json(&body)).await
    }

    /// Makes a session; its id.
    pub(crate) async fn session(&self, node_id: &str) -> String {
        let answer = self
            .post("/sessions", serde_json::json!({"node_id": node_id}))
            .await;
        answer.json()["session_id"].as_str().unwrap().to_owned()
    }

    /// Tells the server to stop; the task that ends when it has.
    pub(crate) fn stop(self) -> JoinHandle<Result<Stopped, ServerError>> {
        self.stop.send(()).ok();
        self.served
    }
}

/// Reads a figure without its labels.
pub(crate) async fn figure(server: &Running, name: &str) -> f64 {
    let text = server.get("/metrics/prometheus").await.text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap().parse().unwrap()
}

/// Waits until a figure is as it should be: a request keeps its place for a moment after its answer
/// was read.
pub(crate) async fn until(server: &Running, name: &str, is_right: impl Fn(f64) -> bool) {
    let reached = async {
        while !is_right(figure(server, name).await) {
            tokio::task::yield_now().await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    reached.unwrap_or_else(|_| panic!("{name} is right within a minute"));
}

/// A request, to the byte.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    target: String,
    host: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    is_chunked: bool,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            host: "localhost".to_owned(),
            headers: Vec::new(),
            body: None,
            is_chunked: false,
        }
    }

    /// By another name than `localhost`.
    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json")
            .body(body.to_string())
    }

    /// With a body in one part, whose length is not announced.
    pub(crate) fn chunked(mut self, body: &[u8]) -> Self {
        let mut parts = format!("{:x}\r\n", body.len()).into_bytes();
        parts.extend(body);
        parts.extend(b"\r\n0\r\n\r\n");
        self.is_chunked = true;
        self.body(parts)
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (method, target, host) = (&self.method, &self.target, &self.host);
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.is_chunked {
            head.push_str("transfer-encoding: chunked\r\n");
        } else if let Some(body) = &self.body {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }
}

/// A connection that stays open.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn send(&mut self, request: &Request) -> Answer {
        self.stream.write_all(&request.bytes()).await.unwrap();
        self.answer(request.is_head()).await.expect("an answer")
    }

    /// The next answer; `None` if the server closes first.
    pub(crate) async fn answer(&mut self, head_only: bool) -> Option<Answer> {
        let head_end = loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8(self.read.drain(..head_end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        let length: usize = answer
            .header("content-length")
            .map_or(0, |n| n.parse().unwrap());
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = self.chunks().await?;
        } else if !head_only && status != 101 {
            while self.read.len() < length {
                self.more().await?;
            }
            answer.body = self.read.drain(..length).collect();
        }
        Some(answer)
    }

    /// The parts of a body whose length is not announced; `None` where its end is missing.
    async fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = find(&self.read, b"\r\n") {
                    break end + 2;
                }
                self.more().await?;
            };
            let size = String::from_utf8(self.take(end).await?).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let part = self.take(size + 2).await?;
            if size == 0 {
                return Some(body);
            }
            body.extend_from_slice(&part[..size]);
        }
    }

    /// Reads at least so many bytes in all and takes them.
    pub(crate) async fn take(&mut self, n: usize) -> Option<Vec<u8>> {
        while self.read.len() < n {
            self.more().await?;
        }
        Some(self.read.drain(..n).collect())
    }

    async fn more(&mut self) -> Option<()> {
        let read = tokio::time::timeout(
            Duration::from_secs(30),
            self.stream.read_buf(&mut self.read),
        );
        let n = read.await.expect("the server answers").ok()?;
        (n > 0).then_some(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The body; text where it is no JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Value::from(self.text()))
    }
}
