//! Replicas that are processes, on one machine or several.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Collective, CollectiveError};

/// The most bytes that a replica takes at once: no message of a run is larger, a stranger's may say so.
const MAX_MESSAGE: u64 = 1 << 34;
/// How long between two looks for a replica that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

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
    /// How long to wait for the others, when they come together and in each exchange.
    pub timeout: Duration,
}

impl TcpOptions {
    /// Waits up to ten minutes.
    #[must_use]
    pub const fn new(address: SocketAddr, rank: usize, n_ranks: usize, key: u64) -> Self {
        Self {
            address,
            rank,
            n_ranks,
            key,
            timeout: Duration::from_secs(600),
        }
    }

    /// Sets how long to wait for the others.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
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
        let peers = match options.rank {
            0 => wait_for_all(&options)?,
            _ => vec![go_to_first(&options)?],
        };
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
            hear_and_tell(mine, &mut peers)
        } else {
            self.ask(mine, &mut peers[0])
        };
        // Nobody knows where in a message a failed connection stands; closed, it frees the others.
        if all.is_err() {
            peers.clear();
        }
        all
    }
}

impl TcpGroup {
    /// Tells rank 0 what this one has, and takes what the others have.
    fn ask(&self, mine: &[u8], first: &mut TcpStream) -> Result<Vec<Vec<u8>>, CollectiveError> {
        let rank = self.options.rank;
        let failed = |action| move |source| connection(rank, action, source);
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

/// Takes what each one has, and tells each what the others have.
fn hear_and_tell(mine: &[u8], peers: &mut [TcpStream]) -> Result<Vec<Vec<u8>>, CollectiveError> {
    let failed = |action| move |source| connection(0, action, source);
    let mut all = vec![mine.to_vec()];
    for peer in &mut *peers {
        all.push(receive(peer).map_err(failed("cannot hear another replica"))?);
    }
    for (at, peer) in peers.iter_mut().enumerate() {
        // Without its own, which it has.
        let others = all.iter().enumerate().filter(|&(from, _)| from != at + 1);
        for (_, bytes) in others {
            send(peer, bytes).map_err(failed("cannot reach another replica"))?;
        }
    }
    Ok(all)
}

fn connection(rank: usize, action: &'static str, source: io::Error) -> CollectiveError {
    CollectiveError::Connection {
        rank,
        action,
        source,
    }
}

/// What a replica says when it comes.
fn greeting(options: &TcpOptions, rank: usize) -> Vec<u8> {
    let numbers = [options.key, options.n_ranks as u64, rank as u64];
    let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
    b"kato-neural 1 ".iter().copied().chain(numbers).collect()
}

/// Takes all other replicas' connections, and puts them into their order.
fn wait_for_all(options: &TcpOptions) -> Result<Vec<TcpStream>, CollectiveError> {
    let failed = |source| connection(0, "cannot listen", source);
    let listener = TcpListener::bind(options.address).map_err(failed)?;
    // Looked at again and again, as there is no other way to stop waiting.
    listener.set_nonblocking(true).map_err(failed)?;
    // By rank and not by arrival: sums have the order of ranks.
    let mut peers: Vec<Option<TcpStream>> = (1..options.n_ranks).map(|_| None).collect();
    let begin = Instant::now();
    while peers.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((stream, _)) => {
                prepare(&stream, options).map_err(failed)?;
                welcome(stream, options, &mut peers)?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let n_missing = peers.iter().filter(|peer| peer.is_none()).count();
                pause(begin, options, n_missing)?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(peers.into_iter().flatten().collect())
}

/// Gives a connection the place of its rank, if it belongs to this run.
fn welcome(
    mut stream: TcpStream,
    options: &TcpOptions,
    peers: &mut [Option<TcpStream>],
) -> Result<(), CollectiveError> {
    let mut said = vec![0; greeting(options, 0).len()];
    // A stranger, or one that went away: the run waits on for its own.
    if stream.read_exact(&mut said).is_err() {
        return Ok(());
    }
    let fits = |&rank: &usize| greeting(options, rank) == said;
    let Some(rank) = (1..options.n_ranks).find(fits) else {
        return Ok(());
    };
    let place = &mut peers[rank - 1];
    if place.is_some() {
        let reason = format!("two replicas have rank {rank}");
        return Err(CollectiveError::Mismatch { reason });
    }
    let answered = stream.write_all(&greeting(options, 0));
    answered.map_err(|source| connection(0, "cannot reach another replica", source))?;
    *place = Some(stream);
    Ok(())
}

/// Connects to rank 0, which may not be there yet.
fn go_to_first(options: &TcpOptions) -> Result<TcpStream, CollectiveError> {
    let failed = |source| connection(options.rank, "cannot reach rank 0", source);
    let begin = Instant::now();
    let mut stream = loop {
        match TcpStream::connect(options.address) {
            Ok(stream) => break stream,
            // Refused until rank 0 listens, whichever process the system started first.
            Err(_) => pause(begin, options, 1)?,
        }
    };
    prepare(&stream, options).map_err(failed)?;
    stream
        .write_all(&greeting(options, options.rank))
        .map_err(failed)?;
    let mut said = vec![0; greeting(options, 0).len()];
    let heard = stream.read_exact(&mut said);
    if heard.is_err() || said != greeting(options, 0) {
        let reason = "rank 0 has another key or number of replicas".to_owned();
        return Err(CollectiveError::Mismatch { reason });
    }
    Ok(stream)
}

fn prepare(stream: &TcpStream, options: &TcpOptions) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    // A step sends little and waits for the answer: held back, it would wait for nothing.
    stream.set_nodelay(true)?;
    // Zero would be refused by the system.
    let timeout = options.timeout.max(PAUSE);
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}

fn pause(begin: Instant, options: &TcpOptions, n_missing: usize) -> Result<(), CollectiveError> {
    if begin.elapsed() > options.timeout {
        return Err(CollectiveError::Missing {
            n_missing,
            n_ranks: options.n_ranks,
            waited: options.timeout,
        });
    }
    std::thread::sleep(PAUSE);
    Ok(())
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
