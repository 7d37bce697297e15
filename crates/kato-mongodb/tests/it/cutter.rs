//! Connections that break in the middle of an answer.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A proxy that cuts every connection once some bytes have come back, as often as it is told to.
pub(crate) struct Cutter {
    pub(crate) address: SocketAddr,
    /// Bytes until the next cut; `u64::MAX` for none.
    pub(crate) left: Arc<AtomicU64>,
    /// Connections that were cut because of what they would have carried.
    pub(crate) cut_before: Arc<AtomicU64>,
}

impl Cutter {
    pub(crate) fn start(to: SocketAddr) -> Self {
        Self::start_before(to, b"")
    }

    /// A proxy that cuts every connection over which these bytes would go to the server; none if
    /// there are no bytes.
    pub(crate) fn start_before(to: SocketAddr, words: &'static [u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let left = Arc::new(AtomicU64::new(u64::MAX));
        let shared = Arc::clone(&left);
        let cut_before = Arc::new(AtomicU64::new(0));
        let cuts = Arc::clone(&cut_before);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else {
                    continue;
                };
                let (up, down) = (
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                );
                let cuts = Arc::clone(&cuts);
                thread::spawn(move || forward(up, None, (words, &cuts)));
                let left = Arc::clone(&shared);
                thread::spawn(move || forward(down, Some(&left), (b"", &AtomicU64::new(0))));
            }
        });
        Self {
            address,
            left,
            cut_before,
        }
    }
}

fn forward(
    (mut from, mut to): (TcpStream, TcpStream),
    left: Option<&AtomicU64>,
    (words, cuts): (&[u8], &AtomicU64),
) {
    let mut buffer = [0; 512];
    while let Ok(n) = from.read(&mut buffer) {
        let has_words = || buffer[..n].windows(words.len()).any(|part| part == words);
        if n == 0 {
            break;
        }
        if !words.is_empty() && has_words() {
            cuts.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if let Some(left) = left {
            let before = left.fetch_sub(n as u64, Ordering::SeqCst);
            if before == u64::MAX {
                left.store(u64::MAX, Ordering::SeqCst);
            } else if before <= n as u64 {
                left.store(u64::MAX, Ordering::SeqCst);
                let _ = to.write_all(&buffer[..n / 2]);
                break;
            }
        }
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
