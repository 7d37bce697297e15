//! Replicas that are processes, on one machine or several.

mod meeting;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Collective, CollectiveError};
use meeting::{cannot_listen, go_to_first, wait_for_all, wait_up_to};

/// The most bytes that a replica takes at once: no message of a run is larger, a stranger's may say so.
const MAX_MESSAGE: u64 = 1 << 34;

/// How long one replica is waited for before it is looked whether all others are still there.
const LOOK_AROUND: Duration = Duration::from_millis(200);

/// Where and with whom a process trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpOptions {
    /// Where rank 0 listens, and the others go to.
    pub address: SocketAddr,
    /// The number of this process, from 0.
    pub rank: usize,
    /// How many processes there are.
    pub n_ranks: usize,
    /// The run's key, by which processes of other runs are told apart. It is no secret: whoever can
    /// reach the address must be trusted.
    pub key: u64,
    /// How long to wait for the others when they come together.
    pub timeout: Duration,
    /// How long to wait for the slowest in each exchange: as long as its step takes, or as the first
    /// one judges an epoch.
    pub exchange_timeout: Duration,
}

impl TcpOptions {
    /// Waits up to ten minutes, when they come together and in each exchange.
    #[must_use]
    pub const fn new(address: SocketAddr, rank: usize, n_ranks: usize, key: u64) -> Self {
        Self {
            address,
            rank,
            n_ranks,
            key,
            timeout: Duration::from_secs(600),
            exchange_timeout: Duration::from_secs(600),
        }
    }

    /// Sets how long to wait for the others when they come together.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long to wait for the slowest in each exchange.
    #[must_use]
    pub const fn with_exchange_timeout(mut self, timeout: Duration) -> Self {
        self.exchange_timeout = timeout;
        self
    }
}

/// One of several processes that train together, over connections to the one with rank 0.
#[derive(Debug)]
pub struct TcpGroup {
    options: TcpOptions,
    /// At rank 0 all others in their order, elsewhere rank 0. Nobody talks in the middle of another
    /// exchange.
    peers: Mutex<Vec<TcpStream>>,
}

impl TcpGroup {
    /// Waits until all replicas have come together.
    ///
    /// # Errors
    ///
    /// [`CollectiveError::Missing`] where they do not in time, [`CollectiveError::Mismatch`] where one
    /// has other numbers, and [`CollectiveError::Connection`].
    pub fn join(options: TcpOptions) -> Result<Self, CollectiveError> {
        if options.rank >= options.n_ranks {
            let reason = format!("rank {} of {}", options.rank, options.n_ranks);
            return Err(CollectiveError::Mismatch { reason });
        }
        // A star: with two replicas no way is shorter, and one listener is enough.
        if options.rank == 0 {
            let listener = TcpListener::bind(options.address);
            return Self::lead(&listener.map_err(cannot_listen)?, options, &mut || true);
        }
        let first = go_to_first(&options)?;
        Self::of(vec![first], options)
    }

    /// Waits as rank 0 until all replicas have come together, at a listener that is there already: so
    /// the others can be told a port that the system has chosen. While it waits, it asks whether they can
    /// still come.
    ///
    /// # Errors
    ///
    /// As for [`join`](Self::join); [`CollectiveError::Missing`] as well where one cannot come any more.
    pub fn lead(
        listener: &TcpListener,
        options: TcpOptions,
        can_come: &mut dyn FnMut() -> bool,
    ) -> Result<Self, CollectiveError> {
        let peers = wait_for_all(listener, &options, can_come)?;
        Self::of(peers, options)
    }

    fn of(peers: Vec<TcpStream>, options: TcpOptions) -> Result<Self, CollectiveError> {
        let failed = |source| connection(options.rank, "cannot set up a connection", source);
        for peer in &peers {
            wait_up_to(peer, options.exchange_timeout).map_err(failed)?;
        }
        Ok(Self {
            options,
            peers: Mutex::new(peers),
        })
    }
}

impl Collective for TcpGroup {
    fn rank(&self) -> usize {
        self.options.rank
    }

    fn n_ranks(&self) -> usize {
        self.options.n_ranks
    }

    fn gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.is_empty() && self.options.n_ranks > 1 {
            return Err(CollectiveError::Gone);
        }
        let all = if self.options.rank == 0 {
            hear_and_tell(mine, &mut peers, self.options.exchange_timeout)
        } else {
            self.ask(mine, &mut peers[0])
        };
        let all = all.map_err(|failed| self.failed(failed));
        // Nobody knows where in a message a failed connection stands; closed, it frees the others.
        if all.is_err() {
            peers.clear();
        }
        all
    }
}

impl TcpGroup {
    /// Tells whether a connection failed, or who was waited for too long.
    fn failed(&self, (with, action, source): Failed) -> CollectiveError {
        match is_timeout(&source) {
            true => CollectiveError::Silent {
                rank: with,
                waited: self.options.exchange_timeout,
            },
            false => connection(self.options.rank, action, source),
        }
    }

    /// Tells rank 0 what this one has, and takes what the others have.
    fn ask(&self, mine: &[u8], first: &mut TcpStream) -> Result<Vec<Vec<u8>>, Failed> {
        let rank = self.options.rank;
        let failed = |action| move |source| (0, action, source);
        send(first, mine).map_err(failed("cannot reach rank 0"))?;
        let all = (0..self.options.n_ranks).map(|from| {
            if from == rank {
                return Ok(mine.to_vec());
            }
            receive(first).map_err(failed("cannot hear rank 0"))
        });
        all.collect()
    }
}

/// What went wrong, and with whom.
type Failed = (usize, &'static str, io::Error);

/// Takes what each one has, and tells each what the others have. Each is waited for up to a limit.
fn hear_and_tell(
    mine: &[u8],
    peers: &mut [TcpStream],
    limit: Duration,
) -> Result<Vec<Vec<u8>>, Failed> {
    let mut all = vec![mine.to_vec()];
    for idx in 0..peers.len() {
        wait_for(peers, idx, limit)?;
        let said = receive(&mut peers[idx]);
        all.push(said.map_err(unheard(idx))?);
    }
    for (peer, rank) in peers.iter_mut().zip(1..) {
        // Without its own, which it has.
        let others = all.iter().enumerate().filter(|&(from, _)| from != rank);
        for (_, bytes) in others {
            let sent = send(peer, bytes);
            sent.map_err(|source| (rank, "cannot reach another replica", source))?;
        }
    }
    Ok(all)
}

/// Waits until a replica has something to say, or one of all is gone: that one may be behind another which
/// is silent for as long as it may.
fn wait_for(peers: &[TcpStream], idx: usize, limit: Duration) -> Result<(), Failed> {
    let begin = Instant::now();
    let peer = &peers[idx];
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        wait_up_to(peer, left.min(LOOK_AROUND)).map_err(unheard(idx))?;
        match peer.peek(&mut [0]) {
            Err(source) if is_timeout(&source) && !left.is_zero() => {
                for (other, peer) in peers.iter().enumerate() {
                    check_there(peer).map_err(unheard(other))?;
                }
            }
            // A signal came meanwhile.
            Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
            seen => {
                let waits = seen.and_then(|_| wait_up_to(peer, limit));
                return waits.map_err(unheard(idx));
            }
        }
    }
}

/// Fails if a connection was closed at the other end.
fn check_there(peer: &TcpStream) -> io::Result<()> {
    peer.set_nonblocking(true)?;
    let seen = peer.peek(&mut [0]);
    peer.set_nonblocking(false)?;
    match seen {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(source) if source.kind() != io::ErrorKind::WouldBlock => Err(source),
        _ => Ok(()),
    }
}

/// Tells whether a read ended because of a limit: the first is what the system says of one on Linux, the
/// other elsewhere.
fn is_timeout(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn unheard(idx: usize) -> impl FnOnce(io::Error) -> Failed {
    move |source| (idx + 1, "cannot hear another replica", source)
}

fn connection(rank: usize, action: &'static str, source: io::Error) -> CollectiveError {
    CollectiveError::Connection {
        rank,
        action,
        source,
    }
}

fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(bytes)
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_MESSAGE {
        let reason = format!("a message of {length} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    // Room is made as bytes arrive: a length alone costs nothing.
    let mut bytes = Vec::new();
    let n_read = stream.take(length).read_to_end(&mut bytes)?;
    if n_read as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
