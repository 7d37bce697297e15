//! Fuzz target for the sessions of a node: whatever is asked of them, they remember what they
//! should, or refuse and remember what they did.

mod model;
mod steps;

use std::sync::Arc;

use kato_engine::{Engine, EngineOptions, SessionConfig};
use kato_store::{MemoryStore, PatternStore};
use serde_json::Value;

use self::model::{Knowledge, Memory};
use crate::input::Input;

const NODE: &str = "node0";

/// Steps of a run at most, so that long input does not make it slow.
const STEPS: usize = 60;

/// Checks two sessions of one node, asked for anything in any order, against a model of everything.
///
/// # Panics
///
/// When a promise of `kato-engine` is broken.
pub fn session(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = World::new(&mut input);
    for _ in 0..STEPS {
        if input.is_at_end() {
            break;
        }
        world.step(&mut input);
        world.check();
    }
    world.store_sessions();
    world.reopen();
    world.check();
}

/// Engine, two sessions of its node, and what they should remember.
struct World {
    options: EngineOptions,
    /// Store that the engine is over; `None` in memory.
    store: Option<Arc<MemoryStore>>,
    engine: Engine,
    sessions: [Observer; 2],
    knowledge: Knowledge,
    /// Knowledge that a crash leaves.
    committed: Knowledge,
    finalized: bool,
}

/// Session and what it should remember.
struct Observer {
    session: kato_engine::Session,
    memory: Memory,
}

impl World {
    /// Makes an engine and two sessions that have observed nothing.
    fn new(input: &mut Input<'_>) -> Self {
        let options = options(input);
        let store = input
            .is_one_in(2)
            .then(|| Arc::new(MemoryStore::new(&[NODE], Value::Null)));
        let engine = open(store.as_ref(), options);
        let sessions = [(); 2].map(|()| Observer {
            session: node(&engine).session(SessionConfig::default()),
            memory: Memory::default(),
        });
        Self {
            options,
            store,
            engine,
            sessions,
            knowledge: Knowledge::default(),
            committed: Knowledge::default(),
            finalized: false,
        }
    }

    /// Compares everything with the model.
    fn check(&self) {
        for Observer { session, memory } in &self.sessions {
            assert_eq!(session.stm(), memory.stm);
            assert_eq!(session.state().time(), memory.time);
            let state = session.state();
            let kept = [
                session.stm().len(),
                state.emotives().len(),
                state.metadata().len(),
            ];
            assert!(kept.iter().all(|&n| n <= model::KEPT), "{kept:?}");
        }
        self.knowledge.check(&node(&self.engine));
    }

    /// Opens the store again, and checks that predictions do not depend on how the node came to its
    /// knowledge.
    fn reopen(&mut self) {
        let before = self.sessions.each_ref().map(|observer| {
            observer
                .session
                .predict()
                .expect("a node in memory can be read")
        });
        if self.store.is_none() {
            return;
        }
        self.commit();
        self.replace_engine();
        for (observer, before) in self.sessions.iter().zip(before) {
            // What `finalize_training` has computed is not kept, and affinities are sums of
            // doubles, whose last bits depend on the order.
            if !self.finalized && observer.session.config().affinity_emotive.is_none() {
                assert_eq!(
                    observer
                        .session
                        .predict()
                        .expect("a node in memory can be read"),
                    before
                );
            }
        }
        self.finalized = false;
    }

    /// Commits, so that nothing is left to lose.
    fn commit(&mut self) {
        assert!(self.engine.commit().is_ok());
        if self.store.is_some() {
            self.committed = self.knowledge.clone();
            assert_eq!(node(&self.engine).totals().uncommitted, 0);
        }
    }

    /// Opens the store with a new engine, with which the sessions go on.
    fn replace_engine(&mut self) {
        self.engine = open(self.store.as_ref(), self.options);
        for observer in &mut self.sessions {
            let (config, state) = observer.session.clone().into_parts();
            observer.session = node(&self.engine).resume(config, state);
        }
    }

    /// Writes both sessions as JSON, and goes on with what is read back.
    fn store_sessions(&mut self) {
        for observer in &mut self.sessions {
            let (config, state) = observer.session.clone().into_parts();
            let json = serde_json::to_string(&state).expect("states are plain data");
            let read = serde_json::from_str(&json).expect("it was just written");
            assert_eq!(state, read);
            let json = serde_json::to_string(&config).expect("configurations are plain data");
            // JSON has no NaN and no infinity: they are written as `null`, which cannot be read
            // back.
            let read_config = match serde_json::from_str::<SessionConfig>(&json) {
                Ok(read) => read,
                Err(error) => {
                    assert!(json.contains("null"), "{json}: {error}");
                    config.clone()
                }
            };
            if !json.contains("null") {
                assert_eq!(config, read_config);
            }
            observer.session = node(&self.engine).resume(read_config, read);
        }
    }
}

/// Makes options of an engine, some with limits that small input reaches.
fn options(input: &mut Input<'_>) -> EngineOptions {
    let mut options = EngineOptions::default();
    options.sort_symbols = !input.is_one_in(4);
    options.session_sort_symbols = input.is_one_in(4);
    options.session_rank_sort_algo = input.is_one_in(2);
    if input.is_one_in(2) {
        options.attribute_scope = kato_engine::options::AttributeScope::Pattern;
    }
    if input.is_one_in(4) {
        options.limits.stm_bytes = input.below(100);
        options.limits.symbol_bytes = input.below(10);
        options.limits.observation_strings = input.below(5);
        options.limits.sequence_observations = input.below(5);
    }
    options
}

/// Opens an engine over a store, or in memory.
fn open(store: Option<&Arc<MemoryStore>>, options: EngineOptions) -> Engine {
    match store {
        None => Engine::in_memory_with(&[NODE], options),
        Some(store) => {
            let store: Arc<dyn PatternStore> = Arc::<MemoryStore>::clone(store);
            Engine::open_with(store, options).expect("a store in memory can be read")
        }
    }
}

/// Returns the node of an engine.
fn node(engine: &Engine) -> kato_engine::Node {
    engine.node(NODE).expect("engines are made with this node")
}
