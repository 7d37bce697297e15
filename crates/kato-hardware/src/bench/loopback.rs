//! Latency of round trips over TCP inside the machine.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::Allowance;
use crate::figure::{Measured, MeasurementMethod};
use crate::meter::{Meter, figure, latencies};

/// Bytes of a message: a small request.
const MESSAGE: usize = 64;
/// Round trips after which the distribution is known well enough.
const MAX_SAMPLES: usize = 20_000;
/// Time after which a message inside the machine counts as lost.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Measures a message of 64 bytes there and back, between two threads.
pub(crate) fn measure(allowance: &Allowance) -> Measured {
    figure(allowance, |allowance| {
        let meter = Meter::start();
        let seconds = round_trips(allowance).map_err(|error| {
            format!("no connection inside the machine ({error}): see the loopback interface")
        })?;
        Ok(meter.latency(MeasurementMethod::Direct, &seconds))
    })
}

/// Returns the seconds of round trips between this thread and one that sends everything back.
fn round_trips(allowance: &Allowance) -> io::Result<Vec<f64>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect_timeout(&listener.local_addr()?, TIMEOUT)?;
    let (mut far, _) = listener.accept()?;
    for stream in [&near, &far] {
        // Else the system holds small messages back to join them.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
    }
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, move || {
            let mut message = [0; MESSAGE];
            // Ends when the other side closes, or is silent for too long.
            while far.read_exact(&mut message).is_ok() && far.write_all(&message).is_ok() {}
        })?;
        let mut message = [7; MESSAGE];
        let result = latencies(allowance, MAX_SAMPLES, || {
            near.write_all(&message)?;
            near.read_exact(&mut message)
        });
        // Closes the connection, which ends the other thread; the scope waits for it.
        drop(near);
        result
    })
}
