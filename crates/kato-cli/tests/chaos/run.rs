//! One run: a schedule carried out, then left alone until it is done.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kato_mongo_server::MongoServer;
use kato_mongodb::MongoRuns;
use serde_json::Value;

use crate::backends::Backend;
use crate::disk::limited;
use crate::learned::Learned;
use crate::place::Place;
use crate::proxy::Proxy;
use crate::report::{counters, stderr};
use crate::schedule::{Damage, Disturbance, Event, Schedule, Session};
use crate::site::{Served, Site, Stock};
use crate::trainer::Trainer;

/// A session that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(240);
/// How long a server is away that has died by itself.
const AWAY: Duration = Duration::from_millis(150);
/// How often a session is looked at.
const STEP: Duration = Duration::from_micros(500);
/// Sessions without disturbance until a run is done, at most: a stock server's is allowed to give
/// up on an answer that was lost just before, and no other one is.
const CALM_SESSIONS: usize = 3;

/// What happened in all runs.
#[derive(Default)]
pub(crate) struct Tally {
    sessions: AtomicU64,
    disturbances: AtomicU64,
    damages: AtomicU64,
    full_disks: AtomicU64,
    doubts: AtomicU64,
    /// Of servers, by themselves.
    deaths: AtomicU64,
    /// What came of requests without an answer in sessions that got done, by the report's key.
    answers: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    /// Adds what the report of a session says of requests without an answer.
    fn add(&self, output: &Output) {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let Some(doubts) = report["server"]["doubts"].as_object() else {
            return;
        };
        let mut answers = self.answers.lock().unwrap();
        for (key, n) in doubts {
            *answers.entry(key.clone()).or_default() += n.as_u64().unwrap_or(0);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sessions, disturbances, damages, full_disks, doubts, deaths] = [
            &self.sessions,
            &self.disturbances,
            &self.damages,
            &self.full_disks,
            &self.doubts,
            &self.deaths,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        write!(
            f,
            "{sessions} sessions, {disturbances} disturbances, {damages} damaged checkpoints, {full_disks} ended by a full disk, \
             {doubts} by doubt, {deaths} servers that died by themselves"
        )?;
        let answers = self.answers.lock().unwrap();
        if answers.values().any(|n| *n > 0) {
            write!(f, "; without an answer: {answers:?}")?;
        }
        Ok(())
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What ends a disturbance that lasts.
#[derive(Debug, Clone, Copy)]
enum Relief {
    Trainer,
    ServerGoesOn,
    ServerStarts,
    ServerHasSpace,
    Speed,
}

pub(crate) struct Run<'a> {
    backend: Backend,
    place: Place,
    mongodb: Option<String>,
    site: Site<'a>,
    proxy: Option<Proxy>,
    /// Documents of the last commit that was told of.
    committed: u64,
    began: Instant,
    story: Vec<String>,
}

impl<'a> Run<'a> {
    /// A run in a folder of its own; on this server, if it is one in a MongoDB.
    pub(crate) fn new(backend: Backend, seed: u64, mongodb: Option<&'a mut MongoServer>) -> Self {
        let place = Place::new(backend, format!("run{seed}"));
        Self {
            backend,
            mongodb: mongodb.as_ref().map(|server| server.uri()),
            site: mongodb.map_or(Site::Directory, Site::Mongodb),
            place,
            proxy: None,
            committed: 0,
            began: Instant::now(),
            story: Vec::new(),
        }
    }

    /// What happened when, in milliseconds.
    pub(crate) fn story(&self) -> String {
        self.story.join("\n")
    }

    /// Leaves the folder behind.
    pub(crate) fn keep(&mut self) -> &Path {
        self.place.keep()
    }

    fn tell(&mut self, what: impl fmt::Display) {
        let line = format!("{:>7} {what}", self.began.elapsed().as_millis());
        self.story.push(line);
    }

    /// Carries out a schedule, and compares what is known in the end.
    ///
    /// # Panics
    ///
    /// When a session ends otherwise than it may, or something is known that should not be, or is
    /// not that should.
    pub(crate) fn carry_out(&mut self, schedule: &Schedule, tally: &Tally) {
        let expected = Learned::undisturbed(self.backend);
        self.began = Instant::now();
        self.set_up(schedule);
        let mut done = None;
        for (idx, session) in schedule.sessions.iter().enumerate() {
            if let Some(damage) = session.damage {
                self.damage(damage, tally);
            }
            done = self.session(schedule, session, idx > 0, tally);
            if done.is_some() {
                break;
            }
        }
        for _ in 0..CALM_SESSIONS {
            if done.is_none() {
                done = self.session(schedule, &Session::calm(), true, tally);
            }
        }
        let output = done.expect("left alone, a run gets done");
        self.proxy = None;
        self.site.terminate();
        let found = Learned::of(&self.place, self.backend, &output, self.mongodb.as_deref());
        found.assert_equals(expected, self.backend.keeps_sightings());
        if let Some(uri) = &self.mongodb {
            let runs = MongoRuns::connect(uri).unwrap();
            runs.delete(&self.place.run().parse().unwrap()).unwrap();
        }
    }

    fn set_up(&mut self, schedule: &Schedule) {
        if self.backend.is_ours() {
            let is_plain = self.backend == Backend::Plain;
            self.site = Site::Served(Served::new(self.place.dir(), is_plain, schedule.durability));
        }
        if let Some(slowness) = &schedule.slowness {
            self.site = Site::Stock(Box::new(Stock::start(self.place.dir(), slowness)));
        }
        self.site.start();
        if !schedule.direct {
            self.proxy = self.site.addr().map(Proxy::start);
        }
    }

    /// One life of the trainer; its output, if it got done.
    fn session(
        &mut self,
        schedule: &Schedule,
        session: &Session,
        resume: bool,
        tally: &Tally,
    ) -> Option<Output> {
        count(&tally.sessions);
        let mut trainer = self.start_trainer(schedule, session, resume);
        let signals = self.play(session, &mut trainer, tally);
        self.committed = self.committed.max(trainer.committed());
        let output = trainer.output();
        let (code, message) = (output.status.code(), stderr(&output));
        self.tell(format!("it ended: {}, {message}", output.status));
        match (code, output.status.signal()) {
            (Some(0), _) => {
                assert_eq!(counters(&output)["complete"], true);
                tally.add(&output);
                return Some(output);
            }
            (Some(130), _) | (None, Some(15)) if signals.interrupted => {}
            (None, Some(9)) if signals.killed => {}
            (Some(5), _) if session.full_disk.is_some() && is_about_space(&message) => {
                count(&tally.full_disks);
            }
            (Some(1 | 4 | 6), _) if self.backend.is_forgetful() && is_doubt(&message) => {
                count(&tally.doubts);
            }
            _ => panic!("a session ended by {}: {message}", output.status),
        }
        None
    }

    fn start_trainer(&mut self, schedule: &Schedule, session: &Session, resume: bool) -> Trainer {
        let addr = self.proxy.as_ref().map(Proxy::addr).or(self.site.addr());
        let to = match (self.backend, addr) {
            (Backend::Mongodb, Some(addr)) => format!("mongodb://{addr}/?directConnection=true"),
            (_, Some(addr)) => format!("kato:http://{addr}"),
            (_, None) => String::new(),
        };
        let mut arguments = session.arguments();
        if !matches!(self.backend, Backend::Embedded | Backend::Mongodb) {
            arguments.extend(["--batch", schedule.batch]);
        }
        if let Some(slowness) = &schedule.slowness {
            arguments.extend(slowness.arguments());
        }
        if self.backend == Backend::Plain {
            // It is never silent for long.
            arguments.extend(["--settle", "0.3"]);
        }
        if resume && self.place.is_begun(self.mongodb.as_deref()) {
            arguments.push("--resume");
        }
        let command = self.place.train(&to, &arguments);
        self.tell(format!("train {}", arguments.join(" ")));
        Trainer::start(match session.full_disk {
            Some(blocks) => limited(&command, blocks),
            None => command,
        })
    }

    /// Disturbs a session until its trainer ends, and ends what lasts.
    fn play(&mut self, session: &Session, trainer: &mut Trainer, tally: &Tally) -> Signals {
        let (began, base) = (Instant::now(), self.committed);
        let mut signals = Signals::default();
        let mut reliefs: Vec<(Instant, Relief)> = Vec::new();
        let mut events = session.events.iter().peekable();
        // Since when only the delay of the next event is to be waited for.
        let mut since = Some(began);
        while !trainer.ends_within(STEP) {
            let now = Instant::now();
            assert!(now < began + LONGEST, "it hangs");
            let (due, later) = reliefs.into_iter().partition(|(at, _)| *at <= now);
            reliefs = later;
            self.relieve(due, trainer);
            if self.site.is_dead() && reliefs.is_empty() {
                count(&tally.deaths);
                self.tell("the server is dead");
                reliefs.push((now + AWAY, Relief::ServerStarts));
            }
            if let Some(event) = events.peek()
                && is_time(
                    event,
                    &mut since,
                    trainer.committed() >= base + event.documents,
                    now,
                )
            {
                count(&tally.disturbances);
                self.tell(format!("{:?}", event.what));
                let relief = self.disturb(event.what, trainer, &mut signals);
                reliefs.extend(relief.map(|(after, relief)| (Instant::now() + after, relief)));
                events.next();
                let counts_documents = events.peek().is_some_and(|next| next.documents > 0);
                since = (!counts_documents).then(Instant::now);
            }
        }
        self.relieve(reliefs, trainer);
        if let Some(proxy) = &self.proxy {
            proxy.calm();
        }
        signals
    }

    fn disturb(
        &mut self,
        what: Disturbance,
        trainer: &mut Trainer,
        signals: &mut Signals,
    ) -> Option<(Duration, Relief)> {
        let proxy = self.proxy.as_ref();
        match what {
            Disturbance::KillTrainer => {
                trainer.kill();
                signals.killed = true;
            }
            Disturbance::InterruptTrainer => {
                trainer.signal("TERM");
                signals.interrupted = true;
            }
            Disturbance::StopTrainer(time) => {
                trainer.signal("STOP");
                return Some((time, Relief::Trainer));
            }
            Disturbance::KillServer(time) => {
                self.site.kill();
                return Some((time, Relief::ServerStarts));
            }
            Disturbance::StopServer(time) => {
                self.site.signal("STOP");
                return Some((time, Relief::ServerGoesOn));
            }
            Disturbance::FillServerDisk(blocks, time) => {
                self.site.kill();
                self.site.start_limited(blocks);
                return Some((time, Relief::ServerHasSpace));
            }
            Disturbance::Cut => proxy.into_iter().for_each(Proxy::cut),
            Disturbance::CutRequest(bytes) => {
                proxy.into_iter().for_each(|proxy| proxy.cut_request(bytes));
            }
            Disturbance::CutReply(bytes) => {
                proxy.into_iter().for_each(|proxy| proxy.cut_reply(bytes));
            }
            Disturbance::Crawl(time) => {
                proxy.into_iter().for_each(|proxy| proxy.crawl(true));
                return Some((time, Relief::Speed));
            }
        }
        None
    }

    fn relieve(&mut self, due: Vec<(Instant, Relief)>, trainer: &Trainer) {
        for (_, relief) in due {
            match relief {
                Relief::Trainer => trainer.signal("CONT"),
                Relief::ServerGoesOn => self.site.signal("CONT"),
                Relief::ServerStarts => self.site.start(),
                Relief::ServerHasSpace => {
                    self.site.kill();
                    self.site.start();
                }
                Relief::Speed => self.proxy.iter().for_each(|proxy| proxy.crawl(false)),
            }
            self.tell(format!("end: {relief:?}"));
        }
    }

    /// Damages the newest checkpoint, if there is one before it and the one before it was not
    /// damaged as well.
    fn damage(&mut self, damage: Damage, tally: &Tally) {
        let Some([newest, previous]) = self.place.checkpoints() else {
            return;
        };
        let inode = |path: &Path| fs::metadata(path).map(|file| file.ino()).ok();
        // Right before a commit both names are of one file: it is the only checkpoint then.
        if inode(&previous).is_none() || inode(&previous) == inode(&newest) {
            return;
        }
        let Ok(mut bytes) = fs::read(&newest) else {
            return;
        };
        let n_bytes = bytes.len() as f64;
        let at = |place: f64| (place * n_bytes) as usize;
        match damage {
            Damage::Flip { place, bit } => {
                let byte = bytes.get_mut(at(place));
                byte.into_iter().for_each(|byte| *byte ^= 1 << bit);
            }
            Damage::Cut { place } => bytes.truncate(at(place)),
        }
        fs::write(&newest, &bytes).unwrap();
        // One copy of a manifest is no loss, both are; a run that has committed no document before
        // could not tell its corpus then.
        let twin = newest.with_added_extension("twin");
        let is_told =
            fs::read_to_string(&previous).is_ok_and(|it| !it.contains("\"checkpoint\": null"));
        if matches!(damage, Damage::Cut { .. }) && twin.exists() && is_told {
            fs::write(&twin, &bytes).unwrap();
        }
        self.tell(format!("{damage:?}"));
        count(&tally.damages);
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // It serves the next run, too.
        if let Site::Mongodb(_) = self.site {
            self.site.signal("CONT");
            self.site.start();
        }
    }
}

/// What the trainer was sent that ends it.
#[derive(Default)]
struct Signals {
    killed: bool,
    interrupted: bool,
}

/// Whether an event's documents are committed, and its delay since then is over.
fn is_time(event: &Event, since: &mut Option<Instant>, reached: bool, now: Instant) -> bool {
    if since.is_none() && reached {
        *since = Some(now);
    }
    since.is_some_and(|since| reached && now >= since + event.delay)
}

fn is_about_space(message: &str) -> bool {
    message.contains("no space left") || message.contains("File too large")
}

/// Whether a session gave up because nobody can tell whether a request was carried out.
fn is_doubt(message: &str) -> bool {
    message.contains("it may have acted or not")
        || message.contains("knows more than it was taught")
}
