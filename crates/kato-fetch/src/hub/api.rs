//! The Hub's API: what it says of a dataset, and the files of a commit.

use reqwest::header::LINK;
use serde::Deserialize;
use url::Url;

use super::{below, card::Config};
use crate::FetchError;
use crate::client::{Client, Target, same_origin, text, wrong};
use crate::location::redacted;
use crate::redirect::Reach;

/// Pages after which a list of files cannot be honest: the Hub gives up to a thousand entries a
/// page.
const MAX_PAGES: usize = 20_000;

/// Dataset at a commit.
#[derive(Debug)]
pub(super) struct Repository {
    /// Its present name, as datasets are renamed and moved.
    pub(super) dataset: String,
    pub(super) commit: String,
    pub(super) configs: Vec<Config>,
}

/// Answer to a question about a dataset.
#[derive(Deserialize)]
struct Info {
    id: Option<String>,
    sha: Option<String>,
    #[serde(rename = "cardData")]
    card_data: Option<serde_json::Value>,
}

/// Entry of a list of files.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "type")]
    kind: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) size: u64,
    #[serde(default)]
    oid: String,
    lfs: Option<Lfs>,
}

/// Reference of a large file to its content, by Git LFS.
#[derive(Debug, Deserialize)]
struct Lfs {
    oid: String,
}

impl Entry {
    /// Returns the SHA-256 of a large file, or Git's object of a small one, which the Hub gives as
    /// the file's ETag.
    pub(super) fn content_id(&self) -> &str {
        self.lfs.as_ref().map_or(&self.oid, |lfs| &lfs.oid)
    }
}

impl Repository {
    /// Asks for a dataset at a revision, or at its newest commit.
    pub(super) async fn find(
        client: &Client,
        dataset: &str,
        revision: Option<&str>,
    ) -> Result<Self, FetchError> {
        let segments = ["api", "datasets"].into_iter().chain(dataset.split('/'));
        // A revision is one segment of the URL, whatever slashes it holds.
        let url = below(
            &client.endpoint,
            segments.chain(revision.map(|_| "revision")).chain(revision),
        );
        let (body, _) = client.text(&Target::asked_for(url.clone())).await?;
        let info: Info = json(&url, &body)?;
        let commit = info
            .sha
            // Both become part of `hf://DATASET@COMMIT/PATH`, which must be read back as it was
            // meant.
            .filter(|sha| !sha.is_empty() && !sha.contains('/'))
            .ok_or_else(|| wrong(&url, "no commit in the answer"))?;
        let dataset = info.id.filter(|id| !id.is_empty() && !id.contains('@'));
        Ok(Self {
            dataset: dataset.unwrap_or_else(|| url_dataset(&url)),
            commit,
            configs: info.card_data.as_ref().map(Config::all).unwrap_or_default(),
        })
    }

    /// Lists all files of the commit, page by page.
    pub(super) async fn tree(&self, client: &Client) -> Result<Vec<Entry>, FetchError> {
        let segments = ["api", "datasets"]
            .into_iter()
            .chain(self.dataset.split('/'))
            .chain(["tree", self.commit.as_str()]);
        let mut url = below(&client.endpoint, segments);
        url.set_query(Some("recursive=true"));
        let first = url.clone();
        let (mut entries, mut received) = (Vec::new(), 0_u64);
        for _ in 0..MAX_PAGES {
            let at = Target {
                // A list that goes on at another server is as good as a redirect to it.
                least: match same_origin(&url, &first) {
                    true => Reach::Link,
                    false => client.least_beyond(&first, None),
                },
                ..Target::asked_for(url.clone())
            };
            let (body, headers) = client.text(&at).await?;
            received = received.saturating_add(body.len() as u64);
            if received > client.limits.listing_bytes {
                return Err(too_many(client, &first));
            }
            let page: Vec<Entry> = json(&url, &body)?;
            entries.extend(page.into_iter().filter(|entry| entry.kind == "file"));
            let Some(next) = text(&headers, LINK.as_str()).and_then(|links| next_page(&links))
            else {
                return Ok(entries);
            };
            let next = url
                .join(&next)
                .map_err(|error| wrong(&url, format!("next page: {error}")))?;
            // A faulty server must not keep the listing busy until `MAX_PAGES` is reached.
            if next == url {
                return Err(wrong(&url, "a page that is its own successor"));
            }
            url = next;
        }
        Err(wrong(&url, "a list of files without end"))
    }
}

/// Returns the error for a list of more files than is allowed.
fn too_many(client: &Client, url: &Url) -> FetchError {
    FetchError::TooMuch {
        url: redacted(url),
        what: "lists files at great length".to_owned(),
        limit: client.limits.listing_bytes,
        setting: "listing_bytes",
    }
}

/// Returns the dataset's name in a URL of the API.
fn url_dataset(url: &Url) -> String {
    // It comes after `api/datasets`, and a revision after it.
    let path: Vec<&str> = url
        .path_segments()
        .map(Iterator::collect)
        .unwrap_or_default();
    let start = path
        .iter()
        .position(|segment| *segment == "datasets")
        .map_or(0, |at| at + 1);
    let named = path[start..]
        .iter()
        .take_while(|segment| **segment != "revision");
    named.copied().collect::<Vec<_>>().join("/")
}

/// Parses an answer.
fn json<T: for<'de> Deserialize<'de>>(url: &Url, body: &str) -> Result<T, FetchError> {
    serde_json::from_str(body)
        .map_err(|error| wrong(url, format!("not the JSON expected: {error}")))
}

/// Returns the URL of `rel="next"` in a `Link` header.
fn next_page(links: &str) -> Option<String> {
    links.split(',').find_map(|link| {
        let (url, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters
            .split(';')
            .any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then(|| url.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let check =
            |links: &str, expected: Option<&str>| assert_eq!(next_page(links).as_deref(), expected);
        check(
            "<https://x/a?cursor=1>; rel=\"next\"",
            Some("https://x/a?cursor=1"),
        );
        check(
            "<https://x/b>; rel=\"prev\", <https://x/c>; rel=\"next\"",
            Some("https://x/c"),
        );
        check("<https://x/b>; rel=\"last\"", None);
        check("nonsense", None);
    }
}
