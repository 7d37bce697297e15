//! What was lost is told: every part of a service's directory is taken away, cut, turned or
//! replaced once, and never is an empty or older state served as if nothing had been.

use std::fs;
use std::path::{Path, PathBuf};

use kato_engine::Observation;
use kato_service::figures::DataLoss;
use kato_service::{Service, ServiceError, ServiceOptions};
use kato_test_needs::is_thorough;

use crate::support::{copy, create, files, frequency, known, lesson, teach};

fn open(dir: &Path) -> Result<Service, ServiceError> {
    Service::open(dir, ServiceOptions::default())
}

fn accept(dir: &Path) -> Service {
    Service::open(dir, ServiceOptions::default().with_accept_losses(true)).unwrap()
}

/// A directory with a folded node `n`, an unfolded one `m`, and a session of `n` with two words in
/// its short-term memory.
struct Filled {
    dir: tempfile::TempDir,
    session: String,
    /// The pattern of both nodes.
    pattern: String,
}

impl Filled {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let service = open(dir.path()).unwrap();
        let session = create(&service, "n");
        let pattern = teach(&service, &session, ["a", "b"]);
        service.close().unwrap();
        drop(service);
        let service = open(dir.path()).unwrap();
        teach(&service, &create(&service, "m"), ["a", "b"]);
        for word in ["c", "d"] {
            let observed = service.observe(&session, Observation::strings([word]), None);
            observed.unwrap().wait().unwrap();
        }
        // No close: as after a kill.
        drop(service);
        Self {
            dir,
            session,
            pattern,
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn assert_whole(&self) {
        let service = open(self.path()).unwrap();
        assert!(service.losses().is_empty(), "{:?}", service.losses());
        assert_eq!(service.figures().losses, 0);
        for node in ["n", "m"] {
            assert_eq!(frequency(&service, node, &self.pattern), 1, "{node}");
        }
        assert_eq!(service.stm(&self.session).unwrap().len(), 2);
    }
}

/// A directory with a node `n` that was taught once, folded; its session.
fn taught_once() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path()).unwrap();
    let id = create(&service, "n");
    teach(&service, &id, ["a", "b"]);
    service.close().unwrap();
    (dir, id)
}

/// The loss that an operation was refused for.
#[track_caller]
fn loss_of<T>(refused: Result<T, ServiceError>) -> DataLoss {
    match refused.map(drop) {
        Err(ServiceError::Lost { loss }) => loss,
        other => unreachable!("it was to be refused for a loss: {other:?}"),
    }
}

#[test]
fn a_knowledge_base_that_is_gone_is_no_empty_one() {
    let filled = Filled::new();
    let gone = filled.path().join("nodes/n_kato");
    let kept = filled.path().join("kept");
    fs::rename(&gone, &kept).unwrap();

    let service = open(filled.path()).unwrap();
    // Before anybody asks for the node.
    let told = service.losses();
    let [
        loss @ DataLoss::KnowledgeBase {
            node_id,
            path,
            folded: 1,
            found: None,
        },
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!((node_id.as_str(), path), ("n", &gone));
    assert_eq!(service.figures().losses, 1);
    assert!(loss.to_string().contains("nodes/n_kato is gone"), "{loss}");
    assert!(!loss.summary().contains("n_kato"));
    assert_eq!(&loss_of(service.symbols("n")), loss);
    assert_eq!(&loss_of(service.stm(&filled.session)), loss);
    assert_eq!(&loss_of(service.clear_all(&filled.session, None)), loss);
    let refused = service
        .learn(&filled.session, None)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("put it back from a copy"), "{refused}");
    // The others are served, and folded.
    assert_eq!(frequency(&service, "m", &filled.pattern), 1);
    // What is put back mends it, at once.
    fs::rename(&kept, &gone).unwrap();
    assert_eq!(frequency(&service, "n", &filled.pattern), 1);
    assert!(service.losses().is_empty());
    service.close().unwrap();
    drop(service);
    filled.assert_whole();
}

#[test]
fn a_knowledge_base_from_an_older_copy_is_not_taken_for_the_newest() {
    let (dir, id) = taught_once();
    let (nodes, older) = (dir.path().join("nodes/n_kato"), dir.path().join("older"));
    copy(&nodes, &older);
    let service = open(dir.path()).unwrap();
    teach(&service, &id, ["c", "d"]);
    teach(&service, &id, ["e", "f"]);
    service.close().unwrap();
    drop(service);
    fs::remove_dir_all(&nodes).unwrap();
    copy(&older, &nodes);

    let service = open(dir.path()).unwrap();
    let loss = loss_of(service.symbols("n"));
    assert!(matches!(
        loss,
        DataLoss::KnowledgeBase {
            folded: 3,
            found: Some(1),
            ..
        }
    ));
    assert_eq!(service.losses(), [loss]);
    drop(service);
    // Accepted, the rest is served, and the loss stays written down.
    let service = accept(dir.path());
    assert_eq!(service.symbols("n").unwrap().len(), 2);
    teach(&service, &id, ["g", "h"]);
    service.close().unwrap();
    drop(service);
    let service = open(dir.path()).unwrap();
    assert_eq!(service.symbols("n").unwrap().len(), 4);
    assert!(matches!(
        service.losses()[..],
        [DataLoss::Earlier { count: 1, .. }]
    ));
    let list = fs::read_to_string(dir.path().join("LOSSES")).unwrap();
    assert!(list.contains("ends with lessons number 1"), "{list}");
    drop(service);
    fs::remove_file(dir.path().join("LOSSES")).unwrap();
    assert!(open(dir.path()).unwrap().losses().is_empty());
}

#[test]
fn a_gap_in_a_nodes_lessons_is_told() {
    let (dir, id) = taught_once();
    // A copy made file by file: the knowledge base first, and the journal when lessons 2 and 3 had
    // been folded.
    let copied = tempfile::tempdir().unwrap();
    copy(&dir.path().join("nodes"), &copied.path().join("nodes"));
    for word in ["c", "d"] {
        let service = open(dir.path()).unwrap();
        teach(&service, &id, [word, word]);
        service.close().unwrap();
    }
    let service = open(dir.path()).unwrap();
    teach(&service, &id, ["e", "f"]);
    drop(service);
    for part in ["journal", "WITNESS"] {
        let from = dir.path().join(part);
        match from.is_dir() {
            true => copy(&from, &copied.path().join(part)),
            false => drop(fs::copy(from, copied.path().join(part)).unwrap()),
        }
    }
    let service = open(copied.path()).unwrap();
    assert!(matches!(
        loss_of(service.symbols("n")),
        DataLoss::KnowledgeBase {
            folded: 3,
            found: Some(1),
            ..
        }
    ));
    assert_eq!(service.losses().len(), 1);
    drop(service);
    let service = accept(copied.path());
    assert_eq!(service.symbols("n").unwrap().len(), 4);
}

fn remove(path: &Path) {
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn every_part_of_the_journal_that_is_gone_is_missed() {
    let filled = Filled::new();
    let journal = filled.path().join("journal");
    let mut parts = vec![
        journal.clone(),
        journal.join("version"),
        journal.join("keyspaces"),
    ];
    parts.extend(
        files(&journal)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "jnl")),
    );
    parts.extend((0..=9).map(|table| journal.join(format!("keyspaces/{table}"))));
    parts.extend((0..=9).map(|table| journal.join(format!("keyspaces/{table}/current"))));
    assert_eq!(parts.len(), 24);
    for part in parts {
        let relative = part.strip_prefix(filled.path()).unwrap();
        let copied = tempfile::tempdir().unwrap();
        copy(filled.path(), copied.path());
        remove(&copied.path().join(relative));
        let before = files(copied.path());

        let loss = loss_of(open(copied.path()));
        let DataLoss::Journal { path, reason } = &loss else {
            panic!("{loss:?}");
        };
        assert!(
            copied.path().join(relative).starts_with(path)
                || path.starts_with(copied.path().join(relative)),
            "{relative:?}: {loss}"
        );
        assert_eq!(reason, "it is gone");
        // Nothing was changed, and what is put back is whole.
        assert_eq!(files(copied.path()), before);
        if part.is_dir() {
            copy(&part, &copied.path().join(relative));
        } else {
            fs::copy(&part, copied.path().join(relative)).unwrap();
        }
        Filled {
            dir: copied,
            session: filled.session.clone(),
            pattern: filled.pattern.clone(),
        }
        .assert_whole();
    }
}

#[test]
fn a_journal_that_is_gone_can_be_gone_on_without() {
    let filled = Filled::new();
    remove(&filled.path().join("journal"));
    let service = accept(filled.path());
    assert!(!service.check(&filled.session));
    assert_eq!(frequency(&service, "n", &filled.pattern), 1);
    teach(&service, &create(&service, "n"), ["a", "b"]);
    service.close().unwrap();
    drop(service);
    let service = open(filled.path()).unwrap();
    assert!(matches!(service.losses()[..], [DataLoss::Earlier { .. }]));
    assert_eq!(frequency(&service, "n", &filled.pattern), 2);
}

#[test]
fn knowledge_bases_of_a_journal_that_is_gone_as_a_whole_are_not_served_without_it() {
    let filled = Filled::new();
    remove(&filled.path().join("journal"));
    remove(&filled.path().join("WITNESS"));
    // However often it is tried: nothing is made that would hide it.
    for _ in 0..2 {
        let loss = loss_of(open(filled.path()));
        assert!(
            matches!(&loss, DataLoss::Unwitnessed { reason, .. } if reason.contains("1 knowledge base")),
            "{loss:?}"
        );
    }
    let service = accept(filled.path());
    let told = service.losses();
    assert!(
        matches!(&told[..], [DataLoss::Unwitnessed { .. }]),
        "{told:?}"
    );
    assert_eq!(frequency(&service, "n", &filled.pattern), 1);
}

#[test]
fn a_witness_that_is_gone_is_told_and_another_ones_is_refused() {
    let filled = Filled::new();
    remove(&filled.path().join("WITNESS"));
    let service = open(filled.path()).unwrap();
    assert!(matches!(
        service.losses()[..],
        [DataLoss::Unwitnessed { .. }]
    ));
    assert_eq!(service.stm(&filled.session).unwrap().len(), 2);
    drop(service);
    remove(&filled.path().join("LOSSES"));
    filled.assert_whole();

    let other = Filled::new();
    fs::copy(other.path().join("WITNESS"), filled.path().join("WITNESS")).unwrap();
    let loss = loss_of(open(filled.path()));
    assert!(
        loss.to_string()
            .contains("not the journal that was here before"),
        "{loss}"
    );
}

/// The one log file of a small journal, and its bytes without the zeros at the end.
fn log_file(dir: &Path) -> (PathBuf, Vec<u8>) {
    let path = dir.join("journal/0.jnl");
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    bytes.truncate(used);
    (path, bytes)
}

#[test]
fn a_journal_that_was_cut_short_says_how_much_is_lost() {
    let filled = Filled::new();
    let (_, bytes) = log_file(filled.path());
    let (mut n_torn, mut n_refused) = (0, 0);
    // Near the end, where a write or two are lost, and further from it.
    let last = (bytes.len() - 1200..bytes.len()).step_by(41);
    for length in (1..bytes.len() - 1200).step_by(1999).chain(last) {
        let copied = tempfile::tempdir().unwrap();
        copy(filled.path(), copied.path());
        let (path, bytes) = log_file(copied.path());
        fs::write(&path, &bytes[..length]).unwrap();
        let service = match open(copied.path()) {
            // What had been on the disk is missed, also a second time.
            Err(ServiceError::Lost {
                loss:
                    ref loss @ DataLoss::Tail {
                        bytes,
                        were_flushed,
                        is_cut_off,
                        ..
                    },
            }) => {
                assert!(were_flushed && !is_cut_off);
                // Nothing was done, and the bytes are there.
                let told = [loss.to_string(), loss.summary()];
                assert!(told.iter().all(|told| !told.contains("cut off")));
                assert!(
                    told.iter()
                        .all(|told| told.contains("ends with") == (bytes > 0))
                );
                assert_eq!(fs::read(&path).unwrap().len(), length);
                assert!(matches!(
                    open(copied.path()),
                    Err(ServiceError::Lost { .. })
                ));
                n_refused += 1;
                accept(copied.path())
            }
            // So short that even the making of the tables is not there any more.
            Err(ServiceError::Lost { .. }) => continue,
            opened => opened.unwrap(),
        };
        let told = service.losses();
        let Some(DataLoss::Tail {
            bytes: cut_off,
            writes,
            were_flushed,
            is_cut_off: true,
            ..
        }) = told.first()
        else {
            panic!("cut at {length} of {}: {told:?}", bytes.len());
        };
        assert!(*writes > 0);
        assert_eq!(told[0].to_string().contains("cut off"), *cut_off > 0);
        assert_eq!(service.figures().journal_bytes_cut_off, *cut_off);
        n_torn += u32::from(*cut_off > 0);
        // The two observations after the last learn were not flushed.
        let learned = service.symbols("m").unwrap_or_default().len();
        assert_eq!(
            *were_flushed,
            learned == 0 || *writes > 3,
            "cut at {length}"
        );
        service.close().unwrap();
        drop(service);
        // A restart does not hide it, and finds nothing new.
        let service = open(copied.path()).unwrap();
        assert!(
            service
                .losses()
                .iter()
                .any(|loss| matches!(loss, DataLoss::Earlier { .. }))
        );
        teach(&service, &create(&service, "later"), ["a", "b"]);
        drop(service);
        let list = fs::read_to_string(copied.path().join("LOSSES")).unwrap();
        assert_eq!(
            list.lines()
                .filter(|line| line.contains("ends too early"))
                .count(),
            1
        );
    }
    assert!(n_torn > 20, "{n_torn}");
    assert!(n_refused > 3, "{n_refused}");
}

#[test]
fn a_write_that_was_broken_off_is_cut_off_and_no_loss() {
    let filled = Filled::new();
    let (path, mut bytes) = log_file(filled.path());
    let whole = bytes.len();
    // As a kill in the middle of a write leaves it: the first bytes of another one.
    let again = bytes[..whole / 2].to_vec();
    bytes.extend_from_slice(&again[..40]);
    // The beginning of a write that has a start and no end.
    fs::write(&path, &bytes).unwrap();
    let service = open(filled.path()).unwrap();
    assert!(service.losses().is_empty());
    assert_eq!(service.figures().journal_bytes_cut_off, 40);
    drop(service);
    filled.assert_whole();
}

/// What a session and the nodes have.
fn state(service: &Service, session: &str) -> Result<String, ServiceError> {
    let stm = service.stm(session)?;
    service.symbols("n")?;
    service.symbols("m")?;
    Ok(format!(
        "{stm:?} {} {}",
        known(service, "n"),
        known(service, "m")
    ))
}

#[test]
fn no_flipped_bit_of_the_journal_passes() {
    let filled = Filled::new();
    let service = open(filled.path()).unwrap();
    // Two sessions of the same node, whose memories are written again and again.
    let other = create(&service, "n");
    for word in ["e", "f", "g"] {
        for id in [&filled.session, &other] {
            let observed = service.observe(id, Observation::strings([word]), None);
            observed.unwrap().wait().unwrap();
        }
    }
    let whole = state(&service, &filled.session).unwrap() + &state(&service, &other).unwrap();
    drop(service);
    let (_, bytes) = log_file(filled.path());
    let starts = bytes.len() - 3000;
    let places = (starts..bytes.len())
        .step_by(if is_thorough() { 7 } else { 37 })
        .chain((0..starts).step_by(1009));
    for at in places {
        let copied = tempfile::tempdir().unwrap();
        copy(filled.path(), copied.path());
        let (path, mut bytes) = log_file(copied.path());
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        let Ok(service) = open(copied.path()) else {
            continue;
        };
        let is_told = !service.losses().is_empty();
        let found =
            state(&service, &filled.session).and_then(|one| Ok(one + &state(&service, &other)?));
        let is_whole = found.is_ok_and(|found| found == whole);
        assert!(
            is_told || is_whole,
            "a flip at {at} of {} passed",
            bytes.len()
        );
    }
}

#[test]
fn a_flip_in_the_middle_names_the_file_and_the_place_and_destroys_nothing() {
    let filled = Filled::new();
    let (path, bytes) = log_file(filled.path());
    let mut damaged = bytes.clone();
    // In the place of an early write, which the database's own checksums do not cover.
    let at = bytes
        .windows(5)
        .position(|five| five == b"FJL\x03\x01")
        .unwrap()
        + 4;
    damaged[at + 5] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let loss = loss_of(open(filled.path()));
    let DataLoss::Journal {
        path: named,
        reason,
    } = &loss
    else {
        panic!("{loss:?}");
    };
    assert_eq!(named, &path);
    assert!(
        reason.starts_with(&format!("from byte {at} on the order of writes")),
        "{reason}"
    );
    assert_eq!(fs::read(&path).unwrap(), damaged);
    // Accepted, it is cut there, and what was cut off is kept.
    let service = accept(filled.path());
    assert!(
        service
            .losses()
            .iter()
            .any(|loss| matches!(loss, DataLoss::Tail { .. }))
    );
    service.close().unwrap();
    drop(service);
    assert_eq!(fs::read(path.with_extension("jnl.lost")).unwrap(), damaged);
    assert!(open(filled.path()).is_ok());
}

#[test]
fn a_file_of_a_table_that_is_gone_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path()).unwrap();
    let id = create(&service, "n");
    // Enough for the database to write its tables to files.
    let long = "x".repeat(100_000);
    for n in 0..60 {
        let word = format!("{n}{long}");
        service
            .learn_batch(&id, vec![lesson([&word, "b"])], None)
            .unwrap()
            .wait()
            .unwrap();
    }
    service.close().unwrap();
    drop(service);
    let tables = files(&dir.path().join("journal/keyspaces"));
    let table = tables
        .iter()
        .filter(|path| path.parent().unwrap().ends_with("tables"));
    let table = table
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    assert!(fs::metadata(table).unwrap().len() > 1_000_000);
    fs::remove_file(table).unwrap();
    let loss = loss_of(open(dir.path()));
    let is_named = matches!(&loss, DataLoss::Journal { path, .. } if path == table);
    assert!(is_named, "{loss}");
}
