//! Measures how long a round trip takes on this machine itself.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::summary::LatencySummary;

/// Round trips to measure.
const TRIPS: usize = 50;
/// Time limit for all of them, in case something holds packets back.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Sends a byte to and fro over TCP, within this thread's own connection to itself; `None` where
/// that is not possible.
pub(crate) fn measure() -> Option<LatencySummary> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let mut near = TcpStream::connect(listener.local_addr().ok()?).ok()?;
    let (mut far, _) = listener.accept().ok()?;
    for stream in [&near, &far] {
        // A single byte would otherwise wait for the acknowledgement of the one before it.
        stream.set_nodelay(true).ok()?;
        // One thread plays both ends, so a packet that is lost must not block it for ever.
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    }
    let begin = Instant::now();
    let mut byte = [0];
    let mut seconds = Vec::with_capacity(TRIPS);
    while seconds.len() < TRIPS && begin.elapsed() < TIMEOUT {
        let start = Instant::now();
        near.write_all(&byte).ok()?;
        far.read_exact(&mut byte).ok()?;
        far.write_all(&byte).ok()?;
        near.read_exact(&mut byte).ok()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    // The nearest rank of sorted times. Without any trip the quantiles are missing, and so is the
    // result.
    seconds.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let rank = (q * seconds.len() as f64).ceil().max(1.0) as usize;
        seconds.get(rank - 1).copied()
    };
    Some(LatencySummary {
        count: seconds.len() as u64,
        mean: seconds.iter().sum::<f64>() / seconds.len() as f64,
        p50: quantile(0.5)?,
        p90: quantile(0.9)?,
        p99: quantile(0.99)?,
        longest: *seconds.last()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_on_this_machine_takes_less_than_a_second() {
        let latency = measure().expect("loopback is there");
        assert!(latency.count > 0);
        assert!(latency.p50 > 0.0 && latency.p50 < 1.0);
        assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.longest);
    }
}
