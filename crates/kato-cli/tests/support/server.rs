//! A running `serve`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::program::kato;
use crate::signal::signal;

/// Where a server's standard error goes, in the folder in which it runs.
pub(crate) const LOG: &str = "serve.log";

pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
    /// Open as long as the server runs.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server in a folder and waits until it listens.
    pub(crate) fn start(dir: &Path, arguments: &[&str]) -> Self {
        let started = Self::start_as(Self::command(dir, arguments));
        started.unwrap_or_else(|reason| panic!("{arguments:?}: {reason}"))
    }

    /// The program, to be run in a folder.
    pub(crate) fn command(dir: &Path, arguments: &[&str]) -> Command {
        let mut command = kato("serve");
        command.args(arguments).current_dir(dir);
        command
    }

    /// Starts a server by a command and waits until it listens; why it does not, when it has ended
    /// instead.
    pub(crate) fn start_as(mut command: Command) -> Result<Self, String> {
        let log = command.get_current_dir().unwrap().join(LOG);
        let stderr = File::options()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(addr) = line.trim_end().strip_prefix("listening on http://") else {
            let code = child.wait().unwrap().code();
            let log = std::fs::read_to_string(log).unwrap();
            return Err(format!("{line:?}, exit code {code:?}: {log}"));
        };
        Ok(Self {
            addr: addr.parse().unwrap(),
            child,
            _stdout: stdout,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for its end; the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Asks it to end; the exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.wait()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that failed leaves no server behind; one that has ended already is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
