//! The Hub's API, its files and its CDN.

use std::sync::Arc;

use serde_json::json;

use crate::dataset::{Dataset, is_large};
use crate::fault::Fault;
use crate::request::Request;
use crate::response::{Habits, Response};
use crate::server::World;

/// Answers `ID[/revision/REV]` and `ID/tree/REV`, which follow `/api/datasets/`.
pub(crate) fn api(world: &World, request: &Request, rest: &str) -> Response {
    let (id, what) = match (rest.split_once("/revision/"), rest.split_once("/tree/")) {
        (Some((id, revision)), _) => (id, What::Info(revision)),
        (None, Some((id, revision))) => (id, What::Tree(revision)),
        (None, None) => (rest, What::Info("main")),
    };
    let dataset = match find(world, request, id, false) {
        Ok(dataset) => dataset,
        // The rest of the path stays, so that a revision is not lost on the way.
        Err(Refusal::Moved(to)) => {
            return Response::text(307, "").with(
                "Location",
                format!("/api/datasets/{}", rest.replacen(id, &to, 1)),
            );
        }
        Err(Refusal::Said(response)) => return response,
    };
    let revision = match what {
        What::Info(revision) | What::Tree(revision) => revision,
    };
    let Some((commit, files)) = dataset.files(revision) else {
        return Response::text(404, "no such revision").with("X-Error-Code", "RevisionNotFound");
    };
    if let What::Info(_) = what {
        let gated: serde_json::Value = if dataset.is_gated {
            "auto".into()
        } else {
            false.into()
        };
        let info = json!({
            "id": dataset.id, "sha": commit, "private": false, "gated": gated, "cardData": dataset.card,
            "siblings": files.keys().map(|path| json!({"rfilename": path})).collect::<Vec<_>>(),
        });
        return Response::text(200, info.to_string()).with("Content-Type", "application/json");
    }
    let start: usize = request
        .parameter("cursor")
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0);
    let end = start.saturating_add(world.page_size).min(files.len());
    let entries: Vec<_> = files
        .iter()
        .skip(start)
        .take(world.page_size)
        .map(|(path, blob)| {
            let mut entry =
                json!({"type": "file", "path": path, "size": blob.bytes.len(), "oid": blob.oid});
            if is_large(&blob.bytes) {
                entry["lfs"] =
                    json!({"oid": blob.sha256, "size": blob.bytes.len(), "pointerSize": 134});
            }
            entry
        })
        // Real trees list folders as well, which a client has to leave out.
        .chain(
            (start == 0)
                .then(|| json!({"type": "directory", "path": "data", "size": 0, "oid": ""})),
        )
        .collect();
    let response =
        Response::text(200, json!(entries).to_string()).with("Content-Type", "application/json");
    if end < files.len() {
        let next = format!(
            "<{}{}?recursive=true&cursor={end}>; rel=\"next\"",
            world.url(),
            request.path.replace(revision, &commit)
        );
        return response.with("Link", next);
    }
    response
}

/// Question about a dataset, at a revision.
enum What<'a> {
    Info(&'a str),
    Tree(&'a str),
}

/// Answers `ID/resolve/REV/PATH`, which follows `/datasets/`.
pub(crate) fn resolve(
    world: &World,
    request: &Request,
    rest: &str,
    fault: Option<&Fault>,
) -> Response {
    let Some((id, rest)) = rest.split_once("/resolve/") else {
        return Response::text(404, "not a file");
    };
    let dataset = match find(world, request, id, true) {
        Ok(dataset) => dataset,
        Err(Refusal::Moved(to)) => {
            return Response::text(307, "")
                .with("Location", format!("/datasets/{to}/resolve/{rest}"));
        }
        Err(Refusal::Said(response)) => return response,
    };
    let Some((commit, path)) = rest.split_once('/') else {
        return Response::text(404, "no path");
    };
    let found = dataset
        .files(commit)
        .and_then(|(commit, files)| Some((commit, files.get(path)?)));
    let Some((commit, blob)) = found else {
        return Response::text(404, "no such file").with("X-Error-Code", "EntryNotFound");
    };
    let bytes = &blob.bytes;
    if !is_large(bytes) {
        let etag = format!("\"{}\"", blob.oid);
        return Response::file(request, bytes, Habits::good(&etag), fault)
            .with("X-Repo-Commit", commit);
    }
    let sha = blob.sha256.clone();
    // The Hub's own answer names the content, so that is where a changed file shows.
    let linked = match fault {
        Some(Fault::OtherEtag) => "another".to_owned(),
        _ => sha.clone(),
    };
    let signature = world.sign();
    Response::text(302, "")
        .with(
            "Location",
            format!(
                "{}/cdn/{sha}?Expires=1&Signature={signature}&Key-Pair-Id=K",
                world.cdn_url()
            ),
        )
        .with("X-Repo-Commit", commit)
        .with("X-Linked-Etag", format!("\"{linked}\""))
        .with("X-Linked-Size", bytes.len().to_string())
        .with("Accept-Ranges", "bytes")
        .with("ETag", format!("\"{linked}\""))
}

/// Answers `SHA256`, which follows `/cdn/`.
pub(crate) fn cdn(world: &World, request: &Request, sha: &str, fault: Option<&Fault>) -> Response {
    // As S3 does: a signed URL with a token beside it is an error. So a client that sends the Hub's
    // token on fails its tests.
    if request.header("authorization").is_some() {
        return Response::text(400, "one way to say who you are is enough");
    }
    let signature = request
        .parameter("Signature")
        .and_then(|signature| signature.parse().ok());
    if !signature.is_some_and(|signature| world.is_valid(signature)) {
        return Response::text(403, "the signature has expired");
    }
    match world.large(sha) {
        // The CDN has an ETag of its own, which must not be compared with the Hub's.
        Some(bytes) => Response::file(
            request,
            &bytes,
            Habits::good(&format!("\"cdn-{}\"", &sha[..8])),
            fault,
        ),
        None => Response::text(404, "no such content"),
    }
}

/// Reason why a dataset is not given.
enum Refusal {
    Moved(String),
    Said(Response),
}

/// Returns a dataset, if the request may see it.
fn find(
    world: &World,
    request: &Request,
    id: &str,
    for_content: bool,
) -> Result<Arc<Dataset>, Refusal> {
    // The Hub answers 401, not 404: it does not tell a private dataset from none.
    let missing = || {
        Refusal::Said(Response::text(401, "no such dataset").with("X-Error-Code", "RepoNotFound"))
    };
    if let Some(dataset) = world.moved(id) {
        return Err(Refusal::Moved(dataset.id.clone()));
    }
    let dataset = world.dataset(id).ok_or_else(missing)?;
    let Some(token) = &dataset.token else {
        return Ok(dataset);
    };
    let has_token = request.header("authorization") == Some(&format!("Bearer {token}"));
    match (has_token, dataset.is_gated, for_content) {
        (true, _, _) | (false, true, false) => Ok(dataset),
        (false, true, true) => Err(Refusal::Said(
            Response::text(401, "accept the terms").with("X-Error-Code", "GatedRepo"),
        )),
        (false, false, _) => Err(missing()),
    }
}
