//! Tests of every file of a service's directory that is removed, emptied, cut or turned in one byte: the
//! service is opened, or says which file it is and what to do, and what it says helps.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_model::Event;
use kato_test_needs::is_thorough;
use serde_json::json;
use tempfile::TempDir;

use super::Service;
use crate::answer::NewSession;
use crate::clock::ManualClock;
use crate::journal::Table;
use crate::{ServiceError, ServiceOptions};

/// A node that was folded, and one that the journal alone knows.
const NODES: [&str; 2] = ["folded", "journaled"];

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Removed,
    Emptied,
    Cut,
    /// One byte, so many eighths behind the beginning.
    Turned(usize),
}

impl Harm {
    fn harm(self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        let used = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0);
        match self {
            Self::Removed => return fs::remove_file(path).unwrap(),
            Self::Emptied => bytes.clear(),
            Self::Cut => bytes.truncate(used / 2),
            Self::Turned(place) => {
                let at = used * place / 8;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0x10;
                }
            }
        }
        fs::write(path, bytes).unwrap();
    }
}

fn options(accepts_losses: bool) -> ServiceOptions {
    ServiceOptions::default().with_accept_losses(accepts_losses)
}

fn create(service: &Service, node: &str) -> Result<String, ServiceError> {
    let created = service.create_session(NewSession::new(node))?.wait()?;
    Ok(created.session_id)
}

fn learn(service: &Service, id: &str, word: &str, key: Option<&str>) -> Result<(), ServiceError> {
    let lesson = Lesson::new([Event::new(["x"]), Event::new([word])]);
    service.learn_batch(id, vec![lesson], key)?.wait().map(drop)
}

/// Fills a directory: what is in files of the journal's tables, what its log alone has, and a knowledge
/// base. Returns a session of each.
fn fill(dir: &Path) -> [String; 2] {
    let service = Service::open(dir, options(false)).unwrap();
    let folded = create(&service, NODES[0]).unwrap();
    learn(&service, &folded, "a", Some("key")).unwrap();
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir, options(false)).unwrap();
    let early = create(&service, NODES[1]).unwrap();
    learn(&service, &early, "a", Some("other")).unwrap();
    observe(&service, &early);
    let run = "run".parse().unwrap();
    let record = json!({"some": "state"});
    service.replace_run_record(&run, 0, record).unwrap();
    let journal = service.shared.journal.as_ref().unwrap();
    journal.tables().write_files();
    let late = create(&service, NODES[1]).unwrap();
    learn(&service, &late, "b", Some("later")).unwrap();
    observe(&service, &late);
    // Not closed: as after a kill.
    [early, late]
}

fn observe(service: &Service, id: &str) {
    let observed = service.observe(id, Observation::strings(["seen"]), None);
    observed.unwrap().wait().unwrap();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

fn text_of(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(|error| format!("{error}; ")).collect()
}

/// Checks that an error names the file, or a directory of it below this one, and what to do.
fn check_told(text: &str, data: &Path, file: &Path, advice: &str) -> Result<(), String> {
    let mut named = file.ancestors().take_while(|path| *path != data);
    let is_named = named.any(|path| text.contains(&path.display().to_string()));
    match is_named && text.contains(advice) {
        true => Ok(()),
        false => Err(format!("it says {text}")),
    }
}

/// Uses all that there may be; says what cannot be used.
fn use_all(service: &Service, sessions: &[String]) -> Result<(), ServiceError> {
    for node in NODES {
        let id = create(service, node)?;
        learn(service, &id, "new", None)?;
        assert!(service.symbols(node)?.contains_key("new"));
    }
    for id in sessions {
        match service.stm(id) {
            // Without its last write where that was lost.
            Ok(stm) => assert!(stm.len() <= 1),
            Err(ServiceError::SessionNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    service.run_record(&"run".parse().unwrap())?;
    service.maintain().map(drop)
}

/// Opens a directory, uses all that is left, and closes it.
fn open_and_use(data: &Path, sessions: &[String], accepts: bool) -> Result<(), String> {
    let service = Service::open(data, options(accepts)).map_err(|error| text_of(&error))?;
    use_all(&service, sessions).map_err(|error| {
        let losses = service.losses();
        let losses = losses.iter().map(|loss| format!("{loss}; "));
        losses.collect::<String>() + &text_of(&error)
    })?;
    service.close().map_err(|error| text_of(&error))
}

/// Opens a directory with a file that was harmed, does what it says until it is well, and says what is
/// wrong.
fn try_one(data: &Path, file: &Path, sessions: &[String], accepts: bool) -> Result<(), String> {
    let advice = "serve --accept-losses";
    let mut tried = open_and_use(data, sessions, accepts);
    if let Err(text) = &tried {
        check_told(text, data, file, advice)?;
        // Of a knowledge base that is damaged, the advice is to move it away as well.
        let bases = NODES.map(|node| data.join("nodes").join(format!("{node}_kato")));
        let base = bases.iter().find(|base| file.starts_with(base));
        match base {
            Some(base) if base.exists() => fs::rename(base, data.join("away")).unwrap(),
            Some(_) => {}
            None if accepts => return Err(format!("accepted, it says {text}")),
            None => {}
        }
        tried = open_and_use(data, sessions, true);
    }
    tried.map_err(|text| format!("as it advised, it says {text}"))?;
    // What was accepted once is not met again.
    let lines = || fs::read_to_string(data.join("LOSSES")).unwrap_or_default();
    let before = lines();
    for _ in 0..2 {
        open_and_use(data, sessions, false).map_err(|text| format!("later it says {text}"))?;
    }
    match lines() == before {
        true => Ok(()),
        false => Err(format!("met again: {}", lines())),
    }
}

/// Makes a directory in memory, if there is one: every start flushes much.
fn directory() -> TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    dir.unwrap()
}

#[test]
fn keys_are_forgotten_in_time_whose_times_are_lost() {
    let dir = directory();
    let clock = Arc::new(ManualClock::at(UNIX_EPOCH));
    let retention = Duration::from_secs(3600);
    let open = |accepts| {
        let options = options(accepts).with_key_retention(retention);
        Service::open(dir.path(), options.with_clock(Arc::clone(&clock) as _)).unwrap()
    };
    let service = open(false);
    let id = create(&service, NODES[0]).unwrap();
    for key in ["one", "two", "three"] {
        learn(&service, &id, key, Some(key)).unwrap();
    }
    let tables = service.shared.journal.as_ref().unwrap().tables();
    tables.write_files();
    let times = tables.path(Table::KeyTimes).to_owned();
    service.close().unwrap();
    drop(service);
    // With the log, from which the database would restore them.
    fs::remove_dir_all(&times).unwrap();
    let is_log = |path: &PathBuf| path.extension().is_some_and(|name| name == "jnl");
    let logs = files(dir.path()).into_iter().filter(is_log);
    assert_eq!(logs.map(fs::remove_file).map(Result::unwrap).count(), 1);

    let service = open(true);
    clock.advance(retention / 2);
    assert_eq!(service.maintain().unwrap().keys_forgotten, 0);
    clock.advance(retention / 2);
    assert_eq!(service.maintain().unwrap().keys_forgotten, 3);
}

#[test]
fn every_file_that_is_lost_is_told_and_can_be_gone_on_without() {
    let whole = directory();
    let sessions = fill(whole.path());
    let all = files(whole.path());
    let below_tables = all
        .iter()
        .filter(|path| path.parent().unwrap().ends_with("tables"));
    assert!(below_tables.count() >= 8, "{all:?}");
    let cases: Vec<_> = all
        .iter()
        .enumerate()
        .flat_map(|(idx, file)| {
            let places = match is_thorough() {
                true => (0..9).collect(),
                false => vec![idx % 9],
            };
            let turned = places.into_iter().map(Harm::Turned);
            let harms = [Harm::Removed, Harm::Emptied, Harm::Cut].into_iter();
            harms.chain(turned).map(move |harm| (file, harm))
        })
        .flat_map(|(file, harm)| [true, false].map(|accepts| (file, harm, accepts)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((file, harm, accepts)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let dir = directory();
                    copy(whole.path(), dir.path());
                    let relative = file.strip_prefix(whole.path()).unwrap();
                    let file = dir.path().join(relative);
                    harm.harm(&file);
                    if let Err(text) = try_one(dir.path(), &file, &sessions, *accepts) {
                        let what = format!("{} {harm:?} {accepts}: {text}", relative.display());
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
