//! A client that can be as rude as a dying process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use kato_stock_server::{StockOptions, StockServer};
use serde_json::{Value, json};

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn start(options: StockOptions) -> StockServer {
    StockServer::start_program(Path::new(env!("CARGO_BIN_EXE_stock_server")), options)
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn new(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn of(server: &StockServer) -> Self {
        Self::new(server.addr())
    }

    /// Head and body of a request, apart.
    pub(crate) fn bytes(method: &str, path: &str, body: Option<&Value>) -> (Vec<u8>, Vec<u8>) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        (head.into_bytes(), body.into_bytes())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Sends without waiting for the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: Option<&Value>) {
        let (mut head, body) = Self::bytes(method, path, body);
        head.extend(body);
        self.write(&head);
    }

    /// The next answer; none when the connection ends.
    pub(crate) fn read(&mut self) -> Option<Reply> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..].iter().filter_map(|line| line.split_once(": "));
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length.unwrap().1.parse().unwrap()];
        self.0.read_exact(&mut body).ok()?;
        let text = String::from_utf8(body).unwrap();
        Some(Reply {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    }

    pub(crate) fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.send(method, path, body);
        self.read().unwrap()
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.call("GET", path, None)
    }

    /// Posts, and expects that it works.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Value {
        let reply = self.call("POST", path, Some(body));
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    /// Makes a session; its path.
    pub(crate) fn session(&mut self, node: &str, config: &Value) -> String {
        let wanted = json!({"node_id": node, "config": config});
        let made = self.post("/sessions", &wanted);
        format!("/sessions/{}", made["session_id"].as_str().unwrap())
    }

    pub(crate) fn frequency(&mut self, node: &str, name: &str) -> Option<u64> {
        let reply = self.get(&format!("/pattern/{name}?node_id={node}"));
        assert_eq!(reply.status, 200);
        reply.body["pattern"]["pattern"]["frequency"].as_u64()
    }
}

/// Observations of one symbol each.
pub(crate) fn observations<S: AsRef<str>>(symbols: &[S]) -> Value {
    let observations = symbols
        .iter()
        .map(|symbol| json!({"strings": [symbol.as_ref()]}));
    observations.collect()
}

/// A sequence that learns so many chunks of two symbols, all different, in a session that learns
/// after two.
pub(crate) fn chunks(n: usize, label: &str) -> Value {
    let symbols: Vec<String> = (0..2 * n).map(|idx| format!("{label}{idx}")).collect();
    json!({ "observations": observations(&symbols) })
}

/// Settings of a session that learns after two events.
pub(crate) fn pairs() -> Value {
    json!({"max_pattern_length": 2})
}
