//! Finding out what arrived of requests without an answer, once the server is done with them.
//!
//! **When is it done?** No time tells. A request that had begun ends when a question of its session
//! has had its turn, and one that comes later finds no session (`KatoClient::fence`). What that
//! does not reach, such as a second process of the server, shows as learn calls that still appear:
//! so the first pattern that is missing of every request is asked for again and again, and the
//! server is done when none of them has changed for the settling time, for ten times what a learn
//! call takes, and for three times what a question takes, whichever is longest. While it changes,
//! it is waited for, however long.
//!
//! **The limit.** A server that keeps a request for longer than that without a sign, and answers
//! questions meanwhile, is found out only in the end, when the patterns that were in doubt are
//! compared with what was taught.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use futures_util::stream;
use kato_advice::counted;
use kato_model::PatternName;
use kato_protocol::node::PatternBody;

use super::arrival_search::{ArrivalSearch, Doubtful, PatternAnswer, TooMany};
use super::{Level, Stock, UnansweredRequest};
use crate::RemoteError;
use crate::error::{lost, teach};

/// Patterns that an error names at most.
const NAMED: usize = 5;

/// Questions under way at a time.
const QUESTIONS: usize = 8;

/// Looks at a server during the time for which it must be quiet.
const LOOKS: u32 = 8;

/// Multiple of the time of a question for which a server must have been quiet.
const ASKS: u32 = 3;

/// The silence after which a server is taken to be done.
#[derive(Debug)]
struct Silence {
    /// The settling time, which it never falls below.
    settle: Duration,
    /// The longest time that a round of questions took.
    slowest: Duration,
}

impl Silence {
    /// Starts without any question asked.
    const fn new(settle: Duration) -> Self {
        Self {
            settle,
            slowest: Duration::ZERO,
        }
    }

    /// Takes in how long a round of questions took.
    fn record_round(&mut self, took: Duration) {
        self.slowest = self.slowest.max(took);
    }

    /// Returns how long the server must be quiet, where its learn calls ask for so long.
    fn needed(&self, for_learn_calls: Duration) -> Duration {
        let for_questions = self.slowest.saturating_mul(ASKS);
        self.settle.max(for_learn_calls).max(for_questions)
    }
}

impl Stock {
    /// Returns whether it can be found out what arrived of a request without an answer: not of a node that was
    /// taught before.
    pub(crate) const fn can_find_out(&self) -> bool {
        !self.settings.onto_taught
    }

    /// Settles what a process before this one has left at work on a level.
    pub(super) async fn settle_left(&self, level_idx: usize) -> Result<(), RemoteError> {
        let (unanswered, sessions) = {
            let ledger = self.ledger();
            let keys = ledger.journal.open_works(level_idx, ledger.committed);
            let request = |key| {
                let progress = ledger.journal.progress(key)?;
                let places = progress.arrived.iter().enumerate();
                let open = places.filter_map(|(place, arrived)| (!arrived).then_some(place));
                Some(UnansweredRequest {
                    key,
                    places: open.collect(),
                    session: String::new(),
                })
            };
            let unanswered: Vec<UnansweredRequest> = keys.into_iter().filter_map(request).collect();
            (unanswered, ledger.journal.sessions(level_idx))
        };
        self.settle(level_idx, &unanswered, sessions).await
    }

    /// Settles what is in doubt on a level, unless another worker has done that meanwhile.
    pub(super) async fn settle_level(&self, level_idx: usize) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        // What is under way ends first, with an answer or without one.
        let _alone = level.teaching_lock.write().await;
        let unanswered = level.unanswered().clone();
        let sessions: BTreeSet<String> = unanswered
            .iter()
            .map(|request| request.session.clone())
            .collect();
        self.settle(level_idx, &unanswered, sessions.into_iter().collect())
            .await?;
        // Not before: whoever settles them may fail, or wait no longer.
        level.unanswered().clear();
        Ok(())
    }

    /// Waits until the server is done with requests, and finds out what arrived of them.
    async fn settle(
        &self,
        level_idx: usize,
        unanswered: &[UnansweredRequest],
        sessions: Vec<String>,
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        if !unanswered.is_empty() {
            if !self.can_find_out() {
                let reason = "nobody knows what became of a request, and of a node that was taught before nobody can find out: begin a new run";
                return Err(teach(&level.client, reason));
            }
            let fences = sessions.iter().map(|id| level.client.fence(id));
            try_join_all(fences)
                .await
                .map_err(|error| teach(&level.client, error))?;
            // What is not known may as well be out of reach, or lost.
            self.control(level_idx).await?;
            self.find_out(level_idx, unanswered).await?;
        }
        let mut ledger = self.ledger();
        sessions
            .iter()
            .try_for_each(|id| ledger.journal.close_session(id))
    }

    /// Asks what arrived of requests until the server is quiet, and writes it down.
    async fn find_out(
        &self,
        level_idx: usize,
        unanswered: &[UnansweredRequest],
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        let requests = self.calls_of(unanswered);
        let names: BTreeSet<PatternName> =
            requests.iter().flatten().map(|call| call.name).collect();
        // Before any question: also if this process dies now, these patterns are compared in the
        // end.
        self.ledger()
            .journal
            .doubt(level_idx, names.iter().copied())?;
        // Stays right while the server is asked: nothing is sent to the node meanwhile, and a
        // commit only moves counts that are in here already.
        let known = self.known(level_idx, names)?;
        let mut search = ArrivalSearch::new(requests);
        let mut silence = Silence::new(self.settings.settle);
        self.solve(level_idx, &known, &mut search, &mut silence)
            .await?;
        if !search.is_complete() {
            self.counts.watched.fetch_add(1, Ordering::Relaxed);
        }
        let mut quiet = Instant::now();
        while !search.is_complete() {
            let needed = silence.needed(self.sizer().quiet());
            tokio::time::sleep(needed / LOOKS).await;
            let start = Instant::now();
            let mut is_moving = false;
            let answers = self.ask_all(level_idx, &known, search.frontier());
            for (name, found) in answers.await? {
                is_moving |= search.is_news(&name, &found);
                search
                    .record_answer(name, found)
                    .map_err(|error| too_many(level, error))?;
            }
            silence.record_round(start.elapsed());
            if is_moving {
                self.counts.moved.fetch_add(1, Ordering::Relaxed);
                self.solve(level_idx, &known, &mut search, &mut silence)
                    .await?;
                quiet = Instant::now();
            } else if start.duration_since(quiet) >= needed {
                // Answers that were given while it was at work are given once more.
                let before = search.frontier();
                search.ask_again();
                self.solve(level_idx, &known, &mut search, &mut silence)
                    .await?;
                // The same is missing after a whole time of silence: it will not come any more.
                if search.frontier() == before {
                    break;
                }
                quiet = Instant::now();
            }
        }
        if let Some(name) = search.without_metadata() {
            let reason = format!(
                "the server counted a learn call of pattern {name} and has not its metadata, as it has when it dies between the two: begin a new run"
            );
            return Err(teach(&level.client, reason));
        }
        self.record(level_idx, unanswered, &search.outcome())
    }

    /// Returns the calls that are in doubt.
    fn calls_of(&self, unanswered: &[UnansweredRequest]) -> Vec<Vec<Doubtful>> {
        let ledger = self.ledger();
        let calls = |request: &UnansweredRequest| {
            let progress = ledger.journal.progress(request.key);
            let call = |place: &usize| progress?.calls.get(*place).cloned();
            request.places.iter().filter_map(call).collect()
        };
        unanswered.iter().map(calls).collect()
    }

    /// Asks until nothing is unknown, and takes in how long each round of questions took.
    async fn solve(
        &self,
        level_idx: usize,
        known: &HashMap<PatternName, u64>,
        search: &mut ArrivalSearch,
        silence: &mut Silence,
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        loop {
            let questions = search.questions();
            if questions.is_empty() {
                return Ok(());
            }
            let start = Instant::now();
            for (name, found) in self.ask_all(level_idx, known, questions).await? {
                search
                    .record_answer(name, found)
                    .map_err(|error| too_many(level, error))?;
            }
            silence.record_round(start.elapsed());
        }
    }

    /// Writes down what arrived, and counts it.
    fn record(
        &self,
        level_idx: usize,
        unanswered: &[UnansweredRequest],
        outcome: &[Vec<bool>],
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        for (calls, arrived) in self.calls_of(unanswered).iter().zip(outcome) {
            let calls = calls.iter().zip(arrived);
            let missing = calls.filter_map(|(call, arrived)| (!arrived).then_some(call.name));
            self.suspect(level_idx, missing);
        }
        let counts = &self.counts;
        let add = |count: &std::sync::atomic::AtomicU64, n: usize| {
            count.fetch_add(n as u64, Ordering::Relaxed);
        };
        let mut ledger = self.ledger();
        for (request, arrived) in unanswered.iter().zip(outcome) {
            let places: Vec<usize> = request
                .places
                .iter()
                .zip(arrived)
                .filter_map(|(place, arrived)| arrived.then_some(*place))
                .collect();
            add(&counts.requests, 1);
            add(&counts.calls, arrived.len());
            add(&counts.arrived, places.len());
            add(&level.finished, places.len());
            add(&counts.missing, arrived.len() - places.len());
            tracing::debug!(
                work = request.key.0,
                level = request.key.1,
                calls = arrived.len(),
                arrived = places.len(),
                "found out what arrived"
            );
            ledger.journal.arrive(request.key, places)?;
        }
        ledger.journal.sync()
    }
}

impl Stock {
    /// Asks what the server knows of patterns beyond what it is known to have learned.
    ///
    /// What it learned last may not show yet: a pattern that it knows too few learn calls of is asked
    /// for again, until the settling time has passed. Where it knows none of them at all, or not even
    /// one any more that it has just known, its database may be away, and it is asked for as long as
    /// the server may be.
    pub(super) async fn ask_all(
        &self,
        level_idx: usize,
        known: &HashMap<PatternName, u64>,
        mut names: Vec<PatternName>,
    ) -> Result<Vec<(PatternName, PatternAnswer)>, RemoteError> {
        let (level, settings) = (&self.levels[level_idx], &self.settings);
        let torn = self.ledger().journal.torn(level_idx).clone();
        let start = Instant::now();
        let mut found = Vec::new();
        let mut control = Control::default();
        loop {
            let mut short = Vec::new();
            // Before the questions: answers that take long may be older than the settling time.
            let elapsed = start.elapsed();
            control.begin(level).await?;
            for (name, pattern) in patterns(level, names).await? {
                control.note(name, pattern.is_some());
                let (frequency, metadata) = pattern.map_or_else(Default::default, |pattern| {
                    (pattern.frequency, pattern.metadata)
                });
                let taught = known.get(&name).copied().unwrap_or(0);
                match frequency.checked_sub(taught) {
                    Some(excess) => found.push((name, PatternAnswer { excess, metadata })),
                    // Whatever is learned of it, nobody sees it.
                    None if torn.contains(&name) => found.push((name, PatternAnswer::default())),
                    None => short.push((name, frequency, taught)),
                }
            }
            if short.is_empty() {
                return Ok(found);
            }
            let is_any_known = control.end(level, elapsed >= settings.settle).await?;
            if elapsed >= settings.patience_for(is_any_known) {
                let doubted = self.doubted(level_idx);
                let is_torn = |(name, frequency, _): &(PatternName, u64, u64)| {
                    *frequency == 0 && doubted.contains(name)
                };
                if self.can_tear() && is_any_known && short.iter().all(is_torn) {
                    self.tear(level_idx, short.iter().map(|(name, ..)| *name))?;
                    // Nobody sees them, whatever was learned.
                    let unseen =
                        |(name, ..): (PatternName, u64, u64)| (name, PatternAnswer::default());
                    found.extend(short.into_iter().map(unseen));
                    return Ok(found);
                }
                let difference = |(name, frequency, taught): &(PatternName, u64, u64)| {
                    let calls = counted(*frequency, "learn call");
                    format!("{calls} of pattern {name} instead of {taught}")
                };
                let differences = short.iter().take(NAMED).map(difference);
                return Err(lost(&level.client, differences.collect()));
            }
            tokio::time::sleep(settings.settle / LOOKS).await;
            names = short.into_iter().map(|(name, ..)| name).collect();
        }
    }
}

/// A pattern that the server has known a moment ago, by which a database that is away is told from a
/// pattern that is missing: it is asked for in front of the questions that count, and again behind them.
#[derive(Debug, Default)]
pub(super) struct Control {
    name: Option<PatternName>,
    /// Whether the round that is under way may be the one that counts.
    counts: bool,
    is_there: bool,
}

impl Control {
    /// Begins a round of questions.
    pub(super) async fn begin(&mut self, level: &Level) -> Result<(), RemoteError> {
        self.is_there = self.counts && self.is_known(level).await?;
        Ok(())
    }

    /// Notes an answer of the round.
    pub(super) fn note(&mut self, name: PatternName, is_known: bool) {
        if is_known {
            self.name.get_or_insert(name);
        }
    }

    /// Ends the round, and returns whether the database was there all the time, as far as that can be
    /// told; the next round counts if this one had counted but for that.
    pub(super) async fn end(&mut self, level: &Level, counts: bool) -> Result<bool, RemoteError> {
        self.counts = counts;
        Ok(self.is_there && self.is_known(level).await?)
    }

    /// Returns whether the server knows the pattern now.
    async fn is_known(&self, level: &Level) -> Result<bool, RemoteError> {
        let Some(name) = self.name else {
            return Ok(false);
        };
        let found = patterns(level, vec![name]).await?;
        Ok(found.iter().any(|(_, pattern)| pattern.is_some()))
    }
}

/// Asks for the server's patterns of these names, some at a time.
pub(super) async fn patterns(
    level: &Level,
    names: Vec<PatternName>,
) -> Result<Vec<(PatternName, Option<PatternBody>)>, RemoteError> {
    let mut answers = stream::iter(names)
        .map(|name| async move { (name, level.client.pattern(&name).await) })
        .buffer_unordered(QUESTIONS);
    let mut found = Vec::new();
    while let Some((name, answer)) = answers.next().await {
        found.push((name, answer.map_err(|error| teach(&level.client, error))?));
    }
    Ok(found)
}

/// Creates the error that the server counted a pattern more often than it can have been taught.
fn too_many(level: &Level, error: TooMany) -> RemoteError {
    let TooMany {
        name,
        excess,
        doubtful,
    } = error;
    RemoteError::Miscounted {
        node: level.client.node_id().to_owned(),
        differences: vec![format!(
            "{} of pattern {name} beyond those that are known to have been carried out, and {doubtful} were in doubt",
            counted(excess, "learn call")
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silence_is_the_longest_of_what_asks_for_one() {
        let seconds = Duration::from_secs;
        let mut silence = Silence::new(seconds(5));
        assert_eq!(silence.needed(seconds(1)), seconds(5));
        assert_eq!(silence.needed(seconds(9)), seconds(9));
        // The slowest round counts, whenever it was asked.
        for took in [1, 4, 2] {
            silence.record_round(seconds(took));
        }
        assert_eq!(silence.needed(seconds(9)), seconds(12));
        silence.record_round(Duration::MAX);
        assert_eq!(silence.needed(seconds(9)), Duration::MAX);
    }
}
