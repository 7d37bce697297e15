//! Routing as Starlette does it.
//!
//! Not axum's own router, because clients can see the difference: Starlette decodes a path before
//! it cuts it into segments, takes the first route in order, names in `Allow` only the first route
//! of the path, and redirects a trailing slash.

use axum::http::Method;

use crate::routes::{Group, Route};

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

/// Finds the route of a decoded path.
pub(crate) fn find(
    mut routes: impl Iterator<Item = &'static Route> + Clone,
    method: &Method,
    path: &str,
) -> RouteMatch {
    let mut wrong_method = None;
    for route in routes.clone() {
        let Some(parameters) = parameters(route, path) else {
            continue;
        };
        if takes(route, method) {
            return RouteMatch::Route(route, parameters);
        }
        // A later route may have the same path and the right method.
        wrong_method = wrong_method.or(Some(route));
    }
    if let Some(route) = wrong_method {
        return RouteMatch::WrongMethod(route);
    }
    // Starlette redirects only where the shorter path exists, with whatever method.
    let bare = path.trim_end_matches('/');
    if bare.len() < path.len() && routes.any(|route| parameters(route, bare).is_some()) {
        return RouteMatch::Redirect(bare.to_owned());
    }
    RouteMatch::Nothing
}

/// Returns the methods of the path that a route is the first one of.
pub(crate) fn allow(routes: impl Iterator<Item = &'static Route>, first: &Route) -> String {
    let of_path = routes.filter(|route| route.template == first.template);
    // Starlette names the first route alone. Paths that KATO does not have need not do so.
    let n_named = match first.group {
        Group::Extension => usize::MAX,
        _ => 1,
    };
    let mut methods: Vec<&str> = of_path
        .take(n_named)
        .map(|route| route.method.as_str())
        .collect();
    if first.allows_head() {
        methods.push("HEAD");
    }
    methods.join(", ")
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

/// Returns whether a route takes the method.
fn takes(route: &Route, method: &Method) -> bool {
    route.method == *method || (method == Method::HEAD && route.allows_head())
}

/// Returns the values of the parameters if the path is one of the route's.
fn parameters(route: &Route, path: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let mut segments = path.split('/');
    for expected in route.template.split('/') {
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
