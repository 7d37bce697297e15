//! What the miniature holds, and what requests do to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kato_client::protocol::extension::BatchItem;
use kato_client::protocol::{Observation, Sequence};
use kato_model::PatternName;
use serde_json::{Map, Value, json};

/// Which server it plays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Stock,
    October2025,
    KatoRs,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) events: Vec<Vec<String>>,
    pub(crate) frequency: u64,
    pub(crate) emotives: Vec<BTreeMap<String, f64>>,
    pub(crate) metadata: BTreeMap<String, BTreeSet<String>>,
}

pub(crate) type Node = BTreeMap<String, Pattern>;

#[derive(Debug, Clone, Default)]
struct Gathered {
    emotives: Vec<BTreeMap<String, f64>>,
    metadata: Vec<Map<String, Value>>,
    time: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MiniSession {
    node: String,
    stm: Vec<Vec<String>>,
    gathered: Gathered,
    config: Map<String, Value>,
}

#[derive(Debug, Default)]
pub(crate) struct World {
    kind: Kind,
    pub(crate) sessions: HashMap<String, MiniSession>,
    pub(crate) nodes: HashMap<String, Node>,
    /// Of the 2025-10 generation: what its processors share.
    shared: HashMap<String, Gathered>,
    answered: HashMap<String, (u16, Value)>,
    made: u64,
}

pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: Vec<&'a str>,
    pub(crate) node: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) body: &'a Value,
}

impl World {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// The session as it is before a request that takes its time; `None` for a server on which a
    /// session has one request at a time, and the others wait.
    pub(crate) fn put_off(&self, id: &str) -> Option<(String, MiniSession)> {
        let (id, session) = self.sessions.get_key_value(id)?;
        (self.kind != Kind::KatoRs).then(|| (id.clone(), session.clone()))
    }

    /// Saves a session, even one that is gone; what was there.
    pub(crate) fn put(&mut self, id: String, session: MiniSession) -> Option<MiniSession> {
        self.sessions.insert(id, session)
    }

    /// Somebody else learns a pattern.
    pub(crate) fn teach(&mut self, node: &str, events: &[Vec<String>]) {
        self.store(node, events, &Gathered::default());
    }

    /// Status, body, and whether it is an old answer.
    pub(crate) fn act(&mut self, asked: &Asked<'_>) -> (u16, Value, bool) {
        let key = asked.key.filter(|_| self.kind == Kind::KatoRs);
        if let Some((status, body)) = key.and_then(|key| self.answered.get(key)) {
            return (*status, body.clone(), true);
        }
        let (status, body) = self.answer(asked);
        if let Some(key) = key
            && status == 200
        {
            self.answered.insert(key.to_owned(), (status, body.clone()));
        }
        (status, body, false)
    }

    fn answer(&mut self, asked: &Asked<'_>) -> (u16, Value) {
        match (asked.method, asked.path.as_slice()) {
            ("GET", [""]) => {
                let version = match self.kind {
                    Kind::October2025 => "1.0.0",
                    Kind::Stock | Kind::KatoRs => "3.10.1",
                };
                (200, json!({"service": "KATO API", "version": version}))
            }
            ("GET", ["extensions"]) if self.kind == Kind::KatoRs => (
                200,
                json!({"server": "mini", "version": "0", "idempotency_keys": true,
                       "learn_batch": {"max_sequences": 10, "max_bytes": 100_000}}),
            ),
            ("POST", ["sessions"]) => self.create(asked.body),
            ("GET", ["pattern", name]) => self.pattern(asked.node, name),
            (method, ["sessions", id, tail @ ..]) => {
                if !self.sessions.contains_key(*id) {
                    let message = format!("Session {id} not found or expired");
                    let error =
                        json!({"code": "SESSION_NOT_FOUND", "message": message, "session_id": id});
                    return (404, json!({ "error": error }));
                }
                self.in_session(method, id, tail, asked.body)
            }
            _ => (404, json!({"detail": "Not Found"})),
        }
    }

    fn create(&mut self, body: &Value) -> (u16, Value) {
        self.made += 1;
        let id = format!("session-{:032x}-{}", self.made, self.made);
        let node = body["node_id"].as_str().unwrap_or_default().to_owned();
        let mut config = Map::from_iter([
            ("max_pattern_length".to_owned(), json!(0)),
            ("stm_mode".to_owned(), json!("CLEAR")),
        ]);
        if let Some(wanted) = body["config"].as_object() {
            config.extend(wanted.clone());
        }
        let shown = match self.kind {
            Kind::October2025 => body["config"].clone(),
            Kind::Stock | Kind::KatoRs => Value::Object(config.clone()),
        };
        let session = MiniSession {
            node: node.clone(),
            config,
            ..MiniSession::default()
        };
        self.sessions.insert(id.clone(), session);
        let mut answer = json!({"session_id": id, "node_id": node, "created_at": "t", "expires_at": "t", "ttl_seconds": 3600});
        if shown.is_object() {
            answer["session_config"] = shown;
        }
        (200, answer)
    }

    fn pattern(&self, node: &str, name: &str) -> (u16, Value) {
        let pattern = match self.nodes.get(node).and_then(|node| node.get(name)) {
            Some(found) => {
                let pattern = json!({"name": format!("PTRN|{name}"), "pattern_data": found.events,
                    "length": 0, "frequency": found.frequency, "emotives": found.emotives, "metadata": {}});
                json!({"status": "okay", "pattern": pattern})
            }
            None => json!({"status": "error", "message": "not found"}),
        };
        (
            200,
            json!({"pattern": pattern, "node_id": format!("{node}_kato")}),
        )
    }

    fn in_session(&mut self, method: &str, id: &str, tail: &[&str], body: &Value) -> (u16, Value) {
        let okay = json!({"status": "okay", "message": "", "session_id": id});
        match (method, tail) {
            ("DELETE", []) => {
                self.sessions.remove(id);
                (200, json!({"status": "deleted", "session_id": id}))
            }
            ("POST", ["config"]) => {
                let changes = body["config"].as_object().cloned().unwrap_or_default();
                self.sessions.get_mut(id).unwrap().config.extend(changes);
                (200, okay)
            }
            ("GET", ["config"]) if self.kind != Kind::October2025 => {
                let config = &self.sessions[id].config;
                (200, json!({"session_id": id, "config": config}))
            }
            ("POST", ["extend"]) => (
                200,
                json!({"status": "extended", "session_id": id, "ttl_seconds": 1}),
            ),
            ("POST", ["observe"]) => {
                let observation: Observation = serde_json::from_value(body.clone()).unwrap();
                let (stm_length, time, learned) = self.observe(id, &observation);
                let learned = learned.filter(|name| !name.is_empty());
                (
                    200,
                    json!({"status": "okay", "session_id": id, "processor_id": "n", "stm_length": stm_length,
                             "time": time, "unique_id": "obs-1", "auto_learned_pattern": learned}),
                )
            }
            ("POST", ["observe-sequence"]) => {
                self.sequence(id, &serde_json::from_value(body.clone()).unwrap())
            }
            ("POST", ["learn"]) if self.sessions[id].stm.is_empty() => {
                (400, json!({"detail": "Cannot learn from empty STM"}))
            }
            ("POST", ["learn"]) => {
                let name = self.learn(id, true);
                self.sessions.get_mut(id).unwrap().stm.clear();
                (
                    200,
                    json!({"status": "learned", "pattern_name": name, "session_id": id, "message": ""}),
                )
            }
            ("POST", ["clear-stm"]) => {
                let session = self.sessions.get_mut(id).unwrap();
                session.stm.clear();
                session.gathered = Gathered::default();
                let node = session.node.clone();
                if let Some(shared) = self.shared.get_mut(&node) {
                    shared.emotives.clear();
                    shared.metadata.clear();
                }
                (200, json!({"status": "cleared", "session_id": id}))
            }
            ("POST", ["clear-all"]) => {
                let session = self.sessions.get_mut(id).unwrap();
                session.stm.clear();
                session.gathered = Gathered::default();
                self.nodes.remove(&session.node);
                (
                    200,
                    json!({"status": "cleared", "session_id": id, "scope": "all"}),
                )
            }
            ("POST", ["learn-batch"]) if self.kind == Kind::KatoRs => self.batch(id, body),
            ("GET", ["stm"]) => {
                let stm = &self.sessions[id].stm;
                (
                    200,
                    json!({"stm": stm, "session_id": id, "length": stm.len()}),
                )
            }
            ("GET", ["cognition-data"]) if self.kind != Kind::October2025 => {
                let session = &self.sessions[id];
                let data = json!({"short_term_memory": session.stm, "time": session.gathered.time});
                (
                    200,
                    json!({"cognition_data": data, "session_id": id, "node_id": session.node}),
                )
            }
            _ => (404, json!({"detail": "Not Found"})),
        }
    }

    fn gathered(&mut self, id: &str) -> &mut Gathered {
        let session = self.sessions.get_mut(id).unwrap();
        match self.kind {
            Kind::October2025 => self.shared.entry(session.node.clone()).or_default(),
            Kind::Stock | Kind::KatoRs => &mut session.gathered,
        }
    }

    fn observe(&mut self, id: &str, observation: &Observation) -> (usize, u64, Option<String>) {
        let gathered = self.gathered(id);
        gathered.time += 1;
        let time = gathered.time;
        if !observation.emotives.is_empty() {
            gathered.emotives.push(observation.emotives.clone());
        }
        if !observation.metadata.is_empty() {
            gathered.metadata.push(observation.metadata.clone());
        }
        let session = self.sessions.get_mut(id).unwrap();
        let mut event = observation.strings.clone();
        event.sort();
        if !event.is_empty() {
            session.stm.push(event);
        }
        let limit = session.config["max_pattern_length"].as_u64().unwrap_or(0) as usize;
        let rolling = session.config["stm_mode"] == "ROLLING";
        let mut learned = None;
        if limit > 0 && session.stm.len() >= limit && !observation.strings.is_empty() {
            let name = self.learn(id, self.kind == Kind::October2025);
            let stm = &mut self.sessions.get_mut(id).unwrap().stm;
            let kept = if rolling { limit - 1 } else { 0 };
            stm.drain(..stm.len() - kept);
            learned = Some(name);
        }
        (self.sessions[id].stm.len(), time, learned)
    }

    fn sequence(&mut self, id: &str, sequence: &Sequence) -> (u16, Value) {
        let initial = self.sessions[id].stm.len();
        let mut results = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for (idx, item) in sequence.observations.iter().enumerate() {
            if sequence.clear_stm_between && idx > 0 {
                self.sessions.get_mut(id).unwrap().stm.clear();
            }
            let (mut length, time, learned) = self.observe(id, &item.observation);
            if sequence.learn_after_each && length > 0 {
                names.push(self.learn(id, true));
                self.sessions.get_mut(id).unwrap().stm.clear();
                length = 0;
            }
            names.extend(learned.clone());
            let learned = learned.filter(|name| !name.is_empty());
            results.push(json!({"status": "okay", "sequence_position": idx, "stm_length": length, "time": time,
                                "unique_id": null, "auto_learned_pattern": learned}));
        }
        let mut last = None;
        if sequence.learn_at_end && !self.sessions[id].stm.is_empty() {
            let name = self.learn(id, true);
            self.sessions.get_mut(id).unwrap().stm.clear();
            names.push(name.clone());
            last = Some(name);
        }
        let answer = json!({"status": "completed", "processor_id": "n", "observations_processed": results.len(),
            "initial_stm_length": initial, "final_stm_length": self.sessions[id].stm.len(), "results": results,
            "auto_learned_patterns": names, "final_learned_pattern": last, "isolated": false});
        (200, answer)
    }

    fn batch(&mut self, id: &str, body: &Value) -> (u16, Value) {
        let items: Vec<BatchItem> = serde_json::from_value(body["sequences"].clone()).unwrap();
        let node = self.sessions[id].node.clone();
        let results: Vec<_> = items
            .iter()
            .map(|item| {
                let mut gathered = Gathered::default();
                if !item.emotives.is_empty() {
                    gathered.emotives.push(item.emotives.clone());
                }
                gathered.metadata.push(item.metadata.clone());
                let name = self.store(&node, &item.events, &gathered);
                json!({"pattern_name": name, "new": false})
            })
            .collect();
        (
            200,
            json!({"status": "learned", "session_id": id, "node_id": node, "results": results}),
        )
    }

    fn learn(&mut self, id: &str, with_attributes: bool) -> String {
        let (node, events) = (
            self.sessions[id].node.clone(),
            self.sessions[id].stm.clone(),
        );
        let mut gathered = self.gathered(id).clone();
        if !with_attributes {
            gathered = Gathered::default();
        }
        if self.kind == Kind::October2025 {
            let shared = self.gathered(id);
            shared.emotives.clear();
            shared.metadata.clear();
        }
        self.store(&node, &events, &gathered)
    }

    fn store(&mut self, node: &str, events: &[Vec<String>], gathered: &Gathered) -> String {
        if events.iter().map(Vec::len).sum::<usize>() < 2 {
            return String::new();
        }
        let name = PatternName::of_events(events);
        let node = self.nodes.entry(node.to_owned()).or_default();
        let pattern = node.entry(name.to_string()).or_default();
        pattern.events = events.to_vec();
        pattern.frequency += 1;
        pattern.emotives.extend(gathered.emotives.clone());
        let excess = pattern.emotives.len().saturating_sub(5);
        pattern.emotives.drain(..excess);
        for (key, value) in gathered.metadata.iter().flatten() {
            let values = pattern.metadata.entry(key.clone()).or_default();
            values.insert(value.to_string());
        }
        name.prefixed().to_string()
    }
}
