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

#![expect(clippy::panic, reason = "tests whose server does not answer fail")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use kato_test_needs::server::{RunningServer, ServerProgram, free_port};
use tempfile::TempDir;

const PROGRAM: ServerProgram = ServerProgram {
    variable: "KATO_MOTO_SERVER",
    name: "moto_server",
    venv: "moto-venv",
    missing: "no S3 server: python3 -m venv target/moto-venv && \
              target/moto-venv/bin/pip install \"moto[server]\"",
};

/// Time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns whether a server can be started; see [`ServerProgram::is_installed`].
///
/// # Panics
///
/// When there is none and no test may be passed over.
#[must_use]
pub fn is_installed() -> bool {
    PROGRAM.is_installed()
}

/// A signature that nobody checks: without one the server takes the request for that of a stranger,
/// who may not write.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
                             SignedHeaders=host, Signature=0";

/// A server on a free port that keeps its objects in memory. Dropping it kills it.
#[derive(Debug)]
pub struct S3Server {
    // Before its folder, so that it has ended when that goes.
    running: RunningServer,
    _dir: TempDir,
}

impl S3Server {
    /// Starts a server and waits until it answers.
    ///
    /// # Panics
    ///
    /// When the program is not there, saying how to install it, or does not come up.
    #[must_use]
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let arguments = |command: &mut Command, port: u16| {
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        };
        let answers = |address| {
            let request =
                format!("GET /moto-api/ HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            matches!(ask(address, request.as_bytes()), Ok(200))
        };
        Self {
            running: PROGRAM.start(dir.path(), free_port, arguments, answers),
            _dir: dir,
        }
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
        self.running.address()
    }

    /// Sends a request and returns the status of the answer.
    fn put(&self, path: &str, headers: &str, body: &[u8]) -> u16 {
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {AUTHORIZATION}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.address(),
            body.len()
        );
        let status = ask(self.address(), &[request.as_bytes(), body].concat());
        status.unwrap_or_else(|error| panic!("the server does not answer: {error}"))
    }
}

/// Sends bytes and returns the status of the answer.
fn ask(address: SocketAddr, request: &[u8]) -> io::Result<u16> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok());
    status.ok_or_else(|| io::Error::other(format!("it answers {answer:?}")))
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
