//! Passes over tests whose programs are not installed, with one line, unless none may be passed
//! over.
//!
//! ```
//! use kato_test_needs::{in_path, needed};
//!
//! let Some(program) = needed(in_path(&["sh", "bash"]), "no shell: install `dash`") else {
//!     return;
//! };
//! assert!(program.is_file());
//! ```
//!
//! The environment variable `KATO_REQUIRE_PROGRAMS`, set to whatever value, says that no test may be
//! passed over for want of a program: then it fails.
//!
//! [`is_thorough`] says how many cases a long test takes.
//!
//! [`wait_until`] waits for what nothing tells of, such as the work of another process, and [`server`]
//! starts the programs of servers.

pub mod server;

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

const REQUIRE: &str = "KATO_REQUIRE_PROGRAMS";

/// Whether the tests that take longest are to take all their cases, as every night: the environment
/// variable `KATO_THOROUGH_TESTS` is set, to whatever value.
#[must_use]
pub fn is_thorough() -> bool {
    env::var_os("KATO_THOROUGH_TESTS").is_some()
}

/// Hands on what a test needs. Where it is missing, the test is to pass over what needs it, itself
/// as a rule, and a line says why and how to get it.
///
/// # Panics
///
/// When it is missing and no test may be passed over.
pub fn needed<T>(found: Option<T>, missing: &str) -> Option<T> {
    if found.is_none() {
        assert!(env::var_os(REQUIRE).is_none(), "{missing}");
        pass_over(missing);
    }
    found
}

/// Says that a test passes over itself, or a part, where no program would help: the machine or its
/// system does not allow it.
pub fn pass_over(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    // Not by a macro: what those print, the test runner keeps to itself where a test passes.
    let said = writeln!(io::stderr(), "passed over in {test}: {why}");
    // Nobody reads it, so nobody misses it.
    drop(said);
}

/// Waits until something is so, by looking: for what nothing tells of that could be waited for, such as
/// the work of another process.
///
/// # Panics
///
/// When it is not so within a minute, which is far above what a busy machine takes; the text says what
/// was waited for.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        let waited = start.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "not within a minute: {what}"
        );
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// Waits until a program has ended, at most so long, and returns whether it has: for tests that disturb a
/// program in the middle of its work, and find it at its end where it was faster.
///
/// # Panics
///
/// When the system does not tell of it.
pub fn ends_within(program: &mut Child, longest: Duration) -> bool {
    let start = Instant::now();
    loop {
        if program.try_wait().expect("a child is told of").is_some() {
            return true;
        }
        let Some(left) = longest.checked_sub(start.elapsed()) else {
            return false;
        };
        thread::park_timeout(left.min(Duration::from_millis(1)));
    }
}

/// The first of these programs that is in `PATH`, by folder, then by name.
#[must_use]
pub fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file())
}

/// The browser that pages are looked at with: `KATO_CHROMIUM`, or one of the usual names in `PATH`.
/// Where there is none, as [`needed`].
#[must_use]
pub fn browser() -> Option<PathBuf> {
    let named = env::var_os("KATO_CHROMIUM").map(PathBuf::from);
    let found = named.or_else(|| {
        in_path(&[
            "chromium-headless-shell",
            "chromium",
            "chromium-browser",
            "google-chrome",
        ])
    });
    needed(
        found,
        "no browser: install `chromium-headless-shell`, or name a Chromium in KATO_CHROMIUM",
    )
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output, Stdio};

    use super::*;

    const LINE: &str = "passed over in tests::needs_what_nobody_has: no unicorn: look for one";

    /// Runs the test below in a process of its own, which no test may be passed over in if there is
    /// a value.
    fn without_it(require: Option<&str>) -> Output {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "tests::needs_what_nobody_has", "--ignored"]);
        command.env_remove(REQUIRE);
        command.envs(require.map(|value| (REQUIRE, value)));
        command.output().unwrap()
    }

    #[test]
    fn a_program_ends_within_its_time_or_does_not() {
        // It ends with its input.
        let mut program = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!ends_within(&mut program, Duration::from_millis(1)));
        drop(program.stdin.take());
        assert!(ends_within(&mut program, Duration::from_secs(60)));
    }

    #[test]
    #[ignore = "the tests below run it"]
    fn needs_what_nobody_has() {
        assert_eq!(
            needed(in_path(&["kato-unicorn"]), "no unicorn: look for one"),
            None
        );
    }

    #[test]
    fn a_test_without_its_program_passes_and_says_so_in_one_line() {
        let output = without_it(None);
        assert!(output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.trim_end(), LINE);
    }

    #[test]
    fn it_fails_and_says_the_same_where_none_may_be_passed_over() {
        for value in ["1", "0", "true", ""] {
            let output = without_it(Some(value));
            assert!(!output.status.success(), "{value:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(said.contains("no unicorn: look for one"), "{said}");
        }
    }

    #[test]
    fn what_is_there_is_handed_on_whatever_the_environment_says() {
        assert_eq!(needed(Some(7), "no seven"), Some(7));
        let shell = in_path(&["kato-unicorn", "sh"]).unwrap();
        assert_eq!(shell.file_name().unwrap(), "sh");
    }
}
