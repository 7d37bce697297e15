//! Starts a MongoDB-compatible server (SecantusDB) for tests, kills it and starts it again.
//!
//! ```no_run
//! use kato_mongo_server::{MongoServer, is_installed};
//!
//! if !is_installed() {
//!     return;
//! }
//! let mut server = MongoServer::start();
//! println!("{}", server.uri());
//! server.kill();
//! server.restart();
//! ```
//!
//! The program is what the environment variable `KATO_SECANTUSD` names, else `secantusd-py` in
//! `PATH`, else the one in `target/secantus-venv` of the workspace. Where there is none, tests that
//! need a server say so and pass, unless `KATO_REQUIRE_PROGRAMS` is set: then they fail.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kato_test_needs::server::{RunningServer, ServerProgram, free_port};
use tempfile::TempDir;

const PROGRAM: ServerProgram = ServerProgram {
    variable: "KATO_SECANTUSD",
    name: "secantusd-py",
    venv: "secantus-venv",
    missing: "no MongoDB-compatible server: python3 -m venv target/secantus-venv && \
              target/secantus-venv/bin/pip install SecantusDB",
};

/// Returns whether a server can be started; see [`ServerProgram::is_installed`].
///
/// # Panics
///
/// When there is none and no test may be passed over.
#[must_use]
pub fn is_installed() -> bool {
    PROGRAM.is_installed()
}

/// Options that a server is started with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// Starts it without a replica set, and so without transactions.
    pub standalone: bool,
    /// Flushes commits to the disk before they are answered.
    pub durable: bool,
}

/// Server with an empty directory of its own on a free port. Dropping it kills it and removes the
/// directory.
#[derive(Debug)]
pub struct MongoServer {
    // Before its directory, so that it has ended when that goes.
    running: Option<RunningServer>,
    dir: TempDir,
    port: u16,
    options: ServerOptions,
}

impl MongoServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Panics
    ///
    /// When the program is not there, saying how to install it, or does not come up.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(ServerOptions::default())
    }

    /// Starts a server with options; otherwise as [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(options: ServerOptions) -> Self {
        let mut server = Self {
            dir: tempfile::tempdir().expect("a temporary directory can be made"),
            port: free_port(),
            options,
            running: None,
        };
        server.restart();
        server
    }

    /// Returns the connection string.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.address())
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Ends the server as a crash does, without a chance to write anything.
    pub fn kill(&mut self) {
        drop(self.running.take());
    }

    /// Returns whether it was started and has not ended.
    pub fn is_running(&mut self) -> bool {
        let running = self.running.as_mut();
        running.is_some_and(RunningServer::is_running)
    }

    /// Sends it a signal by its name, as `STOP` or `CONT`, where it runs and there are signals.
    pub fn signal(&self, name: &str) {
        if let Some(server) = &self.running {
            let id = server.process().to_string();
            // It may end at the same moment.
            let _ = Command::new("kill")
                .args([&format!("-{name}"), &id])
                .status();
        }
    }

    /// Starts the server again on its directory and port, after killing it if it still runs; waits
    /// until it answers.
    ///
    /// # Panics
    ///
    /// When the server does not come up.
    pub fn restart(&mut self) {
        self.kill();
        let arguments = |command: &mut Command, port: u16| {
            command
                .args(["--host", "127.0.0.1", "--log-level", "WARNING", "--port"])
                .arg(port.to_string())
                .args(["--cache-size", "128M", "--storage-path"])
                .arg(self.dir.path().join("data"));
            if self.options.standalone {
                command.arg("--standalone");
            }
            if self.options.durable {
                command.arg("--sync-on-commit");
            }
        };
        let answers = |address| greets(address).is_some();
        self.running = Some(PROGRAM.start(self.dir.path(), || self.port, arguments, answers));
    }
}

/// Returns the connection string of a server that all tests of this process share, started when it
/// is first asked for.
///
/// The server ends soon after the process, by a process that watches.
///
/// # Panics
///
/// As [`MongoServer::start`].
#[must_use]
pub fn shared(options: ServerOptions) -> String {
    static SERVERS: OnceLock<Mutex<Vec<(ServerOptions, MongoServer)>>> = OnceLock::new();
    let mut servers = SERVERS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((_, server)) = servers.iter().find(|(with, _)| *with == options) {
        return server.uri();
    }
    let server = MongoServer::start_with(options);
    watch(&server);
    let uri = server.uri();
    servers.push((options, server));
    uri
}

/// Sends `ping` in the wire protocol, and waits for the answer.
fn greets(address: SocketAddr) -> Option<()> {
    // {"ping": 1, "$db": "admin"}
    const COMMAND: &[u8] = b"\x1e\0\0\0\x10ping\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";
    const HEADER: usize = 16;
    const OP_MSG: i32 = 2013;

    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    // The header, the flags, the kind of the section, and the section itself: below 100 bytes.
    let length = (HEADER + 4 + 1 + COMMAND.len()) as i32;
    let mut message = Vec::new();
    // Length, number of the request, number of the request that it answers, operation, flags.
    for number in [length, 1, 0, OP_MSG, 0] {
        message.extend(number.to_le_bytes());
    }
    message.push(0);
    message.extend(COMMAND);
    stream.write_all(&message).ok()?;
    // That there is an answer is enough: its head proves that the server speaks.
    stream.read_exact(&mut [0; HEADER]).ok()
}

/// Starts a process that ends a shared server once this process is gone, as a static value is never
/// dropped.
fn watch(server: &MongoServer) {
    let Some(running) = &server.running else {
        return;
    };
    // In the background of a shell that ends at once, so that nobody has to wait for it.
    let script =
        "(while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; kill -9 \"$2\"; rm -rf \"$3\") &";
    let _ = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::process::id().to_string())
        .arg(running.process().to_string())
        .arg(server.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
