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

#![expect(clippy::panic, reason = "tests whose server does not run fail")]

mod program;

pub use program::is_installed;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use program::INSTALL;

/// Time that a server may take until it answers.
const START: Duration = Duration::from_secs(60);

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
    program: PathBuf,
    dir: TempDir,
    port: u16,
    options: ServerOptions,
    child: Option<Child>,
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
        let program = program::find().unwrap_or_else(|| panic!("{INSTALL}"));
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let mut server = Self {
            program,
            dir,
            port: free_port(),
            options,
            child: None,
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
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself. Waiting for it frees its port and its files before a
            // restart.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Returns whether it was started and has not ended.
    pub fn is_running(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Sends it a signal by its name, as `STOP` or `CONT`, where it runs and there are signals.
    pub fn signal(&self, name: &str) {
        if let Some(child) = &self.child {
            let id = child.id().to_string();
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
        let start = Instant::now();
        // Again and again: another process may have taken the free port before the server could.
        while start.elapsed() < START {
            let mut child = self.spawn();
            if answers(&mut child, self.address(), start) {
                self.child = Some(child);
                return;
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        panic!("the server does not come up:\n{log}");
    }

    /// Starts the program on the server's directory and port, with its output in a file.
    fn spawn(&self) -> Child {
        let log = std::fs::File::create(self.dir.path().join("log")).expect("a log can be made");
        let errors = log.try_clone().expect("a file has two handles");
        let mut command = Command::new(&self.program);
        command
            .args(["--host", "127.0.0.1", "--log-level", "WARNING", "--port"])
            .arg(self.port.to_string())
            .args(["--cache-size", "128M", "--storage-path"])
            .arg(self.dir.path().join("data"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if self.options.standalone {
            command.arg("--standalone");
        }
        if self.options.durable {
            command.arg("--sync-on-commit");
        }
        command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", self.program.display()))
    }
}

impl Drop for MongoServer {
    fn drop(&mut self) {
        self.kill();
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

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

/// Returns whether the server answers before it ends or its time is up.
fn answers(child: &mut Child, address: SocketAddr, start: Instant) -> bool {
    while start.elapsed() < START {
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        if greets(address).is_some() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    false
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
    let Some(child) = &server.child else { return };
    // In the background of a shell that ends at once, so that nobody has to wait for it.
    let script =
        "(while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; kill -9 \"$2\"; rm -rf \"$3\") &";
    let _ = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::process::id().to_string())
        .arg(child.id().to_string())
        .arg(server.dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
