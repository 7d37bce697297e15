//! Fuzz target for damaged directories of a service: what was acknowledged is there, or the service
//! says that it is not.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

use kato_engine::{Observation, Sequence};
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceError, ServiceOptions};

use crate::allocated::within;
use crate::damage::damage;
use crate::input::Input;

/// Memory that opening and reading a small directory may take. Most of it is the journal's own.
const MEMORY: usize = 160 << 20;

/// End of a write in a log of the journal.
const TRAILER: &[u8] = b"FJL\x03";

/// Directory, file by file, and what it knows.
struct Written {
    files: Vec<(PathBuf, Vec<u8>)>,
    session: String,
    pattern: String,
}

static WRITTEN: LazyLock<Written> = LazyLock::new(|| write().expect("a directory is made"));

/// Teaches a node a pattern, and returns the session and the pattern's name.
fn teach(service: &Service, node: &str) -> Result<(String, String), ServiceError> {
    let session = service
        .create_session(NewSession::new(node))?
        .wait()?
        .session_id;
    let words = ["a", "b", "c"]
        .map(|word| Observation::strings([word]))
        .to_vec();
    let sequence = Sequence::new(words).learn_at_end();
    let taught = service
        .observe_sequence(&session, sequence, Some("key"))?
        .wait()?;
    let name = taught
        .outcome
        .final_learned
        .map(|learned| learned.to_string());
    Ok((session, name.unwrap_or_default()))
}

/// Writes a directory with a folded node, one that is in the journal alone, and a session with
/// something in its short-term memory.
fn write() -> Result<Written, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let service = Service::open(dir.path(), ServiceOptions::default())?;
    teach(&service, "folded")?;
    service.close()?;
    drop(service);
    let service = Service::open(dir.path(), ServiceOptions::default())?;
    let (session, pattern) = teach(&service, "taught")?;
    for word in ["d", "e", "f"] {
        service
            .observe(&session, Observation::strings([word]), None)?
            .wait()?;
    }
    // Not closed, as after a kill, so that the journal is not folded.
    drop(service);
    let mut files = Vec::new();
    read_all(dir.path(), Path::new(""), &mut files)?;
    Ok(Written {
        files,
        session,
        pattern,
    })
}

/// Reads all files below a directory, in the order of their names.
fn read_all(root: &Path, below: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(root.join(below))?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            read_all(root, &path, files)?;
            continue;
        }
        let mut bytes = fs::read(root.join(&path))?;
        // A log is made with room for more, which is all zeros. Without it, most damage would hit
        // nothing.
        let used = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        bytes.truncate(used + 64);
        files.push((path, bytes));
    }
    Ok(())
}

/// Opens a directory of which some files were damaged, exchanged or removed, and asks for
/// everything in it.
///
/// # Panics
///
/// When something is not as it was written and nobody says so, or opening takes too much memory.
pub fn journal(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut files = WRITTEN.files.clone();
    let mut changes = Vec::new();
    for _ in 0..=input.below(3) {
        changes.push(change(&mut input, &mut files));
    }
    let dir = tempfile::tempdir().expect("the disk is well");
    for (path, bytes) in &files {
        let path = dir.path().join(path);
        let parent = path.parent().unwrap_or(&path);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes));
        written.expect("the disk is well");
    }
    within(MEMORY, || {
        if let Ok(service) = Service::open(dir.path(), ServiceOptions::default()) {
            ask(&service, &changes);
        }
    });
    // With losses accepted, what is left is served or not, and nothing panics.
    within(MEMORY, || {
        let options = ServiceOptions::default().with_accept_losses(true);
        if let Ok(service) = Service::open(dir.path(), options) {
            drop(service.stm(&WRITTEN.session));
            drop(service.pattern("taught", &WRITTEN.pattern));
            drop(teach(&service, "taught"));
        }
    });
}

/// Asks for everything: it is as it was written, or there is an error, or a loss is reported.
fn ask(service: &Service, changes: &[String]) {
    let written = &*WRITTEN;
    let frequency = |node| {
        let found = service.pattern(node, &written.pattern);
        found.map(|found| found.map_or(0, |record| record.frequency))
    };
    let folded = frequency("folded");
    let taught = frequency("taught");
    let remembered = service.stm(&written.session).map(|stm| stm.len());
    let is_known =
        |found: &Result<u64, ServiceError>| found.as_ref().map_or(true, |found| *found == 1);
    let is_remembered = remembered
        .as_ref()
        .map_or_else(|error| !is_missing(error), |n| *n == 3);
    let is_told = !service.losses().is_empty();
    // A reported loss may explain anything; without one, every answer must be right or an error.
    assert!(
        is_told || is_known(&folded) && is_known(&taught) && is_remembered,
        "a loss in silence: {folded:?}, {taught:?}, {remembered:?}, after {changes:?}"
    );
}

/// Returns whether an error says that a session is unknown, which one that was acknowledged must
/// not be.
fn is_missing(error: &ServiceError) -> bool {
    matches!(error, ServiceError::SessionNotFound { .. })
}

/// Changes a file, and returns what was done.
fn change(input: &mut Input<'_>, files: &mut Vec<(PathBuf, Vec<u8>)>) -> String {
    // Logs have what was acknowledged last, so that they are changed more often than the rest.
    let logs: Vec<usize> = (0..files.len())
        .filter(|&idx| files[idx].0.extension().is_some_and(|found| found == "jnl"))
        .collect();
    let any = input.below(files.len());
    let idx = match logs.is_empty() || input.is_one_in(3) {
        true => any,
        false => input.choose(&logs),
    };
    let path = files[idx].0.display().to_string();
    match input.below(10) {
        0 => {
            files.remove(idx);
            format!("{path} removed")
        }
        1 => {
            let (from, bytes) = files[input.below(files.len())].clone();
            files[idx].1 = bytes;
            format!("{path} exchanged for {}", from.display())
        }
        2..=5 => {
            exchange_writes(input, &mut files[idx].1);
            format!("writes of {path} exchanged")
        }
        _ => {
            damage(input, &mut files[idx].1);
            format!("{path} damaged")
        }
    }
}

/// Removes, repeats or exchanges whole writes of a log, each as it was written.
fn exchange_writes(input: &mut Input<'_>, log: &mut Vec<u8>) {
    let ends = log.windows(TRAILER.len()).enumerate();
    let mut ends: Vec<usize> = ends
        .filter(|(_, found)| *found == TRAILER)
        .map(|(at, _)| at + TRAILER.len())
        .collect();
    // Each write stays as it was written, so that no checksum of its own can show the change.
    ends.insert(0, 0);
    let mut writes: Vec<Vec<u8>> = ends
        .windows(2)
        .map(|pair| log[pair[0]..pair[1]].to_vec())
        .collect();
    let rest = log[*ends.last().unwrap_or(&0)..].to_vec();
    if writes.is_empty() {
        return;
    }
    let (one, other) = (input.below(writes.len()), input.below(writes.len()));
    match input.below(4) {
        0 => drop(writes.remove(one)),
        1 => writes.insert(other, writes[one].clone()),
        2 => writes.swap(one, other),
        _ => writes.truncate(one),
    }
    *log = writes.concat();
    log.extend(rest);
}
