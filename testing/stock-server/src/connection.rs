//! Connections, on a thread each, which carries out every request that arrives whole, whether or
//! not the client is still there.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::answer::Answer;
use crate::request::Request;
use crate::service;
use crate::world::World;

/// Time that the rest of a request may take once it has begun.
const REST: Duration = Duration::from_secs(120);

/// Accepts connections until the process ends.
pub(crate) fn serve(world: &Arc<World>, listener: &TcpListener) {
    for (number, connection) in listener.incoming().enumerate() {
        let Ok(connection) = connection else { continue };
        let world = Arc::clone(world);
        let process = world.process_of(number);
        let connected = world.clients.enter();
        // Without a thread the connection breaks, which clients have to cope with anyway.
        let _ = thread::Builder::new().spawn(move || {
            let _connected = connected;
            converse(&world, &connection, process)
        });
    }
}

/// Answers the requests of one connection, in one of the server's processes.
fn converse(world: &World, connection: &TcpStream, process: usize) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection);
    let mut to = connection;
    let idle = Duration::from_secs(world.options.keep_alive).max(Duration::from_millis(1));
    loop {
        // Waits for the first byte of a request, without a limit at first and then as long as
        // keep-alive allows. A wait that is over closes the connection like any other error.
        if from.fill_buf()?.is_empty() {
            return Ok(());
        }
        connection.set_read_timeout(Some(REST))?;
        let mut request = match Request::read(&mut from, &mut to) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let mut refusal = Answer::detail(400, "Invalid HTTP request received.");
                refusal.closes = true;
                return write(world, refusal, to);
            }
            Err(error) => return Err(error),
        };
        if world.ignores() {
            return Ok(());
        }
        request.process = process;
        request.number = world.log.received(&request);
        // The connection is not looked at while the request runs: a client that has gone away stops
        // nothing.
        let mut answer = service::answer(world, &request);
        world.log.done(request.number, answer.status);
        answer.closes |= request.says("connection", "close");
        if answer.is_missing {
            return Ok(());
        }
        let closes = answer.closes;
        write(world, answer, to)?;
        if closes {
            return Ok(());
        }
        connection.set_read_timeout(Some(idle))?;
    }
}

/// Writes an answer.
fn write(world: &World, answer: Answer, mut to: &TcpStream) -> io::Result<()> {
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\nserver: uvicorn\r\ncontent-type: {}\r\n",
        answer.status,
        reason(answer.status),
        answer.content_type
    );
    if answer.endless {
        return write_endlessly(&bytes, to);
    }
    bytes.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    for (name, value) in &answer.headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    if answer.closes {
        bytes.push_str("connection: close\r\n");
    }
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend(answer.body);
    if world.options.dribble {
        for byte in bytes {
            to.write_all(&[byte])?;
            thread::sleep(Duration::from_secs(1));
        }
        return Ok(());
    }
    to.write_all(&bytes)
}

/// Writes blanks, which JSON may begin with, for as long as the client takes them.
fn write_endlessly(head: &str, mut to: &TcpStream) -> io::Result<()> {
    const BLANKS: usize = 16 << 10;
    to.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())?;
    let chunk = format!("{BLANKS:x}\r\n{}\r\n", " ".repeat(BLANKS));
    loop {
        to.write_all(chunk.as_bytes())?;
        // Leaves the processor to the tests that run beside it.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the reason phrase of a status.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        422 => "Unprocessable Entity",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
