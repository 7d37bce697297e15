//! Requests over one connection after another, each kept as long as the server keeps it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    addr: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) says_when: bool,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) const fn new(addr: SocketAddr) -> Self {
        Self { addr, stream: None }
    }

    /// Sends a request and reads its answer.
    pub(crate) fn send(&mut self, line: &str, key: Option<&str>, body: &Value) -> Reply {
        let stream = self.stream.take().unwrap_or_else(|| self.connect());
        let (reply, kept) = exchange(stream, &text(line, key, body));
        self.stream = kept;
        reply
    }

    /// Sends a request and goes away.
    pub(crate) fn abandon(&self, line: &str, after: Duration) {
        let mut stream = self.connect();
        let stream = stream.get_mut();
        stream
            .write_all(text(line, None, &Value::Null).as_bytes())
            .unwrap();
        std::thread::sleep(after);
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        BufReader::new(stream)
    }
}

fn text(line: &str, key: Option<&str>, body: &Value) -> String {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let key = key
        .map(|key| format!("Idempotency-Key: {key}\r\n"))
        .unwrap_or_default();
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{key}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn exchange(mut stream: BufReader<TcpStream>, text: &str) -> (Reply, Option<BufReader<TcpStream>>) {
    stream.get_mut().write_all(text.as_bytes()).unwrap();
    let mut status = String::new();
    stream.read_line(&mut status).unwrap();
    let (mut length, mut is_kept, mut says_when) = (0, true, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "connection" => is_kept = value != "close",
            "retry-after" => says_when = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let reply = Reply {
        status: status.split(' ').nth(1).unwrap().parse().unwrap(),
        says_when,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    (reply, is_kept.then_some(stream))
}
