//! What the Hub says of a dataset.

use reqwest::header::LINK;
use serde::Deserialize;
use url::Url;

use super::{below, card::Config};
use crate::FetchError;
use crate::client::{Client, text, wrong};

/// More pages than any tree has: the Hub gives up to a thousand entries a page.
const MAX_PAGES: usize = 20_000;

/// A dataset at a commit.
#[derive(Debug)]
pub(super) struct Repository {
    /// Its present name: datasets move.
    pub(super) dataset: String,
    pub(super) commit: String,
    pub(super) configs: Vec<Config>,
}

#[derive(Deserialize)]
struct Info {
    id: Option<String>,
    sha: Option<String>,
    #[serde(rename = "cardData")]
    card_data: Option<serde_json::Value>,
}

/// A file of a tree.
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

#[derive(Debug, Deserialize)]
struct Lfs {
    oid: String,
}

impl Entry {
    /// SHA-256 of a large file, Git's object of a small one: what the Hub gives as the file's ETag.
    pub(super) fn content_id(&self) -> &str {
        self.lfs.as_ref().map_or(&self.oid, |lfs| &lfs.oid)
    }

    #[cfg(test)]
    pub(super) fn at(path: &str) -> Self {
        Self {
            kind: "file".to_owned(),
            path: path.to_owned(),
            size: 1,
            oid: String::new(),
            lfs: None,
        }
    }
}

impl Repository {
    pub(super) async fn find(
        client: &Client,
        dataset: &str,
        revision: Option<&str>,
    ) -> Result<Self, FetchError> {
        let segments = ["api", "datasets"].into_iter().chain(dataset.split('/'));
        // A revision is one segment, whatever slashes it holds.
        let url = below(
            &client.endpoint,
            segments.chain(revision.map(|_| "revision")).chain(revision),
        );
        let (body, _) = client.text(&url).await?;
        let info: Info = json(&url, &body)?;
        let commit = info
            .sha
            .filter(|sha| !sha.is_empty() && !sha.contains('/'))
            .ok_or_else(|| wrong(&url, "no commit in the answer"))?;
        let dataset = info.id.filter(|id| !id.is_empty() && !id.contains('@'));
        Ok(Self {
            dataset: dataset.unwrap_or_else(|| url_dataset(&url)),
            commit,
            configs: info.card_data.as_ref().map(Config::all).unwrap_or_default(),
        })
    }

    /// The configuration that the card calls the default.
    pub(super) fn default_config(&self) -> Option<&str> {
        let marked = self.configs.iter().find(|config| config.is_default);
        marked.map(|config| config.name.as_str())
    }

    /// All files.
    pub(super) async fn tree(&self, client: &Client) -> Result<Vec<Entry>, FetchError> {
        let segments = ["api", "datasets"]
            .into_iter()
            .chain(self.dataset.split('/'))
            .chain(["tree", self.commit.as_str()]);
        let mut url = below(&client.endpoint, segments);
        url.set_query(Some("recursive=true"));
        let mut entries = Vec::new();
        for _ in 0..MAX_PAGES {
            let (body, headers) = client.text(&url).await?;
            let page: Vec<Entry> = json(&url, &body)?;
            entries.extend(page.into_iter().filter(|entry| entry.kind == "file"));
            let Some(next) = text(&headers, LINK.as_str()).and_then(|links| next_page(&links))
            else {
                return Ok(entries);
            };
            let next = url
                .join(&next)
                .map_err(|error| wrong(&url, format!("next page: {error}")))?;
            if next == url {
                return Err(wrong(&url, "a page that is its own successor"));
            }
            url = next;
        }
        Err(wrong(&url, "a list of files without end"))
    }

    pub(super) fn shown(&self, config: &str) -> String {
        format!("hf://{}/{config}@{}", self.dataset, self.commit)
    }
}

fn url_dataset(url: &Url) -> String {
    // Behind `api/datasets`; a revision is behind that.
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

fn json<T: for<'de> Deserialize<'de>>(url: &Url, body: &str) -> Result<T, FetchError> {
    serde_json::from_str(body)
        .map_err(|error| wrong(url, format!("not the JSON expected: {error}")))
}

/// The URL of `rel="next"` in a `Link` header.
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
