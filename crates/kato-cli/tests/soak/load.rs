//! What clients ask for: sessions of a thousand nodes that observe, learn, look and predict, and
//! predictions of long patterns.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::figures::Figures;

const NODES: usize = 1000;
/// Sessions of one client at a time.
const SESSIONS: usize = 10;
/// Requests of one session before the next one of another node takes its place.
const REQUESTS: usize = 12;

/// Different patterns of a kind that are taught to a node: after some minutes all are known, and
/// what is learned is counted. A load that taught new ones for ever would make any server grow.
const TAUGHT: usize = 41;

/// One session in so many is left behind and ends by itself, the others are ended by their clients.
const LEFT_BEHIND: u64 = 10;

/// Predictions that are asked for by one session: it ends when nothing was written to it for ten
/// minutes.
const ASKED_BY_ONE: usize = 100;

/// The node with long patterns.
const LONG: &str = "long";
const LONG_PATTERNS: usize = 6;
const LONG_SYMBOLS: usize = 20_000;

/// A client's pause between two requests, as somebody has who thinks: not the load is under test,
/// but what it leaves behind.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Load {
    addr: SocketAddr,
    next_node: AtomicU64,
}

/// A session of a client, and how often it was used.
struct Session {
    id: String,
    /// How many were made before.
    number: u64,
    n: usize,
}

impl Load {
    pub(crate) const fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            next_node: AtomicU64::new(0),
        }
    }

    /// Teaches the long patterns, which have most of their symbols in common in another order.
    pub(crate) fn teach_long_patterns(&self) {
        let mut client = Client::new(self.addr);
        let id = make_session(&mut client, LONG, &mut Figures::default());
        for pattern in 0..LONG_PATTERNS {
            let event = |place: usize| json!([format!("w{}", (place * (pattern * 2 + 1)) % 5000)]);
            let events: Vec<Value> = (0..LONG_SYMBOLS).map(event).collect();
            let body = json!({"sequences": [{"events": events}]});
            let reply = client.send(&format!("POST /sessions/{id}/learn-batch"), None, &body);
            assert_eq!(reply.status, 200, "{}", reply.body);
        }
    }

    /// Sends short requests until it is over.
    pub(crate) fn send_short(&self, idx: usize, n_clients: usize, is_over: &AtomicBool) -> Figures {
        let mut client = Client::new(self.addr);
        let mut figures = Figures::default();
        let mut sessions: Vec<Session> = (0..SESSIONS)
            .map(|_| self.session(&mut client, &mut figures))
            .collect();
        let mut round = idx;
        while !is_over.load(Ordering::Relaxed) {
            round += n_clients;
            let place = round / n_clients % SESSIONS;
            use_session(&mut client, &mut sessions[place], round, &mut figures);
            if sessions[place].n == REQUESTS {
                let used = std::mem::replace(
                    &mut sessions[place],
                    self.session(&mut client, &mut figures),
                );
                if !used.number.is_multiple_of(LEFT_BEHIND) {
                    let line = format!("DELETE /sessions/{}", used.id);
                    figures.count(&client.send(&line, None, &Value::Null));
                }
            }
            std::thread::sleep(PAUSE);
        }
        figures
    }

    fn session(&self, client: &mut Client, figures: &mut Figures) -> Session {
        let number = self.next_node.fetch_add(1, Ordering::Relaxed);
        let node = number as usize % NODES;
        Session {
            id: make_session(client, &format!("node{node}"), figures),
            number,
            n: 0,
        }
    }

    /// Learn calls that all nodes together know of, but for those of long patterns.
    pub(crate) fn count_learned(&self) -> u64 {
        let mut client = Client::new(self.addr);
        let nodes = (self.next_node.load(Ordering::Relaxed) as usize).min(NODES);
        let learned_by = |node: usize| -> u64 {
            let line = format!("GET /symbols/stats?node_id=node{node}");
            let reply = client.send(&line, None, &Value::Null);
            assert_eq!(reply.status, 200, "{}", reply.body);
            learned(&reply.body)
        };
        (0..nodes).map(learned_by).sum()
    }
}

fn use_session(client: &mut Client, session: &mut Session, round: usize, figures: &mut Figures) {
    let path = format!("/sessions/{}", session.id);
    let word = |place: usize| format!("word{}", (round % TAUGHT * 31 + place * 7) % 5000);
    let key = format!("key-{round}-{}", session.n);
    let (line, key, body) = match session.n % 6 {
        0..=2 => (
            format!("POST {path}/observe"),
            None,
            json!({"strings": [word(session.n)], "emotives": {"joy": 0.5}}),
        ),
        3 => (format!("POST {path}/learn"), Some(key), Value::Null),
        4 => {
            let sequence = |n: usize| json!({"events": [[word(n)], [word(n + 1)], [word(n + 2)]]});
            let sequences: Vec<Value> = (0..5).map(sequence).collect();
            (
                format!("POST {path}/learn-batch"),
                Some(key),
                json!({"sequences": sequences}),
            )
        }
        _ => (format!("GET {path}/stm"), None, Value::Null),
    };
    let began = Instant::now();
    let reply = client.send(&line, key.as_deref(), &body);
    figures.count_short(&reply, began.elapsed(), session.n == 0);
    if reply.status == 200 {
        session.n += 1;
        figures.count_learned(match line.rsplit('/').next() {
            Some("learn") => 1,
            Some("learn-batch") => 5,
            _ => 0,
        });
    }
}

/// Learn calls in the symbol statistics of a node: every pattern has three symbols, counted by
/// occurrence and learn call.
fn learned(statistics: &Value) -> u64 {
    fn sum(value: &Value, total: &mut u64) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value.as_u64()) {
                        ("frequency", Some(n)) => *total += n,
                        _ => sum(value, total),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| sum(item, total)),
            _ => {}
        }
    }
    let mut total = 0;
    sum(statistics, &mut total);
    total / 3
}

fn make_session(client: &mut Client, node: &str, figures: &mut Figures) -> String {
    loop {
        let reply = client.send("POST /sessions", None, &json!({"node_id": node}));
        figures.count(&reply);
        if let Some(id) = reply.body["session_id"].as_str() {
            return id.to_owned();
        }
        assert_eq!(reply.status, 503, "{}", reply.body);
        std::thread::sleep(PAUSE);
    }
}

/// Asks for predictions of long patterns, and does not wait for every one.
pub(crate) struct Asker<'a> {
    load: &'a Load,
    client: Client,
    idx: usize,
}

impl<'a> Asker<'a> {
    pub(crate) const fn new(load: &'a Load, idx: usize) -> Self {
        Self {
            load,
            client: Client::new(load.addr),
            idx,
        }
    }

    pub(crate) fn ask(mut self, is_over: &AtomicBool) -> Figures {
        let mut figures = Figures::default();
        while !is_over.load(Ordering::Relaxed) {
            let id = self.long_session(&mut figures);
            let line = format!("GET /sessions/{id}/predictions");
            for _ in 0..ASKED_BY_ONE {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                Client::new(self.load.addr).abandon(&line, Duration::from_millis(100));
                let reply = self.client.send(&line, None, &Value::Null);
                figures.count(&reply);
            }
        }
        figures
    }

    /// Makes a session of the node with long patterns that resembles all of them a little.
    fn long_session(&mut self, figures: &mut Figures) -> String {
        let id = make_session(&mut self.client, LONG, figures);
        let config = json!({"config": {"recall_threshold": 1e-6, "max_predictions": 3}});
        let set = self
            .client
            .send(&format!("POST /sessions/{id}/config"), None, &config);
        figures.count(&set);
        let words: Vec<Value> = (0..400)
            .map(|place| json!({"strings": [format!("w{}", (place * (self.idx + 3)) % 5000)]}))
            .collect();
        let line = format!("POST /sessions/{id}/observe-sequence");
        let observed = self
            .client
            .send(&line, None, &json!({"observations": words}));
        figures.count(&observed);
        id
    }
}
