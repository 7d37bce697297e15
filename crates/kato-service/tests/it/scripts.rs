//! Any script of operations, with the service closed or dropped and opened again anywhere in it,
//! does what it does without.

use std::time::Duration;

use kato_engine::{Observation, Sequence};
use kato_service::answer::NewSession;
use kato_service::clock::ManualClock;
use kato_service::{Receipt, Service, ServiceError, ServiceOptions};
use kato_test_needs::is_thorough;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{known, lesson, object, settings, timed, words};

/// One step of a script; sessions by number, those there are not yet or no more included.
#[derive(Debug, Clone)]
enum Step {
    Create {
        node: u8,
        ttl: u64,
        length: u8,
    },
    Observe {
        session: usize,
        word: u8,
        joy: bool,
    },
    Sequence {
        session: usize,
        words: [u8; 2],
        learns: bool,
    },
    Learn {
        session: usize,
        key: Option<u8>,
    },
    Batch {
        session: usize,
        word: u8,
        key: Option<u8>,
    },
    Clear {
        session: usize,
        all: bool,
    },
    Configure {
        session: usize,
        length: u8,
    },
    Genes {
        node: u8,
        length: u8,
    },
    Extend {
        session: usize,
        seconds: i64,
    },
    Delete {
        session: usize,
    },
    Wait {
        seconds: u64,
    },
    Maintain,
    /// Only the service under test is opened again.
    Reopen {
        closes: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..4_usize;
    let key = proptest::option::of(0..6_u8);
    prop_oneof![
        3 => (0..2_u8, 0..40_u64, 0..4_u8).prop_map(|(node, ttl, length)| Step::Create { node, ttl, length }),
        6 => (session.clone(), 0..4_u8, any::<bool>()).prop_map(|(session, word, joy)| Step::Observe { session, word, joy }),
        3 => (session.clone(), any::<[u8; 2]>(), any::<bool>())
            .prop_map(|(session, words, learns)| Step::Sequence { session, words: words.map(|word| word % 4), learns }),
        3 => (session.clone(), key.clone()).prop_map(|(session, key)| Step::Learn { session, key }),
        3 => (session.clone(), 0..4_u8, key).prop_map(|(session, word, key)| Step::Batch { session, word, key }),
        1 => (session.clone(), any::<bool>()).prop_map(|(session, all)| Step::Clear { session, all }),
        1 => (session.clone(), 0..4_u8).prop_map(|(session, length)| Step::Configure { session, length }),
        1 => (0..2_u8, 0..4_u8).prop_map(|(node, length)| Step::Genes { node, length }),
        1 => (session.clone(), 0..60_i64).prop_map(|(session, seconds)| Step::Extend { session, seconds }),
        1 => session.prop_map(|session| Step::Delete { session }),
        2 => (0..20_u64).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Maintain),
        4 => any::<bool>().prop_map(|closes| Step::Reopen { closes }),
    ]
}

/// A service under a script, with its sessions and what it answered.
struct Run {
    service: Service,
    clock: std::sync::Arc<ManualClock>,
    ids: Vec<String>,
    answers: Vec<String>,
}

impl Run {
    fn of(service: Service, clock: std::sync::Arc<ManualClock>) -> Self {
        Self {
            service,
            clock,
            ids: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn id(&self, session: usize) -> &str {
        self.ids.get(session).map_or("none", String::as_str)
    }

    fn note<T: std::fmt::Debug>(&mut self, done: Result<Receipt<T>, ServiceError>) {
        let answer = done.and_then(|receipt| {
            let replayed = receipt.replayed();
            receipt.wait().map(|value| format!("{replayed} {value:?}"))
        });
        let mut answer = answer.unwrap_or_else(|error| format!("{error:?}"));
        for (n, id) in self.ids.iter().enumerate() {
            answer = answer.replace(id, &format!("<{n}>"));
        }
        self.answers.push(without_unique_ids(&answer));
    }

    fn act(&mut self, step: &Step) {
        let word = |word: u8| ["a", "b", "c", "d"][usize::from(word)];
        let key_text = |key: &Option<u8>| key.map(|key| format!("k{key}"));
        let service = self.service.clone();
        match step {
            Step::Create { node, ttl, length } => {
                let new = NewSession {
                    ttl_seconds: Some(*ttl),
                    config: (*length > 0).then(|| object(json!({"max_pattern_length": length}))),
                    ..NewSession::new(format!("n{node}"))
                };
                let view = service.create_session(new).unwrap().wait().unwrap();
                self.ids.push(view.session_id);
            }
            Step::Observe {
                session,
                word: symbol,
                joy,
            } => {
                let mut observation = Observation::strings([word(*symbol)]);
                if *joy {
                    observation = observation.with_emotive("joy", 0.1);
                }
                self.note(service.observe(self.id(*session), observation, None));
            }
            Step::Sequence {
                session,
                words: symbols,
                learns,
            } => {
                let sequence = Sequence::new(words(symbols.map(word)));
                let sequence = if *learns {
                    sequence.learn_at_end()
                } else {
                    sequence
                };
                self.note(service.observe_sequence(self.id(*session), sequence, None));
            }
            Step::Learn { session, key } => {
                self.note(service.learn(self.id(*session), key_text(key).as_deref()));
            }
            Step::Batch {
                session,
                word: symbol,
                key,
            } => {
                let items = vec![lesson(["x", word(*symbol)]), lesson(["x"])];
                self.note(service.learn_batch(self.id(*session), items, key_text(key).as_deref()));
            }
            Step::Clear { session, all } => {
                let id = self.id(*session);
                let done = if *all {
                    service.clear_all(id, None)
                } else {
                    service.clear_stm(id, None)
                };
                self.note(done);
            }
            Step::Configure { session, length } => {
                let change = settings(json!({"max_pattern_length": length}));
                self.note(service.update_config(self.id(*session), change));
            }
            Step::Genes { node, length } => {
                let changes = object(json!({"max_pattern_length": length}));
                self.note(service.set_genes(&format!("n{node}"), &changes));
            }
            Step::Extend { session, seconds } => {
                self.note(service.extend_session(self.id(*session), *seconds));
            }
            Step::Delete { session } => self.note(service.delete_session(self.id(*session))),
            Step::Wait { seconds } => self.clock.advance(Duration::from_secs(*seconds)),
            Step::Maintain => drop(service.maintain().unwrap()),
            Step::Reopen { .. } => {}
        }
    }

    /// Everything that can be asked.
    fn state(&self) -> String {
        let mut state = String::new();
        for id in &self.ids {
            let mut view = self.service.session(id).ok();
            if let Some(view) = &mut view {
                view.session_id.clear();
            }
            let stm = self.service.stm(id).ok();
            let percept = self.service.percept(id).ok();
            let cognition = self.service.cognition(id).ok();
            state.push_str(&format!("{view:?} {stm:?} {percept:?} {cognition:?}\n"));
        }
        for node in ["n0", "n1"] {
            state.push_str(&known(&self.service, node));
            state.push_str(&format!("{:?}\n", self.service.genes(node)));
        }
        state
    }
}

/// The answer without the ids that are drawn.
fn without_unique_ids(answer: &str) -> String {
    let mut parts = answer.split("obs-");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("obs-");
        text.push_str(part.get(32..).unwrap_or_default());
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 16 } else { 6 }))]

    #[test]
    fn opening_again_changes_nothing(steps in proptest::collection::vec(step(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let (options, clock) = timed();
        let options: ServiceOptions = options.with_fold_after_learns(3);
        let mut run = Run::of(Service::open(dir.path(), options.clone()).unwrap(), clock);
        let (twin_options, twin_clock) = timed();
        let mut twin = Run::of(Service::in_memory(twin_options), twin_clock);
        for step in &steps {
            if let Step::Reopen { closes } = step {
                if *closes {
                    run.service.close().unwrap();
                }
                // The directory is free when the last handle is gone.
                run.service = Service::in_memory(ServiceOptions::default());
                run.service = Service::open(dir.path(), options.clone()).unwrap();
                prop_assert_eq!(run.state(), twin.state());
            }
            run.act(step);
            twin.act(step);
        }
        prop_assert_eq!(&run.answers, &twin.answers);
        prop_assert_eq!(run.state(), twin.state());
    }
}
