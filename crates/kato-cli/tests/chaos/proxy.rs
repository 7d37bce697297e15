//! A connection that fails: a proxy in front of a server, which cuts, cuts in the middle of a
//! message, and crawls.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a crawling connection moves at a time, and how long it rests then.
const CRAWL: (usize, Duration) = (40, Duration::from_millis(2));

/// A proxy until it is dropped.
pub(crate) struct Proxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: SocketAddr,
    is_closed: AtomicBool,
    is_crawling: AtomicBool,
    /// Bytes until a connection is cut; 0 for never.
    cut_request: AtomicU64,
    cut_reply: AtomicU64,
    /// Both sides of every connection, as long as one of them is open.
    connections: Mutex<Vec<[TcpStream; 2]>>,
}

impl Proxy {
    pub(crate) fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            upstream,
            is_closed: AtomicBool::new(false),
            is_crawling: AtomicBool::new(false),
            cut_request: AtomicU64::new(0),
            cut_reply: AtomicU64::new(0),
            connections: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if serving.is_closed.load(Ordering::Relaxed) {
                    return;
                }
                // Where the server is away, the connection ends at once.
                if let Ok(client) = client
                    && let Ok(server) = TcpStream::connect(serving.upstream)
                {
                    serving.join([client, server]);
                }
            }
        });
        Self { addr, shared }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        let mut connections = self.shared.connections.lock().unwrap();
        connections.drain(..).for_each(|pair| end(&pair));
    }

    /// Ends the connection that carries the byte of requests that many bytes from now.
    pub(crate) fn cut_request(&self, bytes: u64) {
        self.shared.cut_request.store(bytes + 1, Ordering::Relaxed);
    }

    /// The same for replies.
    pub(crate) fn cut_reply(&self, bytes: u64) {
        self.shared.cut_reply.store(bytes + 1, Ordering::Relaxed);
    }

    pub(crate) fn crawl(&self, is_crawling: bool) {
        self.shared
            .is_crawling
            .store(is_crawling, Ordering::Relaxed);
    }

    /// No fault any more, also none that waits for its byte.
    pub(crate) fn calm(&self) {
        self.crawl(false);
        self.shared.cut_request.store(0, Ordering::Relaxed);
        self.shared.cut_reply.store(0, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.addr);
        self.cut();
    }
}

impl Shared {
    /// Moves bytes both ways until either side ends.
    fn join(self: &Arc<Self>, pair: [TcpStream; 2]) {
        let copy = |pair: &[TcpStream; 2]| pair.each_ref().map(|side| side.try_clone().unwrap());
        for side in &pair {
            side.set_nodelay(true).unwrap();
        }
        let (requests, replies) = (copy(&pair), copy(&pair));
        let mut connections = self.connections.lock().unwrap();
        // What has ended gives its descriptors back.
        connections.retain(|pair| pair.iter().all(|side| side.peer_addr().is_ok()));
        connections.push(pair);
        let (up, down) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || {
            up.carry(&requests[0], &requests[1], &up.cut_request);
            end(&requests);
        });
        thread::spawn(move || {
            down.carry(&replies[1], &replies[0], &down.cut_reply);
            end(&replies);
        });
    }

    fn carry(&self, mut from: &TcpStream, mut to: &TcpStream, cut: &AtomicU64) {
        let mut buffer = [0; 4096];
        loop {
            let n = match from.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(n) => n,
            };
            let before = cut.load(Ordering::Relaxed);
            let after = before.saturating_sub(n as u64);
            let hits = before > 0
                && after == 0
                && cut
                    .compare_exchange(before, 0, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if before > 0 && !hits {
                let _ = cut.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
            }
            let passed = if hits { before as usize - 1 } else { n };
            if self.pass(&mut to, &buffer[..passed]).is_err() || hits {
                return;
            }
        }
    }

    fn pass(&self, to: &mut &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
        while self.is_crawling.load(Ordering::Relaxed) && !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(CRAWL.0.min(bytes.len()));
            to.write_all(piece)?;
            bytes = rest;
            thread::sleep(CRAWL.1);
        }
        to.write_all(bytes)
    }
}

fn end(pair: &[TcpStream; 2]) {
    for side in pair {
        // The other side may have ended it.
        let _ = side.shutdown(Shutdown::Both);
    }
}
