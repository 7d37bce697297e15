//! Routes: which path means what, in which generation.

use crate::values::Generation;

/// Meaning of a method on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Root,
    Health,
    Status,
    CountSessions,
    CreateSession,
    Session,
    DeleteSession,
    Exists,
    Config,
    SetConfig,
    Extend,
    Stm,
    ClearStm,
    ClearAll,
    Finalize,
    Percept,
    Cognition,
    Pattern,
    NodePercept,
    NodeCognition,
    SetGenes,
    Gene,
    SymbolStats,
    CountPatterns,
    Retire,
    Unretire,
    /// This one and those below take the session's lock, and their own time.
    Observe,
    Sequence,
    Learn,
    Predictions,
}

impl Route {
    /// Returns whether it takes the session's lock.
    pub(crate) const fn is_long(self) -> bool {
        matches!(
            self,
            Self::Observe | Self::Sequence | Self::Learn | Self::Predictions
        )
    }
}

/// Returns the methods that a path has; none for a path that does not exist.
pub(crate) fn methods(generation: Generation, path: &[&str]) -> &'static [(&'static str, Route)] {
    use Route as R;
    let is_new = generation != Generation::October2025;
    match path {
        [""] => &[("GET", R::Root)],
        ["health"] => &[("GET", R::Health)],
        ["status"] => &[("GET", R::Status)],
        ["sessions"] => &[("POST", R::CreateSession)],
        ["sessions", "count"] => &[("GET", R::CountSessions)],
        ["sessions", _] => &[("GET", R::Session), ("DELETE", R::DeleteSession)],
        ["sessions", _, last] => match *last {
            "exists" => &[("GET", R::Exists)],
            "config" if is_new => &[("GET", R::Config), ("POST", R::SetConfig)],
            "config" => &[("POST", R::SetConfig)],
            "extend" => &[("POST", R::Extend)],
            "observe" => &[("POST", R::Observe)],
            "stm" => &[("GET", R::Stm)],
            "learn" => &[("POST", R::Learn)],
            "clear-stm" => &[("POST", R::ClearStm)],
            "clear-all" => &[("POST", R::ClearAll)],
            "observe-sequence" => &[("POST", R::Sequence)],
            "predictions" => &[("GET", R::Predictions)],
            "finalize-training" if is_new => &[("POST", R::Finalize)],
            "percept-data" if is_new => &[("GET", R::Percept)],
            "cognition-data" if is_new => &[("GET", R::Cognition)],
            _ => &[],
        },
        ["sessions", _, "patterns", "retire"] if generation.is_newest() => &[("POST", R::Retire)],
        ["sessions", _, "patterns", "un-retire"] if generation.is_newest() => {
            &[("POST", R::Unretire)]
        }
        ["patterns", "count"] if generation.is_newest() => &[("GET", R::CountPatterns)],
        ["pattern", _] => &[("GET", R::Pattern)],
        ["percept-data"] => &[("GET", R::NodePercept)],
        ["cognition-data"] => &[("GET", R::NodeCognition)],
        ["genes", "update"] if !is_new => &[("POST", R::SetGenes)],
        ["gene", _] if !is_new => &[("GET", R::Gene)],
        ["symbols", "stats"] if is_new => &[("GET", R::SymbolStats)],
        _ => &[],
    }
}
