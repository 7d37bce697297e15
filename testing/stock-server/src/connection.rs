//! Connections: a thread each, which carries out every request that came whole, whether or not the client is still there.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::answer::Answer;
use crate::request::Request;
use crate::service;
use crate::world::World;

/// How long the rest of a request may take once it has begun.
const REST: Duration = Duration::from_secs(120);

/// Accepts until the process ends.
pub(crate) fn serve(world: &Arc<World>, listener: &TcpListener) {
    for connection in listener.incoming() {
        let Ok(connection) = connection else { continue };
        let world = Arc::clone(world);
        // A connection without a thread is one that breaks: clients must be ready for it.
        let _ = thread::Builder::new().spawn(move || converse(&world, &connection));
    }
}

fn converse(world: &World, connection: &TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection);
    let mut to = connection;
    let idle = Duration::from_secs(world.options.keep_alive).max(Duration::from_millis(1));
    loop {
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
        request.number = world.log.received(&request);
        let mut answer = service::answer(world, &request);
        world.log.done(request.number, answer.status);
        answer.closes |= request.says("connection", "close");
        let closes = answer.closes;
        write(world, answer, to)?;
        if closes {
            return Ok(());
        }
        connection.set_read_timeout(Some(idle))?;
    }
}

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

/// Blanks, which JSON may begin with, for as long as anybody takes them.
fn write_endlessly(head: &str, mut to: &TcpStream) -> io::Result<()> {
    const BLANKS: usize = 16 << 10;
    to.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())?;
    let chunk = format!("{BLANKS:x}\r\n{}\r\n", " ".repeat(BLANKS));
    loop {
        to.write_all(chunk.as_bytes())?;
        // Leaves the processor to others.
        thread::sleep(Duration::from_millis(1));
    }
}

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
