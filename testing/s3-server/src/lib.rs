//! Starts a server with the protocol of Amazon S3 (moto) for tests.
//!
//! ```no_run
//! use kato_s3_server::{S3Server, is_installed};
//!
//! if !is_installed() {
//!     return;
//! }
//! let server = S3Server::start();
//! server.create_bucket("bucket");
//! println!("{:?}", server.environment());
//! ```
//!
//! The program is what the environment variable `KATO_MOTO_SERVER` names, else `moto_server` in
//! `PATH`, else the one in `target/moto-venv` of the workspace. Where there is none, tests that need
//! a server say so and pass, unless `KATO_REQUIRE_PROGRAMS` is set: then they fail.

#![expect(clippy::panic, reason = "tests whose server does not run fail")]

mod program;

pub use program::is_installed;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use program::INSTALL;

/// Time that a server may take until it answers.
const START: Duration = Duration::from_secs(60);

/// A signature that nobody checks: without one the server takes the request for that of a stranger,
/// who may not write.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
                             SignedHeaders=host, Signature=0";

/// A server on a free port that keeps its objects in memory. Dropping it kills it.
#[derive(Debug)]
pub struct S3Server {
    dir: TempDir,
    port: u16,
    child: Option<Child>,
}

impl S3Server {
    /// Starts a server and waits until it answers.
    ///
    /// # Panics
    ///
    /// When the program is not there, saying how to install it, or does not come up.
    #[must_use]
    pub fn start() -> Self {
        let program = program::find().unwrap_or_else(|| panic!("{INSTALL}"));
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let mut server = Self {
            dir,
            port: 0,
            child: None,
        };
        let start = Instant::now();
        // Again and again: another process may have taken the free port before the server could.
        while start.elapsed() < START {
            server.stop();
            server.port = free_port();
            let log = std::fs::File::create(server.dir.path().join("log"));
            let log = log.expect("a log can be made");
            let errors = log.try_clone().expect("a file has two handles");
            let child = Command::new(&program)
                .args(["-H", "127.0.0.1", "-p", &server.port.to_string()])
                .current_dir(server.dir.path())
                .stdin(Stdio::null())
                .stdout(log)
                .stderr(errors)
                .spawn();
            server.child = Some(
                child.unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display())),
            );
            if server.comes_up(start) {
                return server;
            }
        }
        let log = std::fs::read_to_string(server.dir.path().join("log")).unwrap_or_default();
        panic!("the server does not come up:\n{log}");
    }

    /// Returns the address at which it answers.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the environment in which programs reach it by `s3://BUCKET/…`.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// Creates a bucket.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub fn create_bucket(&self, bucket: &str) {
        let status = self.put(&format!("/{bucket}"), "", b"");
        assert_eq!(status, 200, "the bucket {bucket} was refused");
    }

    /// Creates an object unless it is there, and returns the status of the answer.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[must_use]
    pub fn create_object(&self, bucket: &str, key: &str, bytes: &[u8]) -> u16 {
        self.put(&format!("/{bucket}/{key}"), "If-None-Match: *\r\n", bytes)
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Sends a request and returns the status of the answer.
    fn put(&self, path: &str, headers: &str, body: &[u8]) -> u16 {
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {AUTHORIZATION}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.address(),
            body.len()
        );
        let status = self.ask(&[request.as_bytes(), body].concat());
        status.unwrap_or_else(|error| panic!("the server does not answer: {error}"))
    }

    /// Sends bytes and returns the status of the answer.
    fn ask(&self, request: &[u8]) -> io::Result<u16> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(START))?;
        stream.write_all(request)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok());
        status.ok_or_else(|| io::Error::other(format!("it answers {answer:?}")))
    }

    /// Returns whether the server answers before it ends or its time is up.
    fn comes_up(&mut self, start: Instant) -> bool {
        let request = format!(
            "GET /moto-api/ HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address()
        );
        while start.elapsed() < START {
            let child = self.child.as_mut();
            if !child.is_some_and(|child| matches!(child.try_wait(), Ok(None))) {
                return false;
            }
            if matches!(self.ask(request.as_bytes()), Ok(200)) {
                return true;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        false
    }

    /// Ends the server.
    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_created_again() {
        if !is_installed() {
            return;
        }
        let server = S3Server::start();
        server.create_bucket("bucket");
        assert_eq!(server.create_object("bucket", "a/key", b"first"), 200);
        // Precondition Failed.
        for bytes in [b"other", b"first"] {
            assert_eq!(server.create_object("bucket", "a/key", bytes), 412);
        }
        assert_eq!(server.create_object("bucket", "another", b"first"), 200);
    }
}
