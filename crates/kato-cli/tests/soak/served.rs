//! The program `serve` under limits, and what it takes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::figures::Sample;

/// Open files, and kilobytes of address space.
const LIMITS: &str = "ulimit -n 1024; ulimit -v 2097152";

pub(crate) struct Served {
    child: Child,
    addr: SocketAddr,
    /// Open as long as the server runs.
    _stdout: BufReader<ChildStdout>,
}

impl Served {
    pub(crate) fn start(dir: &Path) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!(r#"{LIMITS}; exec "$0" "$@""#)])
            .arg(env!("CARGO_BIN_EXE_kato"))
            .args([
                "serve",
                "--data",
                "data",
                "--addr",
                "127.0.0.1:0",
                "--durability",
                "os",
                // Sessions that clients leave behind are as many after ten minutes as after an hour.
                "--session-ttl",
                "600",
            ])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let addr = line
            .trim_end()
            .strip_prefix("listening on http://")
            .unwrap();
        Self {
            addr: addr.parse().unwrap(),
            child,
            _stdout: stdout,
        }
    }

    pub(crate) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it takes now.
    pub(crate) fn sample(&self) -> Sample {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        let status = fs::read_to_string(proc.join("status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        Sample {
            files: fs::read_dir(proc.join("fd")).unwrap().count(),
            resident_kb: resident
                .and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok())
                .unwrap(),
        }
    }

    /// Ends it in order.
    pub(crate) fn terminate(mut self) {
        let kill = format!("kill -TERM {}", self.child.id());
        Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // When the test failed before its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
