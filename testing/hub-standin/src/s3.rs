//! The part of S3 that reading needs: GET and HEAD of objects, and lists of them.

use crate::fault::Fault;
use crate::request::Request;
use crate::response::{Habits, Response};
use crate::server::World;

/// Answers `BUCKET[/KEY]`, which follows `/s3/`.
pub(crate) fn answer(
    world: &World,
    request: &Request,
    rest: &str,
    fault: Option<&Fault>,
) -> Response {
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if key.is_empty() {
        return list(world, request, bucket);
    }
    match world.object(bucket, key) {
        Some(blob) => {
            let etag = format!("\"{}\"", blob.oid);
            Response::file(request, &blob.bytes, Habits::good(&etag), fault)
        }
        None => Response::text(404, "<Error><Code>NoSuchKey</Code></Error>"),
    }
}

/// Answers with a page of the objects of a bucket.
fn list(world: &World, request: &Request, bucket: &str) -> Response {
    let prefix = request.parameter("prefix").unwrap_or_default();
    let after = request.parameter("continuation-token").unwrap_or_default();
    let keys: Vec<(String, usize, String)> = world
        .objects(bucket)
        .into_iter()
        // Keys are sorted, so that the last key of a page will do as the token of the next.
        .filter(|(key, _, _)| key.starts_with(&prefix) && *key > after)
        .collect();
    let page = &keys[..keys.len().min(world.page_size)];
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult>");
    for (key, size, etag) in page {
        let key = key.replace('&', "&amp;").replace('<', "&lt;");
        xml.push_str(&format!(
            "<Contents><Key>{key}</Key><LastModified>1994-11-06T08:49:37.000Z</LastModified><ETag>\"{etag}\"</ETag>\
             <Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        ));
    }
    if let Some((last, _, _)) = page.last().filter(|_| page.len() < keys.len()) {
        let last = last.replace('&', "&amp;").replace('<', "&lt;");
        xml.push_str(&format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{last}</NextContinuationToken>"
        ));
    }
    xml.push_str("</ListBucketResult>");
    Response::text(200, xml).with("Content-Type", "application/xml")
}
