//! Server in a process of its own, for tests: started, killed, started again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::LISTENING;
use crate::options::StockOptions;

/// Time that a server may take until it listens.
const START: Duration = Duration::from_secs(30);
/// The first port that is given to a server: below those that a system gives by itself.
const FIRST_PORT: u16 = 20_000;
/// Ports that are given in turn.
const N_PORTS: u16 = 10_000;
/// Pause between two looks at a process.
const PAUSE: Duration = Duration::from_millis(5);

/// Server as a child process, with a directory of its own unless the options name one. Dropping it
/// kills it.
#[derive(Debug)]
pub struct StockServer {
    program: PathBuf,
    /// Directory of its log, and of its data unless the options name another. It is removed in the
    /// end.
    own_dir: TempDir,
    options: StockOptions,
    child: Option<Child>,
}

impl StockServer {
    /// Starts a server and waits until it listens.
    ///
    /// The program is what the environment variable `KATO_STOCK_SERVER` names, else `stock_server`
    /// or `examples/stock_server` beside the test's own directory.
    ///
    /// # Panics
    ///
    /// When there is no program, or it does not come up.
    #[must_use]
    pub fn start(options: StockOptions) -> Self {
        let program = find().unwrap_or_else(|| {
            panic!("no stock_server: cargo build -p kato-stock-server, or set KATO_STOCK_SERVER")
        });
        Self::start_program(&program, options)
    }

    /// Starts a program that calls [`run_main`](crate::run_main); otherwise as
    /// [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// When the program does not come up.
    #[must_use]
    pub fn start_program(program: &Path, options: StockOptions) -> Self {
        let own_dir = tempfile::tempdir().expect("a temporary directory can be made");
        let data = options.data.clone();
        let data = data.unwrap_or_else(|| own_dir.path().join("data"));
        let mut server = Self {
            program: program.to_owned(),
            own_dir,
            options: options.addr(own_addr()).data(&data),
            child: None,
        };
        server.restart();
        server
    }

    /// Returns its URL, `http://127.…`, which is the same after every restart.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.options.addr
    }

    /// Returns its directory, for [`learned`](crate::learned()) and [`requests`](crate::requests).
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.options.data.as_deref().unwrap_or(self.own_dir.path())
    }

    /// Returns what it has learned by now.
    #[must_use]
    pub fn learned(&self) -> crate::Learned {
        crate::learned(self.dir())
    }

    /// Loses all that is in Redis, as `FLUSHALL` does: sessions, and in 3.10 frequencies and
    /// symbols.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    pub fn flush(&self) {
        self.fault("flush");
    }

    /// Loses everything that it knows.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    pub fn empty(&self) {
        self.fault("empty");
    }

    /// Retires patterns of a node, by their bare names; a server of 6.3 only.
    ///
    /// # Panics
    ///
    /// When it does not answer, or refuses.
    pub fn retire(&self, node_id: &str, names: &[&str]) {
        self.change(node_id, "retire", names);
    }

    /// Takes back that patterns of a node are retired.
    ///
    /// # Panics
    ///
    /// As [`retire`](Self::retire).
    pub fn unretire(&self, node_id: &str, names: &[&str]) {
        self.change(node_id, "un-retire", names);
    }

    /// Asks it for a change of patterns.
    fn change(&self, node_id: &str, what: &str, names: &[&str]) {
        let session = self.post("/sessions", &json!({ "node_id": node_id }));
        let id = session["session_id"].as_str().expect("a session has an id");
        let path = format!("/sessions/{id}/patterns/{what}");
        self.post(&path, &json!({ "pattern_ids": names }));
    }

    /// Asks it for a fault, and waits until it has happened.
    fn fault(&self, which: &str) {
        self.post(&format!("/stand-in/{which}"), &json!({}));
    }

    /// Sends a request that must succeed, and returns the answer.
    fn post(&self, path: &str, body: &Value) -> Value {
        let answered = self.post_within(path, body, START);
        answered.expect("the server runs, and answers")
    }

    /// Sends a request that must not be refused, and returns the answer if it begins in this time.
    fn post_within(&self, path: &str, body: &Value, timeout: Duration) -> io::Result<Value> {
        let mut stream = TcpStream::connect(self.addr())?;
        stream.set_read_timeout(Some(timeout))?;
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        stream.write_all(request.as_bytes())?;
        if stream.read_to_string(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
        Ok(serde_json::from_str(body.unwrap_or_default())?)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself. Waiting for it frees its port before a restart.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends it a signal by its name, as `STOP` or `TERM`.
    pub fn signal(&self, name: &str) {
        if let Some(child) = &self.child {
            let id = child.id().to_string();
            // It may end at the same moment.
            let _ = Command::new("kill")
                .args([&format!("-{name}"), &id])
                .status();
        }
    }

    /// Returns whether it was started and has not ended.
    pub fn is_running(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until it has ended by itself, or by a signal; returns `None` if it has not in this
    /// time.
    pub fn wait_ended(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        let child = self.child.as_mut()?;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            if start.elapsed() > timeout {
                return None;
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    /// Starts it again on its directory and address, after killing it if it still runs.
    ///
    /// # Panics
    ///
    /// When it does not come up.
    pub fn restart(&mut self) {
        self.restart_with(self.options.clone());
    }

    /// Starts it again with other options, whose directory and address do not count.
    ///
    /// # Panics
    ///
    /// As [`restart`](Self::restart).
    pub fn restart_with(&mut self, options: StockOptions) {
        self.kill();
        let (addr, dir) = (self.options.addr, self.dir().to_owned());
        self.options = options.addr(addr).data(&dir);
        let start = Instant::now();
        // The address may not be free at once.
        while start.elapsed() < START {
            let mut child = self.spawn();
            if let Some(addr) = listening(&mut child) {
                self.options.addr = addr;
                self.child = Some(child);
                return;
            }
            let _ = child.kill();
            let _ = child.wait();
            std::thread::park_timeout(PAUSE);
        }
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        panic!("the server does not come up:\n{log}");
    }

    /// Waits until all clients have gone and everything that they sent is done, and returns whether that
    /// was so in this time. One that has ended is idle.
    pub fn wait_idle(&mut self, timeout: Duration) -> bool {
        let start = Instant::now();
        if !self.is_running() {
            return true;
        }
        // Accepted behind all that have connected before, so that none of them is passed over.
        match self.post_within("/stand-in/alone", &json!({}), timeout) {
            Ok(_) => true,
            Err(_) => {
                let left = timeout.saturating_sub(start.elapsed());
                self.wait_ended(left).is_some()
            }
        }
    }

    /// Returns the path of its output.
    fn log(&self) -> PathBuf {
        self.own_dir.path().join("log")
    }

    /// Starts the program with its options.
    fn spawn(&self) -> Child {
        let log = std::fs::File::create(self.log()).expect("a log can be made");
        Command::new(&self.program)
            .args(self.options.args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", self.program.display()))
    }
}

impl Drop for StockServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns an address that nobody else is given, so that a server that is away finds it free: a port that the
/// system gives is given again at once, and then a trainer would teach the server of another test.
fn own_addr() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    if !cfg!(target_os = "linux") {
        // Only there all of 127.0.0.0/8 is this machine.
        return SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    }
    // Ids of processes have 22 bits.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let ip = Ipv4Addr::new(127, 64 | high, middle, low);
    let n = NEXT.fetch_add(1, Ordering::Relaxed) % N_PORTS;
    SocketAddr::from((ip, FIRST_PORT + n))
}

/// Returns where the program listens, as it says; `None` if it ends instead.
fn listening(child: &mut Child) -> Option<SocketAddr> {
    let mut line = String::new();
    BufReader::new(child.stdout.take()?)
        .read_line(&mut line)
        .ok()?;
    let url = line.trim_end().strip_prefix(LISTENING)?;
    url.strip_prefix("http://")?.parse().ok()
}

/// Returns the program beside the tests: `target/debug/deps/TEST` has it at
/// `target/debug/stock_server`.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("KATO_STOCK_SERVER") {
        return Some(PathBuf::from(named));
    }
    let test = std::env::current_exe().ok()?;
    let name = format!("stock_server{}", std::env::consts::EXE_SUFFIX);
    let mut places = test.ancestors().skip(1).take(2);
    places.find_map(|dir| {
        let places = [dir.join(&name), dir.join("examples").join(&name)];
        places.into_iter().find(|program| program.is_file())
    })
}
