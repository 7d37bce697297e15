//! Where the server's program is.
#![expect(clippy::print_stderr, reason = "a test that is passed over says so")]

use std::env;
use std::path::{Path, PathBuf};

const NAME: &str = "secantusd-py";

pub(crate) const INSTALL: &str = "no MongoDB-compatible server: python3 -m venv target/secantus-venv && \
                                  target/secantus-venv/bin/pip install SecantusDB";

/// Whether a server can be started. If not, says how to install one; the test that asked is passed over.
///
/// # Panics
///
/// When there is none and the environment variable `KATO_REQUIRE_SERVERS` says that no test may be passed over.
#[must_use]
pub fn is_installed() -> bool {
    let is_installed = find().is_some();
    if !is_installed {
        assert!(env::var_os("KATO_REQUIRE_SERVERS").is_none(), "{INSTALL}");
        eprintln!("{INSTALL}");
    }
    is_installed
}

/// The program; `None` when it is not installed.
pub(crate) fn find() -> Option<PathBuf> {
    let named = env::var_os("KATO_SECANTUSD").map(PathBuf::from);
    named.or_else(in_path).or_else(in_workspace)
}

fn in_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(NAME))
        .find(|program| program.is_file())
}

fn in_workspace() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = workspace.join("target/secantus-venv/bin").join(NAME);
    program.is_file().then_some(program)
}
