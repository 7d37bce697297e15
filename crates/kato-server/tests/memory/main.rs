//! What bodies really take, measured where nothing else runs: no more than they are charged.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic, and say what they measured"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use kato_server::Server;
use kato_service::{Service, ServiceOptions};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Memory for requests, and what of it one of them may have.
const BUDGET: usize = 64 << 20;
const ONE: usize = BUDGET - BUDGET / 8;

/// What a body is charged: for each byte, for each value, for each object.
fn weight(part: &str) -> usize {
    let count = |c| part.matches(c).count();
    part.len() * 4 + (count(',') + count('[') + count(':')) * 128 + count('{') * 768
}

/// A body that is charged as much as one may have.
fn largest([start, item, end]: [&str; 3]) -> String {
    let n_items = (ONE - weight(start) - weight(end)) / weight(item);
    let mut body = String::with_capacity(start.len() + n_items * item.len() + end.len());
    body.push_str(start);
    (0..n_items - 1).for_each(|_| body.push_str(item));
    body.push_str(item.trim_end_matches(','));
    body.push_str(end);
    body
}

/// Sends a request and reads its answer; the status.
fn send(addr: SocketAddr, path: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(addr).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    let mut rest = [0; 4096];
    while stream.read(&mut rest).unwrap() > 0 {}
    str::from_utf8(&status[9..]).unwrap().parse().unwrap()
}

#[test]
fn no_body_takes_more_memory_than_it_is_charged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = Service::in_memory(ServiceOptions::default());
    let server = Server::builder(service.clone())
        .with_addr(([127, 0, 0, 1], 0).into())
        .with_max_request_memory(BUDGET);
    let server = runtime.block_on(server.bind()).unwrap();
    let addr = server.local_addr();
    runtime.spawn(server.serve(std::future::pending()));

    let observe = "observe";
    let sequence = "observe-sequence";
    let batch = "learn-batch";
    let config = "config";
    let create = "/sessions";
    let genes = "/genes/update";
    let mut heaviest: f64 = 0.0;
    for (what, parts) in [
        (observe, [r#"{"strings":["#, r#""","#, "]}"]),
        (observe, [r#"{"strings":["#, r#""a","#, "]}"]),
        (
            observe,
            [
                r#"{"strings":["#,
                r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","#,
                "]}",
            ],
        ),
        (observe, [r#"{"strings":[""#, "aaaaaaaaaaaaaaaa", r#""]}"#]),
        (observe, [r#"{"strings":["#, "0,", "]}"]),
        (observe, [r#"{"strings":["#, "[],", "]}"]),
        (observe, [r#"{"strings":["#, "{},", "]}"]),
        (observe, [r#"{"strings":["\ud800""#, r#","a""#, "]}"]),
        (observe, [r#"{"vectors":["#, "[],", "]}"]),
        (observe, [r#"{"vectors":["#, "[0],", "]}"]),
        (observe, [r#"{"vectors":[["#, "0,", "]]}"]),
        (observe, [r#"{"vectors":[["#, r#""0","#, "]]}"]),
        (observe, [r#"{"metadata":{"m":["#, "0,", "]}}"]),
        (observe, [r#"{"metadata":{"m":["#, "[],", "]}}"]),
        (observe, [r#"{"metadata":{"m":["#, r#"{"":0},"#, "]}}"]),
        (
            observe,
            [r#"{"metadata":{"m":["#, r#"{"a":{"b":0}},"#, "]}}"],
        ),
        (observe, [r#"{"metadata":{"m":["#, r#""a","#, "]}}"]),
        (observe, [r#"{"metadata":{"m":"#, r#"0,"m":"#, "0}}"]),
        (observe, [r#"{"unknown":["#, r#"{"":0},"#, "]}"]),
        (sequence, [r#"{"observations":["#, "{},", "]}"]),
        (
            sequence,
            [r#"{"observations":["#, r#"{"metadata":{"":0}},"#, "]}"],
        ),
        (
            sequence,
            [r#"{"observations":["#, r#"{"emotives":{"":0}},"#, "]}"],
        ),
        (
            sequence,
            [r#"{"observations":["#, r#"{"emotives":{"":"0"}},"#, "]}"],
        ),
        (
            sequence,
            [r#"{"observations":["#, r#"{"strings":["a"]},"#, "]}"],
        ),
        (
            sequence,
            [r#"{"observations":["#, r#"{"vectors":[[0]]},"#, "]}"],
        ),
        (batch, [r#"{"sequences":["#, r#"{"events":[["a"]]},"#, "]}"]),
        (
            batch,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"metadata":{"":0}},"#,
                "]}",
            ],
        ),
        (
            batch,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"emotives":{"":0}},"#,
                "]}",
            ],
        ),
        (
            batch,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"emotives":{"":"0"},"metadata":{"":0}},"#,
                "]}",
            ],
        ),
        (batch, [r#"{"sequences":[{"events":["#, "[],", "]}]}"]),
        (batch, [r#"{"sequences":[{"events":["#, r#"["a"],"#, "]}]}"]),
        (
            create,
            [r#"{"node_id":"n","metadata":{"x":["#, r#"{"":0},"#, "]}}"],
        ),
        (genes, [r#"{"genes":{"x":["#, r#"{"":0},"#, "]}}"]),
        (config, [r#"{"config":{"x":["#, r#"{"":0},"#, "]}}"]),
        (
            config,
            [r#"{"config":{"filter_pipeline":["#, r#""a","#, "]}}"],
        ),
    ] {
        let new = kato_service::NewSession::of("n");
        let id = service
            .create_session(new)
            .unwrap()
            .wait()
            .unwrap()
            .session_id;
        let body = largest(parts);
        // Nothing that is left of the request before counts.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        let path = match what.starts_with('/') {
            true => what.to_owned(),
            false => format!("/sessions/{id}/{what}"),
        };
        let status = send(addr, &path, &body);
        let took = ALLOCATED.peak_usage() - before;
        let share = took as f64 / ONE as f64;
        println!(
            "{share:.2} of its charge, {:6.1} times its bytes: {status} to {what} {}…",
            took as f64 / body.len() as f64,
            parts[0].to_owned() + parts[1]
        );
        heaviest = heaviest.max(share);
        service.delete_session(&id).unwrap().wait().unwrap();
    }
    assert!(heaviest <= 1.0, "{heaviest}");
}
