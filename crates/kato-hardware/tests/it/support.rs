//! What several tests use.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use kato_hardware::figure::Measured;
use kato_hardware::{HardwareAnalyzer, HardwareAnalyzerBuilder, HardwareProfile};
use kato_test_needs::wait_until;

/// An analysis of two seconds.
pub(crate) fn short(directory: &Path) -> HardwareAnalyzerBuilder {
    HardwareAnalyzer::builder()
        .with_directory(directory)
        .with_quick(true)
        .with_time_limit(Duration::from_secs(2))
}

/// An analysis of two seconds, of what `with` adds to it; it ends in time whatever answers.
pub(crate) fn analyzed_in_time(
    with: impl FnOnce(HardwareAnalyzerBuilder) -> HardwareAnalyzerBuilder,
) -> HardwareProfile {
    let dir = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let profile = with(short(dir.path())).build().unwrap().analyze_full();
    let taken = start.elapsed();
    assert!(taken < Duration::from_secs(5), "{taken:?}");
    profile
}

/// The reason of a figure that must not be there.
pub(crate) fn reason(measured: &Measured) -> &str {
    match measured.reason() {
        Some(reason) => reason,
        None => panic!("a figure of nothing: {measured}"),
    }
}

/// Nothing is left behind. A step that took too long, as on a busy machine, removes what it made
/// once it notices.
pub(crate) fn assert_empty(directory: &Path) {
    wait_until("nothing is left behind", || {
        std::fs::read_dir(directory).unwrap().next().is_none()
    });
}

/// A server of this process that answers every request with `answer`, or with silence where there
/// is none.
#[cfg_attr(
    not(any(feature = "kato", feature = "mongodb")),
    expect(dead_code, reason = "servers are measured by features")
)]
pub(crate) fn stand_in(answer: Option<&'static str>, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut request = [0; 4096];
                while matches!(stream.read(&mut request), Ok(n) if n > 0) {
                    thread::sleep(pause);
                    let Some(answer) = answer else { continue };
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// A port on which nobody listens.
#[cfg_attr(
    not(any(feature = "kato", feature = "mongodb")),
    expect(dead_code, reason = "servers are measured by features")
)]
pub(crate) fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap()
}
