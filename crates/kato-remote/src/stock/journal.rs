//! The journal of what was sent to a stock server and is in no commit: a file that is written
//! before anything is sent.
//!
//! A line is the CRC-32 of a record in hexadecimal digits, a blank, and the record as JSON.
//! *Planned* records reach the disk before their learn calls are sent; *arrived* records need not,
//! because a lost one only means that somebody asks. A line that a crash left half-written is cut
//! off; anything else that does not fit is damage, and an error.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use kato_model::PatternName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::arrival_search::Doubtful;
use crate::RemoteError;
use crate::error::{failed, refused};
use crate::state::replace_file_by;

/// One level of the documents that go together: the number of the first of them, and the level.
pub(crate) type WorkKey = (u64, usize);

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Record {
    /// These learn calls may be sent from now on, behind those that were planned before.
    Planned {
        work: u64,
        level: usize,
        calls: Vec<PlannedCall>,
    },
    /// A session that requests go to from now on.
    Session { level: usize, id: String },
    /// A session that nothing goes to any more, and in which nothing is at work.
    Closed { id: String },
    /// These of the planned calls, by place, are known to the server.
    Arrived {
        work: u64,
        level: usize,
        places: Range<usize>,
    },
    /// Planned calls from a place on were not learned, and are not sent before they are planned again.
    Unsent {
        work: u64,
        level: usize,
        from: usize,
    },
    /// Patterns whose counts are to be compared in the end.
    Doubted {
        level: usize,
        names: Vec<PatternName>,
    },
    /// Patterns of which the server holds a part only.
    Torn {
        level: usize,
        names: Vec<PatternName>,
    },
    /// Patterns that were taught, one for every so many works, in the order of time.
    Landmarks {
        level: usize,
        every: u64,
        works: u64,
        names: Vec<PatternName>,
    },
}

/// A learn call: the pattern's name, and its metadata if there is any.
#[derive(Debug, Serialize, Deserialize)]
struct PlannedCall(
    PatternName,
    #[serde(default, skip_serializing_if = "Map::is_empty")] Map<String, Value>,
);

impl From<&Doubtful> for PlannedCall {
    fn from(call: &Doubtful) -> Self {
        Self(call.name, call.metadata.clone())
    }
}

/// The progress of one level of documents that go together.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The calls that were planned, in the order in which they are sent.
    pub(crate) calls: Vec<Doubtful>,
    /// Whether the server is known to have learned each of them.
    pub(crate) arrived: Vec<bool>,
}

/// The journal of a run.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The reason why a record could not be written: half a line may stand at the end, which
    /// nothing may follow.
    broken: Option<(io::ErrorKind, String)>,
    works: BTreeMap<WorkKey, Progress>,
    /// Sessions that may be at work, with their level.
    sessions: BTreeMap<String, usize>,
    doubted: BTreeMap<usize, BTreeSet<PatternName>>,
    torn: BTreeMap<usize, BTreeSet<PatternName>>,
    landmarks: BTreeMap<usize, Landmarks>,
}

/// Landmarks of a level that are kept at most.
const MOST_LANDMARKS: usize = 32;

/// Patterns of a level that tell whether it still knows what it was taught at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Landmarks {
    /// One in so many works is kept.
    every: u64,
    /// Works so far.
    works: u64,
    names: Vec<PatternName>,
}

impl Default for Landmarks {
    fn default() -> Self {
        Self {
            every: 1,
            works: 0,
            names: Vec::new(),
        }
    }
}

impl Landmarks {
    /// Takes in a work by its first pattern.
    fn pass(&mut self, name: PatternName) {
        if self.works.is_multiple_of(self.every) {
            self.names.push(name);
        }
        self.works += 1;
        if self.names.len() > MOST_LANDMARKS {
            // Every second one, so that they stay evenly spread, the first among them.
            let mut keeps = false;
            self.names.retain(|_| {
                keeps = !keeps;
                keeps
            });
            self.every *= 2;
        }
    }
}

impl Journal {
    /// Begins the journal of a new run.
    pub(crate) fn create(path: &Path) -> Result<(), RemoteError> {
        replace_file_by(path, |_| Ok(()))
    }

    /// Opens the journal of a run.
    ///
    /// # Errors
    ///
    /// When there is none, or it is damaged.
    pub(crate) fn open(path: &Path) -> Result<Self, RemoteError> {
        let read = failed("read", path);
        let text = std::fs::read(path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                let reason = "it is gone, so nobody knows what was sent and not committed: put it back, or begin a new run under another name";
                return refused("find", path, reason);
            }
            read(error)
        })?;
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(failed("open", path))?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            broken: None,
            works: BTreeMap::new(),
            sessions: BTreeMap::new(),
            doubted: BTreeMap::new(),
            torn: BTreeMap::new(),
            landmarks: BTreeMap::new(),
        };
        let mut whole = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match parse(line) {
                Some(record) => journal.apply_record(record),
                // The end of the file: a crash came before the line was flushed, so nothing was
                // sent because of it. A whole line was flushed and may have been acted on, so it is
                // not left out however late it is.
                None if !line.ends_with(b"\n") => break,
                None => {
                    let reason = format!(
                        "it is damaged at byte {whole}: put a copy back, or begin a new run under another name"
                    );
                    return Err(refused("read", path, reason));
                }
            }
            whole += line.len();
        }
        // Cut off, because a record that followed it would make a damaged line in the middle.
        if whole < text.len() {
            let cut = || -> io::Result<()> {
                journal.file.set_len(whole as u64)?;
                journal.file.sync_all()
            };
            cut().map_err(failed("mend", path))?;
        }
        Ok(journal)
    }

    /// Returns whether nothing was ever planned that is still kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Returns the progress of a work; `None` where nothing was planned.
    pub(crate) fn progress(&self, key: WorkKey) -> Option<&Progress> {
        self.works.get(&key)
    }

    /// Returns the sessions of a level in which a process may have left something at work.
    pub(crate) fn sessions(&self, level: usize) -> Vec<String> {
        let of_level = |(id, of): (&String, &usize)| (*of == level).then(|| id.clone());
        self.sessions.iter().filter_map(of_level).collect()
    }

    /// Returns the works of a level from a document on that have calls which were planned and are
    /// not known to have arrived.
    pub(crate) fn open_works(&self, level: usize, from: u64) -> Vec<WorkKey> {
        let is_open = |(key, progress): (&WorkKey, &Progress)| {
            let open = progress.arrived.iter().any(|arrived| !arrived);
            (key.1 == level && key.0 >= from && open).then_some(*key)
        };
        self.works.iter().filter_map(is_open).collect()
    }

    /// Returns how many learn calls of each pattern are known to have arrived, in works of a level
    /// from a document on.
    pub(crate) fn arrived(&self, level: usize, from: u64) -> HashMap<PatternName, u64> {
        let mut n: HashMap<PatternName, u64> = HashMap::new();
        for ((_, _), progress) in self
            .works
            .iter()
            .filter(|((work, of), _)| *of == level && *work >= from)
        {
            let calls = progress.calls.iter().zip(&progress.arrived);
            for (call, _) in calls.filter(|(_, arrived)| **arrived) {
                *n.entry(call.name).or_default() += 1;
            }
        }
        n
    }

    /// Returns the patterns whose counts are to be compared in the end, by level.
    pub(crate) fn doubted(&self) -> &BTreeMap<usize, BTreeSet<PatternName>> {
        &self.doubted
    }

    /// Returns how many learn calls of a pattern may still arrive, in works of a level from a
    /// document on.
    pub(crate) fn pending(&self, level: usize, from: u64, name: PatternName) -> u64 {
        let works = self.works.iter();
        let open = works
            .filter(|((work, of), _)| *of == level && *work >= from)
            .flat_map(|(_, progress)| progress.calls.iter().zip(&progress.arrived))
            .filter(|(call, arrived)| call.name == name && !**arrived);
        open.count() as u64
    }

    /// Returns patterns that a level was taught, from the first on evenly spread over the time of
    /// the run.
    pub(crate) fn landmarks(&self, level: usize) -> &[PatternName] {
        self.landmarks
            .get(&level)
            .map_or(&[], |landmarks| &landmarks.names)
    }

    /// Returns the patterns of a level of which the server holds a part only.
    pub(crate) fn torn(&self, level: usize) -> &BTreeSet<PatternName> {
        const NONE: &BTreeSet<PatternName> = &BTreeSet::new();
        self.torn.get(&level).unwrap_or(NONE)
    }

    /// Makes sure that a crash from now on knows of patterns that the server holds in part only;
    /// returns those that are new.
    pub(crate) fn tear(
        &mut self,
        level: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<Vec<PatternName>, RemoteError> {
        let known = self.torn(level);
        let names: BTreeSet<PatternName> = names
            .into_iter()
            .filter(|name| !known.contains(name))
            .collect();
        let names: Vec<PatternName> = names.into_iter().collect();
        if !names.is_empty() {
            let names = names.clone();
            self.append([Record::Torn { level, names }])?;
            self.sync()?;
        }
        Ok(names)
    }

    /// Makes sure that a crash from now on knows that these calls may have been sent.
    pub(crate) fn plan(
        &mut self,
        (work, level): WorkKey,
        calls: &[Doubtful],
    ) -> Result<(), RemoteError> {
        let calls = calls.iter().map(PlannedCall::from).collect();
        self.append([Record::Planned { work, level, calls }])?;
        self.sync()
    }

    /// Makes sure that a crash from now on knows that a session may be at work.
    pub(crate) fn use_session(&mut self, level: usize, id: &str) -> Result<(), RemoteError> {
        if self.sessions.contains_key(id) {
            return Ok(());
        }
        let id = id.to_owned();
        self.append([Record::Session { level, id }])?;
        self.sync()
    }

    /// Notes that nothing is at work in a session any more, nor will be.
    pub(crate) fn close_session(&mut self, id: &str) -> Result<(), RemoteError> {
        // Not flushed: if the line is lost, the session is waited for once more.
        match self.sessions.contains_key(id) {
            true => self.append([Record::Closed { id: id.to_owned() }]),
            false => Ok(()),
        }
    }

    /// Notes that planned calls, by place, have arrived.
    pub(crate) fn arrive(
        &mut self,
        (work, level): WorkKey,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<(), RemoteError> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for place in places {
            match ranges.last_mut() {
                Some(range) if range.end == place => range.end += 1,
                _ => ranges.push(place..place + 1),
            }
        }
        self.append(ranges.into_iter().map(|places| Record::Arrived {
            work,
            level,
            places,
        }))
    }

    /// Takes back what was planned behind the last call that has arrived: it is known not to have been learned.
    pub(crate) fn take_back(&mut self, (work, level): WorkKey) -> Result<(), RemoteError> {
        let Some(progress) = self.works.get(&(work, level)) else {
            return Ok(());
        };
        let last = progress.arrived.iter().rposition(|arrived| *arrived);
        let from = last.map_or(0, |last| last + 1);
        match from < progress.calls.len() {
            // Not flushed: if the line is lost, the calls are asked about.
            true => self.append([Record::Unsent { work, level, from }]),
            false => Ok(()),
        }
    }

    /// Remembers patterns whose counts are to be compared in the end.
    pub(crate) fn doubt(
        &mut self,
        level: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<(), RemoteError> {
        let known = self.doubted.get(&level);
        let is_new = |name: &PatternName| known.is_none_or(|known| !known.contains(name));
        let names: BTreeSet<PatternName> = names.into_iter().filter(is_new).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = names.into_iter().collect();
        self.append([Record::Doubted { level, names }])?;
        self.sync()
    }

    /// Makes what was appended durable.
    pub(crate) fn sync(&self) -> Result<(), RemoteError> {
        self.file.sync_data().map_err(failed("write", &self.path))
    }

    /// Forgets works before a document: they are in a commit, and so is the one that a damaged
    /// commit would go back to.
    pub(crate) fn forget_before(&mut self, document: u64) -> Result<(), RemoteError> {
        for ((_, level), progress) in self.works.range(..(document, 0)) {
            if let Some(first) = progress.calls.first() {
                self.landmarks.entry(*level).or_default().pass(first.name);
            }
        }
        self.works.retain(|(work, _), _| *work >= document);
        self.rewrite()
    }

    /// Forgets works from a number on.
    pub(crate) fn forget_from(&mut self, work: u64) -> Result<(), RemoteError> {
        let before = self.works.len();
        self.works.retain(|(number, _), _| *number < work);
        match self.works.len() == before {
            true => Ok(()),
            false => self.rewrite(),
        }
    }

    /// Forgets what was to be compared.
    pub(crate) fn compared(&mut self) -> Result<(), RemoteError> {
        self.doubted.clear();
        self.rewrite()
    }

    /// Replaces the file by one of what is kept.
    fn rewrite(&mut self) -> Result<(), RemoteError> {
        let records = self.records();
        replace_file_by(&self.path, |file| {
            records
                .iter()
                .try_for_each(|record| file.write_all(&line(record)?))
        })?;
        // The old handle leads to the file that was replaced.
        self.file = OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(failed("open", &self.path))?;
        Ok(())
    }

    /// Returns everything that is kept, as records.
    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for (id, level) in &self.sessions {
            let (id, level) = (id.clone(), *level);
            records.push(Record::Session { level, id });
        }
        for (level, names) in &self.doubted {
            let names = names.iter().copied().collect();
            records.push(Record::Doubted {
                level: *level,
                names,
            });
        }
        for (level, names) in &self.torn {
            let names = names.iter().copied().collect();
            records.push(Record::Torn {
                level: *level,
                names,
            });
        }
        for (level, landmarks) in &self.landmarks {
            records.push(Record::Landmarks {
                level: *level,
                every: landmarks.every,
                works: landmarks.works,
                names: landmarks.names.clone(),
            });
        }
        for ((work, level), progress) in &self.works {
            let (work, level) = (*work, *level);
            let calls = progress.calls.iter().map(PlannedCall::from).collect();
            // Ahead of the records about its places, which mean nothing without it.
            records.push(Record::Planned { work, level, calls });
            let mut begin = None;
            // One place more than there is ends the last range.
            for place in 0..=progress.arrived.len() {
                let arrived = progress.arrived.get(place) == Some(&true);
                match (arrived, begin) {
                    (true, None) => begin = Some(place),
                    (false, Some(first)) => {
                        let places = first..place;
                        records.push(Record::Arrived {
                            work,
                            level,
                            places,
                        });
                        begin = None;
                    }
                    _ => {}
                }
            }
        }
        records
    }

    /// Appends records to the file, then applies them.
    fn append(&mut self, records: impl IntoIterator<Item = Record>) -> Result<(), RemoteError> {
        let mut text = Vec::new();
        let mut taken = Vec::new();
        for record in records {
            text.extend(line(&record).map_err(failed("write", &self.path))?);
            taken.push(record);
        }
        // A whole line behind half a line would be part of a damaged one.
        if let Some((kind, reason)) = &self.broken {
            let reason = format!("an earlier record could not be written: {reason}");
            return Err(failed("write", &self.path)(io::Error::new(*kind, reason)));
        }
        // One write, so that a crash of this process leaves all of it or none.
        self.file.write_all(&text).map_err(|error| {
            self.broken = Some((error.kind(), error.to_string()));
            failed("write", &self.path)(error)
        })?;
        // Behind the writing: nothing counts as known that the file does not say.
        taken
            .into_iter()
            .for_each(|record| self.apply_record(record));
        Ok(())
    }

    /// Adds a record to what is known.
    fn apply_record(&mut self, record: Record) {
        match record {
            Record::Planned { work, level, calls } => {
                let progress = self.works.entry((work, level)).or_default();
                for PlannedCall(name, metadata) in calls {
                    progress.calls.push(Doubtful { name, metadata });
                    progress.arrived.push(false);
                }
            }
            Record::Session { level, id } => drop(self.sessions.insert(id, level)),
            Record::Closed { id } => drop(self.sessions.remove(&id)),
            Record::Arrived {
                work,
                level,
                places,
            } => {
                if let Some(progress) = self.works.get_mut(&(work, level))
                    && let Some(arrived) = progress.arrived.get_mut(places)
                {
                    arrived.fill(true);
                }
            }
            Record::Unsent { work, level, from } => {
                if let Some(progress) = self.works.get_mut(&(work, level)) {
                    progress.calls.truncate(from);
                    progress.arrived.truncate(from);
                }
            }
            Record::Doubted { level, names } => {
                self.doubted.entry(level).or_default().extend(names);
            }
            Record::Torn { level, names } => self.torn.entry(level).or_default().extend(names),
            Record::Landmarks {
                level,
                every,
                works,
                names,
            } => {
                let landmarks = Landmarks {
                    every: every.max(1),
                    works,
                    names,
                };
                self.landmarks.insert(level, landmarks);
            }
        }
    }
}

/// Returns the line of a record.
fn line(record: &Record) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    let mut line = format!("{:08x} ", crc32fast::hash(&json)).into_bytes();
    line.extend(json);
    line.push(b'\n');
    Ok(line)
}

/// Reads a line; `None` when it is not whole, or damaged.
fn parse(line: &[u8]) -> Option<Record> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, json) = line.split_at_checked(9)?;
    let sum = std::str::from_utf8(sum).ok()?.strip_suffix(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (crc32fast::hash(json) == sum).then(|| serde_json::from_slice(json).ok())?
}

#[cfg(test)]
mod tests {
    use kato_advice::ErrorClass;

    use super::*;

    fn call(n: u32) -> Doubtful {
        Doubtful {
            name: PatternName::of_events(&[[n.to_string()], ["x".to_owned()]]),
            metadata: match n % 3 {
                0 => Map::from_iter([("title".to_owned(), Value::from(n))]),
                _ => Map::new(),
            },
        }
    }

    fn calls(numbers: Range<u32>) -> Vec<Doubtful> {
        numbers.map(call).collect()
    }

    fn journal(dir: &Path) -> Journal {
        let path = dir.join("journal");
        Journal::create(&path).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        journal.plan((0, 0), &calls(0..5)).unwrap();
        journal.use_session(0, "session-1").unwrap();
        journal.arrive((0, 0), 0..5).unwrap();
        journal.plan((8, 0), &calls(3..9)).unwrap();
        journal.arrive((8, 0), [0, 1, 4]).unwrap();
        journal.use_session(1, "session-2").unwrap();
        journal.plan((8, 1), &calls(1..3)).unwrap();
        journal.close_session("session-2").unwrap();
        journal.doubt(0, [call(3).name]).unwrap();
        journal.tear(1, [call(2).name]).unwrap();
        journal
    }

    fn state(journal: &Journal) -> String {
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            journal.works, journal.sessions, journal.doubted, journal.torn, journal.landmarks
        )
    }

    #[test]
    fn what_was_not_sent_is_taken_back_behind_what_has_arrived() {
        let dir = tempfile::tempdir().unwrap();
        let mut written = journal(dir.path());
        for key in [(0, 0), (8, 0), (8, 1), (9, 9)] {
            written.take_back(key).unwrap();
        }
        let read = Journal::open(&dir.path().join("journal")).unwrap();
        assert_eq!(state(&read), state(&written));
        let planned = |key| read.progress(key).map(|progress| progress.calls.len());
        assert_eq!(
            [(0, 0), (8, 0), (8, 1), (9, 9)].map(planned),
            [Some(5), Some(5), Some(0), None]
        );
        // What lies in front of something that has arrived stays open.
        assert_eq!(
            (read.open_works(0, 0), read.open_works(1, 0)),
            (vec![(8, 0)], vec![])
        );
        written.plan((8, 1), &calls(1..3)).unwrap();
        assert_eq!(written.open_works(1, 0), [(8, 1)]);
    }

    #[test]
    fn what_was_written_is_known_again() {
        let dir = tempfile::tempdir().unwrap();
        let written = journal(dir.path());
        let read = Journal::open(&dir.path().join("journal")).unwrap();
        assert_eq!(state(&read), state(&written));
        assert_eq!(read.open_works(0, 0), [(8, 0)]);
        assert_eq!(read.open_works(1, 0), [(8, 1)]);
        assert_eq!(read.open_works(1, 9), []);
        assert_eq!(read.sessions(0), ["session-1"]);
        assert_eq!(read.arrived(0, 0)[&call(3).name], 2);
        assert_eq!(read.arrived(0, 8)[&call(3).name], 1);
        assert!(read.doubted()[&0].contains(&call(3).name));
        assert!(read.torn(1).contains(&call(2).name));
        assert_eq!(read.pending(0, 0, call(5).name), 1);
        assert_eq!(read.pending(0, 0, call(3).name), 0);
        assert_eq!(read.pending(0, 9, call(5).name), 0);
    }

    #[test]
    fn landmarks_begin_with_the_first_and_are_spread_over_all_works() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        Journal::create(&path).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        for n in 0..500 {
            let work = u64::from(n);
            journal.plan((work, 0), &calls(n..n + 2)).unwrap();
            // A commit for every third.
            if n % 3 == 0 {
                journal.forget_before(work).unwrap();
            }
        }
        let names = journal.landmarks(0);
        assert!(
            (16..=MOST_LANDMARKS).contains(&names.len()),
            "{}",
            names.len()
        );
        for (idx, name) in names.iter().enumerate() {
            assert_eq!(*name, call(16 * idx as u32).name);
        }
        let read = Journal::open(&path).unwrap();
        assert_eq!(read.landmarks(0), names);
        assert_eq!(read.landmarks(1), []);
    }

    #[test]
    fn a_journal_written_anew_says_the_same_of_what_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut written = journal(dir.path());
        written.forget_before(8).unwrap();
        assert!(written.progress((0, 0)).is_none());
        written.arrive((8, 0), [2]).unwrap();
        let read = Journal::open(&dir.path().join("journal")).unwrap();
        assert_eq!(state(&read), state(&written));
        assert_eq!(
            read.progress((8, 0)).unwrap().arrived,
            [true, true, true, false, true, false]
        );
    }

    #[test]
    fn works_are_forgotten_before_a_number_or_from_it_on() {
        let keys = |journal: &Journal| journal.works.keys().copied().collect::<Vec<_>>();
        let all = [(0, 0), (8, 0), (8, 1)];
        for number in [0, 1, 8, 9] {
            for is_before in [true, false] {
                let dir = tempfile::tempdir().unwrap();
                let mut written = journal(dir.path());
                assert_eq!(keys(&written), all);
                match is_before {
                    true => written.forget_before(number).unwrap(),
                    false => written.forget_from(number).unwrap(),
                }
                let kept = all
                    .into_iter()
                    .filter(|(work, _)| (*work < number) != is_before);
                assert_eq!(keys(&written), kept.collect::<Vec<_>>());
                let read = Journal::open(&dir.path().join("journal")).unwrap();
                assert_eq!(state(&read), state(&written));
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn behind_a_record_without_room_none_is_written_for_the_same_reason() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = journal(dir.path());
        let file = std::mem::replace(&mut journal.file, File::create("/dev/full").unwrap());
        let first = journal.use_session(0, "session-3").unwrap_err();
        assert_eq!(first.class(), ErrorClass::NoRoom);
        // Also where there would be room again.
        journal.file = file;
        let second = journal.use_session(0, "session-3").unwrap_err();
        assert_eq!(second.class(), ErrorClass::NoRoom);
    }

    #[test]
    fn a_line_that_a_crash_cut_is_left_out_and_damage_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        drop(journal(dir.path()));
        let text = std::fs::read(&path).unwrap();
        for cut in (1..text.len()).step_by(13) {
            std::fs::write(&path, &text[..cut]).unwrap();
            let mut read = Journal::open(&path).unwrap();
            // What is appended then is whole.
            read.plan((99, 2), &calls(0..1)).unwrap();
            let again = Journal::open(&path).unwrap();
            assert_eq!(state(&again), state(&read), "cut at {cut}");
        }
        let first = text.iter().position(|byte| *byte == b'\n').unwrap();
        // The last line, too: its calls may have been sent.
        for at in [0, 9, first - 1, text.len() - 2] {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            let error = Journal::open(&path).unwrap_err();
            assert!(
                matches!(error, RemoteError::State { action: "read", .. }),
                "{error:?}"
            );
        }
        // A call whose name is none is not left out: the places of those behind it would move.
        let json = r#"{"planned":{"work":99,"level":0,"calls":[["no name"]]}}"#;
        let nameless = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        std::fs::write(&path, [text.as_slice(), nameless.as_bytes()].concat()).unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(
            matches!(error, RemoteError::State { action: "read", .. }),
            "{error:?}"
        );
        std::fs::remove_file(&path).unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(
            matches!(error, RemoteError::State { action: "find", .. }),
            "{error:?}"
        );
    }
}
