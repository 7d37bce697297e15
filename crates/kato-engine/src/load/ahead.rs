//! Reading ahead: one thread reads a store, and another adds to the index what was read.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use kato_model::{Attributes, PatternName, Symbol};
use kato_prediction::frozen::{Found, FoundSymbol, FrozenIndex, LookUp};
use kato_store::PatternVisitor;
use kato_store::visit::{SourceSymbols, SymbolRef, VisitedPattern};

/// Patterns that are handed over together. A node that has fewer is loaded by one thread.
const PIECE: usize = 1 << 12;

/// Messages on their way at most.
const ON_THE_WAY: usize = 4;

/// A receiver of what was read, in its order.
pub(super) trait Adder: Send {
    /// Takes the next message; `Break` ends the reading.
    fn add(&mut self, message: Message) -> ControlFlow<()>;
}

/// What was read.
#[derive(Debug)]
pub(super) enum Message {
    /// See [`PatternVisitor::deleted`].
    Deleted(PatternName),
    /// A source begins.
    Source { n_symbols: usize, n_patterns: u64 },
    /// Patterns of the source that began last.
    Patterns(Piece),
}

/// Patterns of one source, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Symbols that no pattern of the source held before.
    pub(super) met: Vec<Met>,
    symbols: Vec<u32>,
    patterns: Vec<Read>,
}

/// A symbol of a source that a pattern holds.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) number: u32,
    /// `None` for one that the source lacks.
    pub(super) symbol: Option<Symbol>,
    /// What was found of a name in the index below; `None` where there is no such index.
    pub(super) found: Option<FoundSymbol>,
}

/// A pattern, but for its symbols.
#[derive(Debug)]
struct Read {
    name: PatternName,
    frequency: u64,
    /// What was found of the name in the index below; `None` where there is no such index.
    found: Option<Found>,
    n_symbols: usize,
    attributes: Option<Box<Attributes>>,
}

impl Piece {
    /// Returns the patterns, with what was found of each in the index below.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (VisitedPattern<'_>, Option<Found>)> {
        let mut rest = self.symbols.as_slice();
        self.patterns.iter().map(move |read| {
            let (symbols, others) = rest.split_at(read.n_symbols);
            rest = others;
            let pattern = VisitedPattern {
                name: read.name,
                frequency: read.frequency,
                symbols,
                first_seen: None,
                attributes: read.attributes.as_deref(),
            };
            (pattern, read.found)
        })
    }
}

/// A visitor that hands over what it is shown, to another thread from the first whole piece on, where there
/// are several cores.
pub(super) struct Ahead<'scope, 'env, A> {
    scope: &'scope Scope<'scope, 'env>,
    adder: Option<Place<'scope, A>>,
    piece: Piece,
    /// Looks up in the index below.
    look_up: Option<LookUp>,
    /// Symbols of the source that were met, by number.
    is_met: Vec<bool>,
    /// What was found in the index below of those that are names.
    found: Vec<Option<FoundSymbol>>,
    has_two_threads: bool,
}

/// Where what was read is added.
enum Place<'scope, A> {
    Here(A),
    There(SyncSender<Message>, ScopedJoinHandle<'scope, A>),
}

impl<'scope, 'env, A: Adder + 'scope> Ahead<'scope, 'env, A> {
    /// Creates a visitor that looks up in an index what it hands over, if there is one.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        below: Option<Arc<FrozenIndex>>,
        adder: A,
    ) -> Self {
        Self {
            scope,
            look_up: below.map(LookUp::new),
            adder: Some(Place::Here(adder)),
            piece: Piece::default(),
            is_met: Vec::new(),
            found: Vec::new(),
            has_two_threads: thread::available_parallelism().is_ok_and(|n| n > NonZeroUsize::MIN),
        }
    }

    /// Hands over what is left, and returns the receiver when it has it.
    pub(super) fn finish(mut self) -> A {
        // Whether it wants more does not matter any more.
        let _ = self.hand_over_piece();
        match self.adder.take() {
            Some(Place::Here(adder)) => adder,
            Some(Place::There(sender, thread)) => {
                drop(sender);
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
            None => unreachable!("it is put back wherever it is taken"),
        }
    }

    fn hand_over_piece(&mut self) -> ControlFlow<()> {
        match self.piece.patterns.is_empty() {
            true => ControlFlow::Continue(()),
            false => {
                let piece = std::mem::take(&mut self.piece);
                self.hand_over(Message::Patterns(piece))
            }
        }
    }

    fn hand_over(&mut self, message: Message) -> ControlFlow<()> {
        match &mut self.adder {
            Some(Place::Here(adder)) => adder.add(message),
            // The thread ends when it wants no more.
            Some(Place::There(sender, _)) => match sender.send(message) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            },
            None => ControlFlow::Break(()),
        }
    }

    /// Looks up the names among the symbols of a source: in their order, as they are looked up sooner than in that
    /// of the patterns.
    fn look_up_symbols(&mut self, symbols: &SourceSymbols<'_>) {
        self.found.clear();
        let Some(look_up) = &mut self.look_up else {
            return;
        };
        // A source numbers them with 32 bits.
        let numbers = 0..u32::try_from(symbols.len()).unwrap_or(u32::MAX);
        self.found
            .extend(numbers.map(|number| match symbols.get(number) {
                Some(SymbolRef::Name(name)) => Some(look_up.find_symbol(&name)),
                _ => None,
            }));
    }

    /// Adds on another thread from now on.
    fn go_there(&mut self) {
        self.adder = match self.adder.take() {
            Some(Place::Here(mut adder)) => {
                let (sender, receiver) = sync_channel(ON_THE_WAY);
                let thread = self.scope.spawn(move || {
                    for message in receiver {
                        if adder.add(message).is_break() {
                            break;
                        }
                    }
                    adder
                });
                Some(Place::There(sender, thread))
            }
            there => there,
        };
    }
}

impl<'scope, A: Adder + 'scope> PatternVisitor for Ahead<'scope, '_, A> {
    fn deleted(&mut self, name: PatternName) -> bool {
        self.hand_over(Message::Deleted(name)).is_continue()
    }

    fn source(&mut self, symbols: &SourceSymbols<'_>, n_patterns: u64) -> ControlFlow<()> {
        self.hand_over_piece()?;
        // Every source numbers its symbols on its own.
        self.is_met.clear();
        self.is_met.resize(symbols.len(), false);
        self.look_up_symbols(symbols);
        self.hand_over(Message::Source {
            n_symbols: symbols.len(),
            n_patterns,
        })
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        for &number in pattern.symbols {
            let is_met = self.is_met.get_mut(number as usize);
            // What a source lacks is told with each pattern that holds it.
            if !is_met.is_some_and(|is_met| std::mem::replace(is_met, true)) {
                let symbol = symbols.get(number).map(|symbol| symbol.to_symbol());
                let found = self.found.get(number as usize).copied().flatten();
                self.piece.met.push(Met {
                    number,
                    symbol,
                    found,
                });
            }
        }
        self.piece.symbols.extend_from_slice(pattern.symbols);
        self.piece.patterns.push(Read {
            name: pattern.name,
            frequency: pattern.frequency,
            found: self.look_up.as_mut().map(|it| it.find(&pattern.name)),
            n_symbols: pattern.symbols.len(),
            attributes: pattern
                .attributes
                .map(|attributes| Box::new(attributes.clone())),
        });
        if self.piece.patterns.len() < PIECE {
            return ControlFlow::Continue(());
        }
        if self.has_two_threads {
            self.go_there();
        }
        self.hand_over_piece()
    }
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    /// The threads that added, and the names that they added; takes so many messages.
    struct Threads(Vec<ThreadId>, Vec<PatternName>, usize);

    impl Adder for Threads {
        fn add(&mut self, message: Message) -> ControlFlow<()> {
            self.0.push(thread::current().id());
            if let Message::Patterns(piece) = message {
                self.1
                    .extend(piece.patterns().map(|(pattern, _)| pattern.name));
            }
            match self.0.len() < self.2 {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }

    /// Shows patterns until no more are taken; returns how many were, and what added them.
    fn read(names: &[PatternName], n_messages: usize) -> (usize, Threads) {
        thread::scope(|scope| {
            let mut ahead = Ahead::new(scope, None, Threads(Vec::new(), Vec::new(), n_messages));
            ahead.has_two_threads = true;
            let symbols = SourceSymbols::new(&[], &["a"]);
            assert!(ahead.source(&symbols, names.len() as u64).is_continue());
            let mut n_shown = 0;
            for &name in names {
                n_shown += 1;
                let pattern = VisitedPattern {
                    name,
                    frequency: 1,
                    symbols: &[0, 0],
                    first_seen: None,
                    attributes: None,
                };
                if ahead.pattern(&symbols, &pattern).is_break() {
                    break;
                }
            }
            (n_shown, ahead.finish())
        })
    }

    #[test]
    fn what_is_more_than_a_piece_is_added_on_another_thread_until_no_more_is_taken() {
        let here = thread::current().id();
        let names: Vec<_> = (0..50 * PIECE)
            .map(|number| PatternName::of_events(&[[number.to_string()]]))
            .collect();
        for n_patterns in [1, PIECE - 1, PIECE, 3 * PIECE + 1] {
            let (_, threads) = read(&names[..n_patterns], usize::MAX);
            assert!(threads.1 == names[..n_patterns]);
            // The source is told ahead of the patterns.
            let elsewhere = threads.0[1..].iter().all(|thread| *thread != here);
            assert_eq!(elsewhere, n_patterns >= PIECE, "{n_patterns}");
        }
        let (n_shown, threads) = read(&names, 3);
        assert_eq!(threads.1.len(), 2 * PIECE);
        assert!(n_shown < names.len(), "{n_shown}");
    }
}
