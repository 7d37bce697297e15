//! Counting, retiring and purging the patterns of a client's node.

use hyper::Method;
use kato_model::{KatoGeneration, PatternName};
use kato_protocol::retirement::{
    PatternCount, PatternIds, PurgeRequest, Purged, Retired, Unretired,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::KatoClient;
use crate::ClientError;
use crate::calls::CallKind;

impl KatoClient {
    /// Returns how many patterns the node has, retired ones included (5.x and later). Waits before for
    /// what the server is still writing.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by an older server; no connection; a refusal.
    pub async fn count_patterns(&self) -> Result<u64, ClientError> {
        self.needs("patterns/count", KatoGeneration::counts_patterns)
            .await?;
        let path = ["patterns", "count"];
        let answer: PatternCount = self.node_get(&path, &[("flush", "true")]).await?;
        Ok(answer.pattern_count)
    }

    /// Retires patterns of the node (6.x): no prediction shows them any more, and nobody can learn them
    /// again until they are [un-retired](Self::unretire). They need not exist. At most 1000 names.
    ///
    /// To retire twice is to retire, so a lost answer is asked for again, and then says that they were
    /// retired before.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by an older server; no connection; a refusal.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: kato_client::KatoClient) -> Result<(), Box<dyn std::error::Error>> {
    /// let name = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9".parse()?;
    /// client.retire(&[name]).await?;
    /// // What nobody may see any more need not be kept either.
    /// let purged = client.purge(Some(&[name])).await?;
    /// assert!(purged.failed.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn retire(&self, names: &[PatternName]) -> Result<Retired, ClientError> {
        self.change("retire", &ids(names)).await
    }

    /// Takes back that patterns are retired (6.x), also of those that are purged: then they may be
    /// learned anew.
    ///
    /// # Errors
    ///
    /// As for [`retire`](Self::retire).
    pub async fn unretire(&self, names: &[PatternName]) -> Result<Unretired, ClientError> {
        self.change("un-retire", &ids(names)).await
    }

    /// Removes retired patterns and all that they have counted (6.x): those of these names, or the first
    /// 1000 that are not purged yet; where a lost answer is asked for again, the next 1000 as well. They
    /// stay retired.
    ///
    /// # Errors
    ///
    /// As for [`retire`](Self::retire).
    pub async fn purge(&self, names: Option<&[PatternName]>) -> Result<Purged, ClientError> {
        let request = PurgeRequest {
            pattern_ids: names.map(|names| ids(names).pattern_ids),
            ..PurgeRequest::default()
        };
        self.change("purge", &request).await
    }

    /// Asks for a change of the node's patterns that may be asked for twice.
    async fn change<T: DeserializeOwned>(
        &self,
        what: &'static str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.needs(what, KatoGeneration::can_retire).await?;
        let tail = ["patterns", what];
        let session = &self.session;
        session
            .ask(CallKind::Node, Method::POST, &tail, |call| call.json(body))
            .await
    }
}

/// Returns names as a request has them.
fn ids(names: &[PatternName]) -> PatternIds {
    PatternIds {
        pattern_ids: names.iter().map(ToString::to_string).collect(),
    }
}
