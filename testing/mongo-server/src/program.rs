//! Where the server's program is.

use std::env;
use std::path::{Path, PathBuf};

use kato_test_needs::{in_path, needed};

const NAME: &str = "secantusd-py";

pub(crate) const INSTALL: &str = "no MongoDB-compatible server: python3 -m venv target/secantus-venv && \
                                  target/secantus-venv/bin/pip install SecantusDB";

/// Whether a server can be started. If not, says how to install one; the test that asked is passed over.
///
/// # Panics
///
/// When there is none and no test may be passed over ([`needed`]).
#[must_use]
pub fn is_installed() -> bool {
    needed(find(), INSTALL).is_some()
}

/// The program; `None` when it is not installed.
pub(crate) fn find() -> Option<PathBuf> {
    let named = env::var_os("KATO_SECANTUSD").map(PathBuf::from);
    named.or_else(|| in_path(&[NAME])).or_else(in_workspace)
}

fn in_workspace() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = workspace.join("target/secantus-venv/bin").join(NAME);
    program.is_file().then_some(program)
}
