//! The end of a state, for questions whose cost must not grow with the state.

use kato_model::Event;

/// Returns the last events of a state that have at most `n_symbols` symbols in all, but at least
/// its last event.
///
/// A state several times as long as the patterns resembles most of them about equally, whatever they
/// hold: no search can pass over many, and the answer says little. Asking with its end costs what a
/// short state costs. That is another question: similarity, and all that follows from it, is that to
/// the end of the state.
///
/// ```
/// use kato_model::Event;
/// use kato_prediction::last_symbols;
///
/// let state = [Event::new(["a"]), Event::new(["b", "c"]), Event::new(["d"])];
/// assert_eq!(last_symbols(&state, 3), &state[1..]);
/// assert_eq!(last_symbols(&state, 2), &state[2..]);
/// assert_eq!(last_symbols(&state, 0), &state[2..]);
/// ```
#[must_use]
pub fn last_symbols(state: &[Event], n_symbols: usize) -> &[Event] {
    let mut left = n_symbols;
    let fits = |event: &&Event| {
        let rest = left.checked_sub(event.len());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let n_events = state.iter().rev().take_while(fits).count();
    &state[state.len() - n_events.max(1).min(state.len())..]
}
