//! Routing: which part of the stand-in answers a request.

use crate::fault::Fault;
use crate::request::Request;
use crate::response::{Habits, Response};
use crate::server::World;
use crate::{hub, s3};

/// Answers a request, spoilt by a fault if there is one.
pub(crate) fn answer(world: &World, request: &Request, fault: Option<&Fault>) -> Response {
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Response::text(405, "only GET and HEAD");
    }
    // In place of any answer, so that no path needs to know of this fault.
    if let Some(Fault::Status(status, retry_after)) = fault {
        let response = Response::text(*status, "as planned");
        return match retry_after {
            Some(after) => response.with("Retry-After", after.clone()),
            None => response,
        };
    }
    if let Some(Fault::Limit(limit)) = fault {
        return Response::text(429, "as planned").with("RateLimit", limit.clone());
    }
    let path = request.path.as_str();
    if let Some(rest) = path.strip_prefix("/api/datasets/") {
        hub::api(world, request, rest)
    } else if let Some(rest) = path.strip_prefix("/datasets/") {
        hub::resolve(world, request, rest, fault)
    } else if let Some(sha) = path.strip_prefix("/cdn/") {
        hub::cdn(world, request, sha, fault)
    } else if let Some(rest) = path.strip_prefix("/s3/") {
        s3::answer(world, request, rest, fault)
    } else {
        plain(world, request, path, fault)
    }
}

/// Answers for a plain web server.
fn plain(world: &World, request: &Request, path: &str, fault: Option<&Fault>) -> Response {
    if let Some(to) = path.strip_prefix("/redirect/") {
        return Response::text(302, "").with("Location", format!("{}/{to}", world.cdn_url()));
    }
    let Some(file) = path
        .strip_prefix("/files/")
        .and_then(|name| world.plain(name))
    else {
        return Response::text(404, "no such file");
    };
    if request.method == "HEAD" && !file.head {
        return Response::text(405, "no HEAD");
    }
    let habits = Habits {
        etag: file.etag.as_deref(),
        modified: file.modified,
        ranges: file.ranges,
        chunked: file.chunked,
        close_delimited: file.close_delimited,
    };
    Response::file(request, &file.bytes, habits, fault)
}
