//! The routes: a table. [`compat::routing`](crate::compat::routing) finds the one of a request.

mod table;

use axum::http::Method;

use self::table::ROUTES;
use crate::app::App;
use crate::call::Call;
use crate::options::Options;
use crate::reply::Outcome;
use crate::workers::Work;

/// The group of a route; options switch groups off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Kato,
    /// Generations that count a node's patterns.
    Counting,
    /// Generations that retire patterns.
    Retiring,
    Generation2025,
    Extension,
    Docs,
}

/// One route.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// Path with parameters in braces.
    pub(crate) template: &'static str,
    pub(crate) group: Group,
    pub(crate) work: Work,
    /// Whether the body is read. That of other routes is skipped.
    pub(crate) has_body: bool,
    pub(crate) handler: fn(&App, &Call) -> Outcome,
}

impl Route {
    /// Returns whether HEAD is allowed, which it is for documentation alone.
    pub(crate) fn allows_head(&self) -> bool {
        self.group == Group::Docs
    }

    /// Returns whether it reads or changes the node that [`Call::node_id`] returns.
    pub(crate) fn is_of_node(&self) -> bool {
        ["/pattern/", "/patterns/", "/symbols/", "/gene/", "/genes/"]
            .iter()
            .any(|path| self.template.starts_with(path))
    }
}

/// Returns the routes that are switched on, in order.
pub(crate) fn active(options: &Options) -> impl Iterator<Item = &'static Route> + Clone {
    let is_on = move |route: &&Route| match route.group {
        Group::Kato => true,
        Group::Counting => options.generation.counts_patterns(),
        Group::Retiring => options.generation.can_retire(),
        Group::Generation2025 => options.generation_2025_10,
        Group::Extension => options.extensions,
        Group::Docs => options.docs,
    };
    ROUTES.iter().filter(is_on)
}
