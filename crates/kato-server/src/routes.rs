//! Routing: a table, matched as Starlette matches.
//!
//! Not axum's own router, because clients can see the difference: Starlette decodes a path before
//! it cuts it into segments, takes the first route in order, names in `Allow` only the first route
//! of the path, and redirects a trailing slash.

mod table;

use axum::http::Method;

use crate::app::App;
use crate::call::Call;
use crate::options::Options;
use crate::reply::Outcome;

pub(crate) use self::table::ROUTES;

/// How heavy the work of a route is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing that blocks: carried out where the request is read.
    Light,
    /// Some microseconds on a thread that may block.
    Short,
    /// As long as predictions and batches take; never on all threads at once.
    Long,
}

/// The group of a route; options switch groups off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Kato,
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

/// The result of looking up a path and method.
#[derive(Debug)]
pub(crate) enum RouteMatch {
    Route(&'static Route, Vec<String>),
    /// The path exists, but not with this method.
    WrongMethod(&'static Route),
    /// The path without its trailing slashes exists.
    Redirect(String),
    Nothing,
}

impl Route {
    /// Returns whether HEAD is allowed, which it is for documentation alone.
    pub(crate) fn allows_head(&self) -> bool {
        self.group == Group::Docs
    }

    /// Returns whether it reads or changes the node that [`Call::node_id`] returns.
    pub(crate) fn is_of_node(&self) -> bool {
        ["/pattern/", "/symbols/", "/gene/", "/genes/"]
            .iter()
            .any(|path| self.template.starts_with(path))
    }

    /// Returns whether the route takes the method.
    fn takes(&self, method: &Method) -> bool {
        self.method == *method || (method == Method::HEAD && self.allows_head())
    }

    /// Returns the values of the parameters if the path is one of this route's.
    fn parameters(&self, path: &str) -> Option<Vec<String>> {
        let mut values = Vec::new();
        let mut segments = path.split('/');
        for expected in self.template.split('/') {
            let found = segments.next()?;
            if expected.starts_with('{') {
                // A parameter matches one character or more in Starlette.
                if found.is_empty() {
                    return None;
                }
                values.push(found.to_owned());
            } else if expected != found {
                return None;
            }
        }
        segments.next().is_none().then_some(values)
    }
}

/// Returns the routes that are switched on, in order.
pub(crate) fn active(options: &Options) -> Vec<&'static Route> {
    let is_on = |route: &&Route| match route.group {
        Group::Kato => true,
        Group::Generation2025 => options.generation_2025_10,
        Group::Extension => options.extensions,
        Group::Docs => options.docs,
    };
    ROUTES.iter().filter(is_on).collect()
}

/// Finds the route of a decoded path.
pub(crate) fn find(routes: &[&'static Route], method: &Method, path: &str) -> RouteMatch {
    let mut wrong_method = None;
    for route in routes {
        let Some(parameters) = route.parameters(path) else {
            continue;
        };
        if route.takes(method) {
            return RouteMatch::Route(route, parameters);
        }
        // A later route may have the same path and the right method.
        wrong_method = wrong_method.or(Some(*route));
    }
    if let Some(route) = wrong_method {
        return RouteMatch::WrongMethod(route);
    }
    // Starlette redirects only where the shorter path exists, with whatever method.
    let bare = path.trim_end_matches('/');
    if bare.len() < path.len() && routes.iter().any(|route| route.parameters(bare).is_some()) {
        return RouteMatch::Redirect(bare.to_owned());
    }
    RouteMatch::Nothing
}

/// Returns the session that a path belongs to, if it has to exist before anything else is looked
/// at.
pub(crate) fn guarded_session<'p>(method: &Method, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix("/sessions/")?;
    let (id, tail) = match rest.split_once('/') {
        Some((id, tail)) => (id, Some(tail)),
        None => (rest, None),
    };
    // KATO's middleware leaves these two to their handlers, which answer for an unknown session in
    // their own way.
    let is_free = match tail {
        None => method == Method::GET,
        Some(tail) => tail == "exists",
    };
    (!id.is_empty() && !is_free).then_some(id)
}
