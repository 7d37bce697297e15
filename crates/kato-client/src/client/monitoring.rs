//! Questions of a client about the server itself.

use hyper::Method;
use kato_protocol::extension::{ReplaceRunRecord, RunRecord, RunRecordReplaced};
use kato_protocol::monitoring::{
    CacheInvalidated, CacheStats, Concurrency, ConnectionPools, DistributedStm, Health,
    MetricHistory, Metrics, Stats, Status,
};
use kato_protocol::session::{Root, SessionCount};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::KatoClient;
use super::node::is_path_segment;
use crate::ClientError;
use crate::calls::CallKind;

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $path:expr;)*) => {
        impl KatoClient {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// No connection; a refusal.
                pub async fn $name(&self) -> Result<$type, ClientError> {
                    self.ask(Method::GET, &$path, &[]).await
                }
            )*
        }
    };
}

plain! {
    /// Returns name and version of the server.
    root: Root = [];
    /// Returns the health of the server.
    health: Health = ["health"];
    /// Returns the sessions and processors of the server.
    status: Status = ["status"];
    /// Returns figures about requests, machine and databases.
    metrics: Metrics = ["metrics"];
    /// Returns the requests in flight, now and at most.
    concurrency: Concurrency = ["concurrency"];
    /// Returns figures about the server's cache.
    cache_stats: CacheStats = ["cache", "stats"];
    /// Returns figures about the server's distributed short-term memory.
    distributed_stm: DistributedStm = ["distributed-stm", "stats"];
    /// Returns the state of the server's connections to its databases.
    connection_pools: ConnectionPools = ["connection-pools"];
}

impl KatoClient {
    /// Returns the record of a training run; `None` if there is none, or the server keeps none.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn run_record(&self, run: &str) -> Result<Option<RunRecord>, ClientError> {
        match self.ask(Method::GET, &["runs", run], &[]).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the record of a training run, durably, if its version is `version`, 0 for none;
    /// returns its version from then on.
    ///
    /// # Errors
    ///
    /// Status 409 when the version is another, which may be this request's own whose answer was
    /// lost; no connection; other refusals.
    pub async fn replace_run_record(
        &self,
        run: &str,
        version: u64,
        record: &Value,
    ) -> Result<u64, ClientError> {
        let record = record.clone();
        let call = self
            .transport
            .call(CallKind::Monitoring, Method::PUT, &["runs", run])
            .json(&ReplaceRunRecord { version, record })?;
        // Repeating is safe: a second copy finds another version and is refused.
        let replaced: RunRecordReplaced = self.transport.repeat(call).await?;
        Ok(replaced.version)
    }

    /// Returns the number of sessions that have not ended, of all clients.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn session_count(&self) -> Result<u64, ClientError> {
        let path = ["sessions", "count"];
        let count: SessionCount = self.ask(Method::GET, &path, &[]).await?;
        Ok(count.active_session_count)
    }

    /// Returns all metrics over the last `minutes`.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn stats(&self, minutes: u32) -> Result<Stats, ClientError> {
        let minutes = minutes.to_string();
        self.ask(Method::GET, &["stats"], &[("minutes", &minutes)])
            .await
    }

    /// Returns one metric over the last `minutes`; `None` if there are no points.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn metric_history(
        &self,
        name: &str,
        minutes: u32,
    ) -> Result<Option<MetricHistory>, ClientError> {
        // No metric has such a name, and the path would lead elsewhere.
        if !is_path_segment(name) {
            return Ok(None);
        }
        let minutes = minutes.to_string();
        let query = [("minutes", minutes.as_str())];
        match self.ask(Method::GET, &["metrics", name], &query).await {
            Ok(history) => Ok(Some(history)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Empties the server's cache, or what it holds for one session.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn invalidate_cache(
        &self,
        session_id: Option<&str>,
    ) -> Result<CacheInvalidated, ClientError> {
        let query = session_id.map(|id| ("session_id", id));
        self.ask(Method::POST, &["cache", "invalidate"], query.as_slice())
            .await
    }

    /// Makes a request that may be repeated.
    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let mut call = self.transport.call(CallKind::Monitoring, method, path);
        for (name, value) in query {
            call = call.query(name, value);
        }
        Ok(self.transport.repeat(call).await?)
    }
}
