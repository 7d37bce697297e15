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

/// What is said to one that does not belong to this run: no key, as it may be anybody.
fn refusal(options: &TcpOptions) -> Vec<u8> {
    vec![0; greeting(options, 0).len()]
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
        // It is to know why it is let go; whether it does is its own affair.
        drop(stream.write_all(&refusal(options)));
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
    go_within(options, GREETING)
}

/// Connects to rank 0, which lets go of those that do not say within `limit` who they are.
fn go_within(options: &TcpOptions, limit: Duration) -> Result<TcpStream, CollectiveError> {
    let failed = |action| move |source| connection(options.rank, action, source);
    let begin = Instant::now();
    loop {
        let tried = Instant::now();
        // Refused until rank 0 listens, whichever process the system started first.
        let Ok(mut stream) = TcpStream::connect(options.address) else {
            pause(begin, options, &[0], true)?;
            continue;
        };
        prepare(&stream, options.timeout).map_err(failed("cannot reach rank 0"))?;
        let mut said = vec![0; greeting(options, 0).len()];
        let heard = stream
            .write_all(&greeting(options, options.rank))
            .and_then(|()| stream.read_exact(&mut said));
        match heard {
            Ok(()) if said == greeting(options, 0) => return Ok(stream),
            Ok(()) => {
                let reason = "rank 0 has another key or number of replicas".to_owned();
                return Err(CollectiveError::Mismatch { reason });
            }
            // Held up before it had said anything, by whatever stops processes: it may come again.
            Err(_) if tried.elapsed() >= limit => pause(begin, options, &[0], true)?,
            Err(source) => return Err(failed("rank 0 is gone")(source)),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;

    use super::*;

    #[test]
    fn one_that_was_held_up_comes_again_and_one_that_was_not_says_who_is_gone() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let options = TcpOptions::new(address, 1, 2, 9);
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                // It lets go of the first two, and welcomes the third.
                for _ in 0..2 {
                    drop(listener.accept().unwrap());
                }
                wait_for_all(&listener, &TcpOptions::new(address, 0, 2, 9), &mut || true)
            });
            // Nobody is held up for so long.
            let error = go_within(&options, Duration::MAX).unwrap_err();
            assert!(error.is_gone(), "{error}");
            // Any time is too long here.
            go_within(&options, Duration::ZERO).unwrap();
            assert_eq!(first.join().unwrap().unwrap().len(), 1);
        });
    }
}
