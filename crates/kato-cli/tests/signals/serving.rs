//! A server that is stopped while clients teach it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use kato_test_needs::ends_within;

use crate::interrupted::{LONGEST, n_moments};
use crate::place::Place;
use crate::program::kato;
use crate::random::Random;
use crate::report::stderr;
use crate::server::Server;

/// Stops a server by either signal, and expects it to obey.
fn stop(server: &mut Server, random: &mut Random) {
    let name = random.pick(&["INT", "TERM"]);
    let sent = Instant::now();
    server.signal(name);
    let code = server.wait();
    let took = sent.elapsed();
    assert!(took <= LONGEST, "{took:.1?} after {name}");
    assert_eq!(code, Some(0), "after {name}");
}

#[test]
fn a_training_whose_server_is_stopped_at_any_moment_teaches_everything_once() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "here"]);
    let mut random = Random::from_seed(39);
    let address = crate::serving::free_address();
    let serve = || {
        Server::start(
            &place.path(""),
            &["--data", "data", "--addr", address.as_str()],
        )
    };
    for number in 0..n_moments() {
        let mut server = serve();
        let run = format!("r{number}");
        let backend = format!("kato:http://{address}");
        let arguments = [
            "--backend",
            &backend,
            "--run",
            &run,
            "--quiet",
            "--batch",
            "1",
        ];
        let mut trainer = place.train("corpus.jsonl", &arguments).spawn().unwrap();
        ends_within(&mut trainer, random.delay(Duration::from_secs(1)));
        stop(&mut server, &mut random);
        let mut server = serve();
        let output = trainer.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stop(&mut server, &mut random);
        for node in ["node0", "node1"] {
            let there = format!("data/nodes/{run}_{node}_kato");
            assert!(
                export(&place.path(""), &there) == export(&place.path(""), &format!("here#{node}")),
                "{node}"
            );
        }
    }
}

/// The patterns of a knowledge base of one node, or of one node of it: `kb#node`.
fn export(dir: &Path, kb: &str) -> String {
    let (kb, node) = kb.split_once('#').unwrap_or((kb, ""));
    let mut command = kato("inspect");
    command.args(["--kb", kb, "--export", "-"]).current_dir(dir);
    if !node.is_empty() {
        command.args(["--node", node]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// An address that is free at this moment.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn clients_that_never_finish_do_not_hold_a_server_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), &["--data", "data", "--addr", "127.0.0.1:0"]);
    // A request whose body never comes.
    let mut unfinished = TcpStream::connect(server.addr()).unwrap();
    let head = "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n";
    unfinished.write_all(head.as_bytes()).unwrap();
    let mut asked = [0; 12];
    unfinished.read_exact(&mut asked).unwrap();
    // A client of the event stream that reads nothing.
    let mut events = TcpStream::connect(server.addr()).unwrap();
    let upgrade = "GET /ws/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    events.write_all(upgrade.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(events.try_clone().unwrap())
        .read_line(&mut line)
        .unwrap();
    stop(&mut server, &mut Random::from_seed(3));
}
