//! A Python with a package that a test needs.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use kato_test_needs::{in_path, needed};

/// The Python in `KATO_PYTHON`, or else in `PATH`, if it has the package.
pub(crate) fn python_with(package: &str) -> Option<PathBuf> {
    let python = env::var_os("KATO_PYTHON").map(PathBuf::from);
    let python = python.or_else(|| in_path(&["python3"]));
    let look =
        format!("import importlib.util, sys; sys.exit(not importlib.util.find_spec({package:?}))");
    let has_it = |python: &PathBuf| {
        let looked = Command::new(python).args(["-c", &look]).output();
        looked.is_ok_and(|output| output.status.success())
    };
    let missing = format!(
        "no Python package {package}: `pip install {package}`, and name the Python that has it in KATO_PYTHON"
    );
    needed(python.filter(has_it), &missing)
}
