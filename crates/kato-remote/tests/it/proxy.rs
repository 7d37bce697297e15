//! A proxy that fails: it delays, resets, truncates, answers 503, drops replies after the server has
//! acted, and hides patterns for a while.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kato_random::SplitMix64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Delay,
    /// The connection ends before the server has seen the request.
    ResetBefore,
    /// The server acts, and the answer is lost.
    ResetAfter,
    /// The server acts, and half of the answer arrives.
    Truncate,
    /// 503 of something in front of the server, which has not seen the request.
    UnavailableBefore,
    /// The server acts, and its answer is a 503 with a code: its database has gone meanwhile.
    UnavailableAfter,
}

/// How often each kind of fault happened.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; 7]);

impl Counts {
    /// Requests that met no fault, and those that met each kind.
    pub(crate) fn get(&self) -> [u64; 7] {
        self.0.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

/// A proxy in front of a server, until its runtime ends.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) addr: SocketAddr,
    pub(crate) counts: Arc<Counts>,
    spoiling: Arc<Spoiling>,
}

/// What a proxy spoils.
#[derive(Debug)]
struct Spoiling {
    /// Of a hundred requests about so many fail.
    percent: u64,
    draws: AtomicU64,
    /// How often a pattern is said to be unknown before it shows.
    n_hidden: u64,
    /// How often each pattern was asked for.
    asked: Mutex<HashMap<Vec<u8>, u64>>,
}

impl Proxy {
    /// Starts a proxy that spoils about `percent` of the requests.
    pub(crate) async fn start(upstream: SocketAddr, percent: u64, seed: u64) -> Self {
        // A step back: the first fault is what the seed itself is mixed to.
        let draws = seed.wrapping_sub(SplitMix64::INCREMENT);
        Self::spoiling(upstream, percent, draws, 0).await
    }

    /// Starts a proxy behind which every pattern shows when it is asked for once more than so often.
    pub(crate) async fn hiding(upstream: SocketAddr, n_hidden: u64) -> Self {
        Self::spoiling(upstream, 0, 0, n_hidden).await
    }

    async fn spoiling(upstream: SocketAddr, percent: u64, draws: u64, n_hidden: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let counts = Arc::new(Counts::default());
        let spoiling = Arc::new(Spoiling {
            percent,
            draws: AtomicU64::new(draws),
            n_hidden,
            asked: Mutex::default(),
        });
        let shared = (Arc::clone(&counts), Arc::clone(&spoiling));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (counts, spoiling) = shared.clone();
                tokio::spawn(async move {
                    // A broken connection is what this proxy is for.
                    let _ = serve(client, upstream, &spoiling, &counts).await;
                });
            }
        });
        Self {
            addr,
            counts,
            spoiling,
        }
    }

    /// Patterns that were hidden.
    pub(crate) fn n_hidden(&self) -> usize {
        self.spoiling.asked.lock().unwrap().len()
    }
}

impl Spoiling {
    /// Asks for a pattern that there is not, as long as one is hidden.
    fn hide(&self, request: &mut [u8]) {
        const PREFIX: &[u8] = b"/pattern/";
        let at = request
            .windows(PREFIX.len())
            .position(|part| part == PREFIX);
        let Some(name) =
            at.and_then(|at| request.get_mut(at + PREFIX.len()..at + PREFIX.len() + 40))
        else {
            return;
        };
        let mut asked = self.asked.lock().unwrap();
        let n_asked = asked.entry(name.to_vec()).or_default();
        *n_asked += 1;
        if *n_asked <= self.n_hidden {
            name.fill(b'0');
        }
    }
}

async fn serve(
    mut client: TcpStream,
    upstream: SocketAddr,
    spoiling: &Spoiling,
    counts: &Counts,
) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(mut request) = read_message(&mut client, &mut buffer).await? {
        let fault = draw(&spoiling.draws, spoiling.percent);
        counts.0[fault as usize].fetch_add(1, Ordering::Relaxed);
        match fault {
            Fault::ResetBefore => return reset(&client),
            Fault::UnavailableBefore => {
                client.write_all(BUSY).await?;
                continue;
            }
            Fault::Delay => tokio::time::sleep(Duration::from_millis(30)).await,
            _ => {}
        }
        if request.starts_with(b"GET ") {
            spoiling.hide(&mut request);
        }
        let mut server = TcpStream::connect(upstream).await?;
        server.set_nodelay(true)?;
        server.write_all(&request).await?;
        let mut unread = Vec::new();
        let Some(reply) = read_message(&mut server, &mut unread).await? else {
            return reset(&client);
        };
        match fault {
            Fault::ResetAfter => return reset(&client),
            Fault::Truncate => {
                client.write_all(&reply[..reply.len() / 2]).await?;
                return Ok(());
            }
            Fault::UnavailableAfter => client.write_all(&unavailable()).await?,
            _ => client.write_all(&reply).await?,
        }
    }
    Ok(())
}

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 19\r\n\r\nService Unavailable";

/// A failure of KATO 6.x that says when to ask again: at once.
fn unavailable() -> Vec<u8> {
    let body = r#"{"error": {"type": "StorageError", "code": "STORAGE_UNAVAILABLE", "message": "The database does not answer", "recoverable": true, "context": {}}}"#;
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 0\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + body).into_bytes()
}

/// Ends a connection with a reset rather than in order.
fn reset(client: &TcpStream) -> std::io::Result<()> {
    client.set_zero_linger()
}

/// One request or answer with its body; `None` when the other side is done.
async fn read_message(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = message_end(buffer) {
            let rest = buffer.split_off(end);
            return Ok(Some(std::mem::replace(buffer, rest)));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Where the first message in the buffer ends, once all of it is there.
fn message_end(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let body = length.map_or(0, |length| length.trim().parse().unwrap_or(0));
    (buffer.len() >= head + body).then_some(head + body)
}

fn draw(draws: &AtomicU64, percent: u64) -> Fault {
    let seed = draws.fetch_add(SplitMix64::INCREMENT, Ordering::Relaxed);
    let z = SplitMix64::from_seed(seed).next_u64();
    if z % 100 >= percent {
        return Fault::None;
    }
    match (z >> 32) % 6 {
        0 => Fault::Delay,
        1 => Fault::ResetBefore,
        2 => Fault::ResetAfter,
        3 => Fault::Truncate,
        4 => Fault::UnavailableBefore,
        _ => Fault::UnavailableAfter,
    }
}
