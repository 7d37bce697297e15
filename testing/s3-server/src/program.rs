//! Search for the server's program.

use std::env;
use std::path::{Path, PathBuf};

use kato_test_needs::{in_path, needed};

const NAME: &str = "moto_server";

pub(crate) const INSTALL: &str = "no S3 server: python3 -m venv target/moto-venv && \
                                  target/moto-venv/bin/pip install \"moto[server]\"";

/// Returns whether a server can be started. If not, it says how to install one, and the test that
/// asked is skipped.
///
/// # Panics
///
/// When there is none and no test may be skipped ([`needed`]).
#[must_use]
pub fn is_installed() -> bool {
    needed(find(), INSTALL).is_some()
}

/// Returns the program; `None` if it is not installed.
pub(crate) fn find() -> Option<PathBuf> {
    let named = env::var_os("KATO_MOTO_SERVER").map(PathBuf::from);
    named.or_else(|| in_path(&[NAME])).or_else(in_workspace)
}

/// Returns the program that the continuous integration installs in the workspace.
fn in_workspace() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = workspace.join("target/moto-venv/bin").join(NAME);
    program.is_file().then_some(program)
}
