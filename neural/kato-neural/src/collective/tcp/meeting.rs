//! How processes that train together find one another.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::{CollectiveError, TcpOptions, connection};

/// How long between two looks for a replica that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a visitor may take to say who it is: a replica does so at once, and a stranger that is silent must not
/// keep the others waiting.
const GREETING: Duration = Duration::from_secs(5);

pub(super) fn cannot_listen(source: io::Error) -> CollectiveError {
    connection(0, "cannot listen", source)
}

/// What a replica says when it comes.
fn greeting(options: &TcpOptions, rank: usize) -> Vec<u8> {
    let numbers = [options.key, options.n_ranks as u64, rank as u64];
    let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
    b"kato-neural 1 ".iter().copied().chain(numbers).collect()
}

/// Takes all other replicas' connections, and puts them into their order.
pub(super) fn wait_for_all(
    listener: &TcpListener,
    options: &TcpOptions,
    can_come: &mut dyn FnMut() -> bool,
) -> Result<Vec<TcpStream>, CollectiveError> {
    // Looked at again and again, as there is no other way to stop waiting.
    listener.set_nonblocking(true).map_err(cannot_listen)?;
    // By rank and not by arrival: sums have the order of ranks.
    let mut peers: Vec<Option<TcpStream>> = (1..options.n_ranks).map(|_| None).collect();
    let begin = Instant::now();
    while peers.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((stream, _)) => {
                prepare(&stream, options.timeout.min(GREETING)).map_err(cannot_listen)?;
                welcome(stream, options, &mut peers)?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let missing = peers.iter().zip(1..).filter(|(peer, _)| peer.is_none());
                let missing: Vec<usize> = missing.map(|(_, rank)| rank).collect();
                pause(begin, options, &missing, can_come())?;
            }
            Err(error) => return Err(cannot_listen(error)),
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
pub(super) fn go_to_first(options: &TcpOptions) -> Result<TcpStream, CollectiveError> {
    let failed = |source| connection(options.rank, "cannot reach rank 0", source);
    let begin = Instant::now();
    let mut stream = loop {
        match TcpStream::connect(options.address) {
            Ok(stream) => break stream,
            // Refused until rank 0 listens, whichever process the system started first.
            Err(_) => pause(begin, options, &[0], true)?,
        }
    };
    prepare(&stream, options.timeout).map_err(failed)?;
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

fn prepare(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    // A step sends little and waits for the answer: held back, it would wait for nothing.
    stream.set_nodelay(true)?;
    wait_up_to(stream, timeout)
}

pub(super) fn wait_up_to(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    // Zero would be refused by the system.
    let timeout = timeout.max(PAUSE);
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}

fn pause(
    begin: Instant,
    options: &TcpOptions,
    missing: &[usize],
    can_come: bool,
) -> Result<(), CollectiveError> {
    let waited = begin.elapsed();
    if waited > options.timeout || !can_come {
        return Err(CollectiveError::Missing {
            n_missing: missing.len(),
            first: missing.first().copied().unwrap_or(0),
            n_ranks: options.n_ranks,
            waited,
        });
    }
    std::thread::sleep(PAUSE);
    Ok(())
}
