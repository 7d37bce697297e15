//! What bodies really take, measured where nothing else runs: no more than they are charged.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic, and say what they measured"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use kato_server::Server;
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceOptions};
use peak_alloc::PeakAlloc;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Memory for requests, and what of it one of them may have.
const BUDGET: usize = 64 << 20;
const ONE: usize = BUDGET - BUDGET / 8;

/// What a body is charged: for each byte, for each value, for each object.
fn weight(part: &str) -> usize {
    let count = |c| part.matches(c).count();
    part.len() * 10 + (count(',') + count('[') + count(':')) * 128 + count('{') * 768
}

const OBSERVE: &str = "observe";
const SEQUENCE: &str = "observe-sequence";
const BATCH: &str = "learn-batch";
const CONFIG: &str = "config";
const CREATE: &str = "/sessions";
const GENES: &str = "/genes/update";

/// Where a body is sent; how it begins, what is repeated in it, how it ends.
type Case = (&'static str, [&'static str; 3]);

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

/// Sends a body of a case to a server of the service; what it took of its charge.
fn share(runtime: &Runtime, service: &Service, (what, parts): Case) -> f64 {
    let server = Server::builder(service.clone())
        .with_addr(([127, 0, 0, 1], 0).into())
        .with_max_request_memory(BUDGET);
    let server = runtime.block_on(server.bind()).unwrap();
    let addr = server.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = runtime.spawn(server.serve(async { drop(stopped.await) }));
    let new = service.create_session(NewSession::new("n")).unwrap();
    let id = new.wait().unwrap().session_id;
    let path = match what.starts_with('/') {
        true => what.to_owned(),
        false => format!("/sessions/{id}/{what}"),
    };
    let body = largest(parts);
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let status = send(addr, &path, &body);
    let took = ALLOCATED.peak_usage() - before;
    let share = took as f64 / ONE as f64;
    println!(
        "{share:.2} of its charge, {:6.1} times its bytes: {status} to {what} {}…",
        took as f64 / body.len() as f64,
        parts[0].to_owned() + parts[1]
    );
    drop(stop);
    runtime.block_on(served).unwrap().unwrap();
    share
}

#[test]
fn no_body_takes_more_memory_than_it_is_charged() {
    let cases: &[Case] = &[
        (OBSERVE, [r#"{"strings":["#, r#""","#, "]}"]),
        (OBSERVE, [r#"{"strings":["#, r#""a","#, "]}"]),
        (
            OBSERVE,
            [
                r#"{"strings":["#,
                r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","#,
                "]}",
            ],
        ),
        (OBSERVE, [r#"{"strings":[""#, "aaaaaaaaaaaaaaaa", r#""]}"#]),
        (OBSERVE, [r#"{"strings":["#, "0,", "]}"]),
        (OBSERVE, [r#"{"strings":["#, "[],", "]}"]),
        (OBSERVE, [r#"{"strings":["#, "{},", "]}"]),
        (OBSERVE, [r#"{"strings":["\ud800""#, r#","a""#, "]}"]),
        (OBSERVE, [r#"{"vectors":["#, "[],", "]}"]),
        (OBSERVE, [r#"{"vectors":["#, "[0],", "]}"]),
        (OBSERVE, [r#"{"vectors":[["#, "0,", "]]}"]),
        (OBSERVE, [r#"{"vectors":[["#, r#""0","#, "]]}"]),
        (OBSERVE, [r#"{"metadata":{"m":["#, "0,", "]}}"]),
        (OBSERVE, [r#"{"metadata":{"m":["#, "[],", "]}}"]),
        (OBSERVE, [r#"{"metadata":{"m":["#, r#"{"":0},"#, "]}}"]),
        (
            OBSERVE,
            [r#"{"metadata":{"m":["#, r#"{"a":{"b":0}},"#, "]}}"],
        ),
        (OBSERVE, [r#"{"metadata":{"m":["#, r#""a","#, "]}}"]),
        (OBSERVE, [r#"{"metadata":{"m":"#, r#"0,"m":"#, "0}}"]),
        (OBSERVE, [r#"{"unknown":["#, r#"{"":0},"#, "]}"]),
        (SEQUENCE, [r#"{"observations":["#, "{},", "]}"]),
        (
            SEQUENCE,
            [r#"{"observations":["#, r#"{"metadata":{"":0}},"#, "]}"],
        ),
        (
            SEQUENCE,
            [r#"{"observations":["#, r#"{"emotives":{"":0}},"#, "]}"],
        ),
        (
            SEQUENCE,
            [r#"{"observations":["#, r#"{"emotives":{"":"0"}},"#, "]}"],
        ),
        (
            SEQUENCE,
            [r#"{"observations":["#, r#"{"strings":["a"]},"#, "]}"],
        ),
        (
            SEQUENCE,
            [r#"{"observations":["#, r#"{"vectors":[[0]]},"#, "]}"],
        ),
        (BATCH, [r#"{"sequences":["#, r#"{"events":[["a"]]},"#, "]}"]),
        (
            BATCH,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"metadata":{"":0}},"#,
                "]}",
            ],
        ),
        (
            BATCH,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"emotives":{"":0}},"#,
                "]}",
            ],
        ),
        (
            BATCH,
            [
                r#"{"sequences":["#,
                r#"{"events":[[""]],"emotives":{"":"0"},"metadata":{"":0}},"#,
                "]}",
            ],
        ),
        (BATCH, [r#"{"sequences":[{"events":["#, "[],", "]}]}"]),
        (BATCH, [r#"{"sequences":[{"events":["#, r#"["a"],"#, "]}]}"]),
        (
            CREATE,
            [r#"{"node_id":"n","metadata":{"x":["#, r#"{"":0},"#, "]}}"],
        ),
        (GENES, [r#"{"genes":{"x":["#, r#"{"":0},"#, "]}}"]),
        (CONFIG, [r#"{"config":{"x":["#, r#"{"":0},"#, "]}}"]),
        (
            CONFIG,
            [r#"{"config":{"filter_pipeline":["#, r#""a","#, "]}}"],
        ),
    ];
    let runtime = Runtime::new().unwrap();
    for &case in cases {
        let service = Service::in_memory(ServiceOptions::default());
        assert!(share(&runtime, &service, case) <= 1.0);
    }
    // What the journal takes beside it.
    for &case in cases {
        if matches!(case.0, OBSERVE | SEQUENCE | BATCH) {
            let dir = tempfile::tempdir().unwrap();
            let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
            assert!(share(&runtime, &service, case) <= 1.0);
        }
    }
}
