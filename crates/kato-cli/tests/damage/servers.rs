//! The data of a server, damaged before it starts or while it runs, and then every route asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::files::segments_below;
use crate::harm::damage_one;
use crate::http::{Reply, request};
use crate::place::Place;
use crate::random::Random;
use crate::server::Server;
use crate::trials::{self, Outcome};

const NODES: [&str; 3] = ["one", "two", "three"];

/// A place with the data of a server, and what it answers.
struct Served {
    place: Place,
    answers: BTreeMap<(String, String), Value>,
}

static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let place = Place::new(0);
    // Several times, so that a part is folded, a part is indexed, and a part lies in the journal.
    for round in 0..3 {
        let mut server = Server::start(place.path(), &arguments());
        for node in NODES {
            let taught = learn_batch(server.addr(), node, round * 200..(round + 1) * 200);
            assert_eq!(taught.status, 200, "{}", taught.body);
        }
        match round {
            2 => server.kill(),
            _ => assert_eq!(server.terminate(), Some(0)),
        }
    }
    let asked = Place::copy_of(&place);
    let server = Server::start(asked.path(), &arguments());
    let answers = NODES.iter().flat_map(|node| {
        let addr = server.addr();
        questions(addr, node)
            .into_iter()
            .map(move |(question, reply)| {
                assert_eq!(reply.status, 200, "{question}: {}", reply.body);
                ((node.to_string(), question), reply.body)
            })
    });
    let answers = answers.collect();
    Served { place, answers }
});

fn arguments() -> [&'static str; 6] {
    [
        "--data",
        "data",
        "--addr",
        "127.0.0.1:0",
        "--index-after",
        "100",
    ]
}

/// Symbols that a node learns, a function of a number.
fn sequence(number: u64) -> Value {
    let symbol = |at: u64| vec![format!("s{}", (number * 7 + at * at * 3) % 53)];
    let events: Vec<Vec<String>> = (0..5).map(symbol).collect();
    let emotives = json!({"joy": (number % 5) as f64});
    match number % 40 {
        0 => json!({"events": events, "emotives": emotives}),
        _ => json!({"events": events}),
    }
}

fn session(addr: SocketAddr, node: &str) -> Result<String, Reply> {
    let reply = request(addr, "POST /sessions", &[], Some(&json!({"node_id": node})));
    match reply.body["session_id"].as_str() {
        Some(id) if reply.status == 200 => Ok(id.to_owned()),
        _ => Err(reply),
    }
}

fn learn_batch(addr: SocketAddr, node: &str, numbers: std::ops::Range<u64>) -> Reply {
    let sequences: Vec<Value> = numbers.map(sequence).collect();
    match session(addr, node) {
        Ok(id) => request(
            addr,
            &format!("POST /sessions/{id}/learn-batch"),
            &[],
            Some(&json!({"sequences": sequences})),
        ),
        Err(reply) => reply,
    }
}

/// Asks a node everything that is asked without changing it.
fn questions(addr: SocketAddr, node: &str) -> Vec<(String, Reply)> {
    let header = format!("x-node-id: {node}");
    let mut replies = Vec::new();
    // Its pattern of number 7, from its content.
    let name = {
        let events = serde_json::from_value::<Vec<Vec<String>>>(sequence(7)["events"].clone());
        let events = events.unwrap().into_iter().map(kato_model::Event::new);
        kato_model::Pattern::new(events.collect())
            .name()
            .prefixed()
            .to_string()
    };
    for path in [
        "/symbols/stats".to_owned(),
        "/symbols/affinity".to_owned(),
        "/symbols/s3/affinity".to_owned(),
        format!("/pattern/{}", name.replace('|', "%7C")),
    ] {
        let reply = request(addr, &format!("GET {path}"), &[&header], None);
        replies.push((path, reply));
    }
    match session(addr, node) {
        Err(reply) => replies.push(("session".to_owned(), reply)),
        Ok(id) => {
            let observed = sequence(7)["events"][0].clone();
            let observation = json!({"strings": observed, "vectors": [], "emotives": {}});
            let line = format!("POST /sessions/{id}/observe");
            let reply = request(addr, &line, &[], Some(&observation));
            if reply.status == 200 {
                for path in ["predictions", "next?top=5"] {
                    let line = format!("GET /sessions/{id}/{path}");
                    let mut reply = request(addr, &line, &[], None);
                    if let Some(fields) = reply.body.as_object_mut() {
                        fields.remove("session_id");
                        fields.remove("time");
                    }
                    replies.push((path.to_owned(), reply));
                }
            } else {
                replies.push(("observe".to_owned(), reply));
            }
        }
    }
    replies
}

/// Asks all nodes, compares, and reports.
fn compare(addr: SocketAddr, damaged: Option<&str>, when: &str, outcome: &mut Outcome) {
    for node in NODES {
        let may_refuse = damaged.is_none_or(|damaged| damaged == node);
        for (question, reply) in questions(addr, node) {
            let key = (node.to_owned(), question.clone());
            match reply.status {
                200 if SERVED.answers.get(&key) == Some(&reply.body) => outcome.saw("answered"),
                500..=599 if may_refuse && !reply.body.is_null() => outcome.saw("refused"),
                status => {
                    let text: String = reply.body.to_string().chars().take(300).collect();
                    outcome.is_wrong(format!("{when}: {node} {question}: {status} {text}"));
                }
            }
        }
    }
}

/// The node whose file was damaged, if it is the file of one.
fn node_of<'a>(data: &Path, path: &'a Path) -> Option<&'a str> {
    let mut parts = path.strip_prefix(data).unwrap().iter();
    match parts.next()?.to_str()? {
        "nodes" => {
            let folder = parts.next()?.to_str()?;
            NODES
                .into_iter()
                .find(|node| folder.starts_with(&format!("{node}_")) || folder == *node)
        }
        _ => None,
    }
}

fn counts(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| !name.to_string_lossy().to_uppercase().contains("LOCK"))
}

#[test]
fn a_server_over_damaged_files_answers_right_or_refuses() {
    trials::run("served", 4, |random: &mut Random| {
        let place = Place::copy_of(&SERVED.place);
        let data = place.file("data");
        let segments = segments_below(&data);
        let (path, harm) = damage_one(&data, random, counts);
        let damaged = node_of(&data, &path);
        let mut outcome = Outcome::new(format!("cold, {harm}"));
        let whole: Vec<Vec<u8>> = segments_below(&data)
            .intersection(&segments)
            .cloned()
            .collect();
        match Server::start_as(Server::command(place.path(), &arguments())) {
            Err(reason) => match damaged {
                None => {
                    outcome.saw("did not start");
                    if !reason.contains("error: ") || reason.contains("panicked") {
                        outcome.is_wrong(reason);
                    }
                }
                Some(_) => outcome.is_wrong(format!("one node ends all: {reason}")),
            },
            Ok(mut server) => {
                compare(server.addr(), damaged, "cold", &mut outcome);
                learns(server.addr(), damaged, &mut outcome);
                if server.terminate() != Some(0) {
                    outcome.saw("ended with an error");
                }
            }
        }
        let after = segments_below(place.path());
        if damaged.is_some() && !whole.iter().all(|segment| after.contains(segment)) {
            // Folding merges segments of nodes that are well.
            outcome.saw("segments were merged");
        }
        outcome
    });
}

#[test]
fn a_server_whose_files_are_damaged_at_work_answers_right_or_refuses() {
    trials::run("at work", 4, |random: &mut Random| {
        let place = Place::copy_of(&SERVED.place);
        let data = place.file("data");
        let mut server = Server::start(place.path(), &arguments());
        let mut outcome = Outcome::new(String::new());
        // Half of them with everything opened and asked before.
        if random.below(2) == 0 {
            compare(server.addr(), Some(""), "before", &mut outcome);
        }
        let (path, harm) = damage_one(&data, random, counts);
        let damaged = node_of(&data, &path);
        outcome.does(format!("at work, {harm}"));
        for _ in 0..2 {
            compare(server.addr(), damaged, "at work", &mut outcome);
        }
        learns(server.addr(), damaged, &mut outcome);
        if server.terminate() != Some(0) {
            outcome.saw("ended with an error");
        }
        outcome
    });
}

/// Teaches every node once more: those that are well must learn.
fn learns(addr: SocketAddr, damaged: Option<&str>, outcome: &mut Outcome) {
    // The damaged node first, so that what it breaks is seen by the others.
    let mut nodes = NODES;
    nodes.sort_by_key(|node| Some(*node) != damaged);
    for node in nodes {
        let reply = learn_batch(addr, node, 1000..1010);
        let may_refuse = damaged.is_none_or(|damaged| damaged == node);
        match reply.status {
            200 => outcome.saw("learned"),
            500..=599 if may_refuse => outcome.saw("refused to learn"),
            status => outcome.is_wrong(format!("{node} does not learn: {status} {}", reply.body)),
        }
    }
}
