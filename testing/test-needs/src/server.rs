//! Servers of other projects: their programs found, started until they answer, and killed.

#![expect(clippy::panic, reason = "tests whose server does not run fail")]

use std::env;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{in_path, needed};

/// Time that a server may take until it answers.
const START: Duration = Duration::from_secs(60);

/// The program of a server: what an environment variable names, else what is in `PATH`, else what the
/// continuous integration installs below `target` of the workspace.
#[derive(Debug)]
pub struct ServerProgram {
    /// The environment variable.
    pub variable: &'static str,
    /// The name in `PATH`.
    pub name: &'static str,
    /// The Python environment below `target`.
    pub venv: &'static str,
    /// What is said where there is none: how to install it.
    pub missing: &'static str,
}

impl ServerProgram {
    /// Returns whether a server can be started. If not, it says how to install one, and the test that
    /// asked is passed over.
    ///
    /// # Panics
    ///
    /// When there is none and no test may be passed over ([`needed`]).
    #[must_use]
    pub fn is_installed(&self) -> bool {
        needed(self.find(), self.missing).is_some()
    }

    /// Starts a server in a folder, with a log there, and waits until it answers. It is started again
    /// and again, as another process may take a free port before the server does.
    ///
    /// # Panics
    ///
    /// When the program is not there, or does not come up.
    pub fn start(
        &self,
        dir: &Path,
        port: impl Fn() -> u16,
        arguments: impl Fn(&mut Command, u16),
        answers: impl Fn(SocketAddr) -> bool,
    ) -> RunningServer {
        let program = self.find().unwrap_or_else(|| panic!("{}", self.missing));
        let start = Instant::now();
        while start.elapsed() < START {
            let port = port();
            let log = File::create(dir.join("log")).expect("a log can be made");
            let errors = log.try_clone().expect("a file has two handles");
            let mut command = Command::new(&program);
            arguments(&mut command, port);
            let child = command
                .current_dir(dir)
                .stdin(Stdio::null())
                .stdout(log)
                .stderr(errors)
                .spawn();
            let child =
                child.unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let mut server = RunningServer { child, address };
            while start.elapsed() < START && server.is_running() {
                if answers(address) {
                    return server;
                }
                thread::park_timeout(Duration::from_millis(20));
            }
        }
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        panic!("the server does not come up:\n{log}");
    }

    /// Returns the program; `None` if it is not installed.
    fn find(&self) -> Option<PathBuf> {
        let in_workspace = || {
            let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
            let program = target.join(self.venv).join("bin").join(self.name);
            program.is_file().then_some(program)
        };
        let named = env::var_os(self.variable).map(PathBuf::from);
        named
            .or_else(|| in_path(&[self.name]))
            .or_else(in_workspace)
    }
}

/// A server that runs. Dropping it kills it, without a chance to write anything.
#[derive(Debug)]
pub struct RunningServer {
    child: Child,
    address: SocketAddr,
}

impl RunningServer {
    /// Returns the address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have ended by itself. Waiting for it frees its port and its files before a restart.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that was free a moment ago.
///
/// # Panics
///
/// When none is.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
