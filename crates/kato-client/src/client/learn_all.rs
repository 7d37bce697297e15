//! Learning of many items with few requests: which requests a server takes.

use kato_protocol::extension::BatchItem;

use super::KatoClient;
use crate::ClientError;
use crate::batch::{BatchMode, BatchPlan, BatchSessions, LearnReport, execute_plan};

/// Most observations of one request to a stock server.
const MAX_EVENTS: usize = 5_000;

/// Limits of a batch where the server states none.
const FALLBACK_SEQUENCES: usize = 1_000;
const FALLBACK_BYTES: usize = 8 << 20;

impl KatoClient {
    /// Learns every item as one pattern, with the same names, frequencies, emotives and metadata as
    /// learning them one by one.
    ///
    /// The client's own session and short-term memory have no part in it. On a kato-rs server the
    /// items go into `learn-batch` requests nearly as large as it takes. On a stock server of generation
    /// 3.10 or later items of exactly `chunk_size` events of one symbol each, without emotives or metadata,
    /// go together into long sequences of a session that learns whenever a chunk is complete; all
    /// others cost one request each, from 6.x on two, and one more after an item with emotives or metadata,
    /// because what was observed would go into the next pattern as well. On a server of the 2025-10
    /// generation every item costs one request: its sessions share their settings, so that no two
    /// ways of learning can be at work at a time. There, items with emotives or metadata are only
    /// right while nobody else observes at the node.
    ///
    /// Symbols are sorted within each event, as the server does.
    ///
    /// # Errors
    ///
    /// [`ClientError::NameMismatch`] if the server learned something else; else as for
    /// [`learn`](Self::learn). A batch request acts as a whole; requests before the failed one have
    /// acted.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use kato_client::KatoClient;
    /// use kato_client::protocol::extension::BatchItem;
    ///
    /// # async fn example(client: KatoClient) -> Result<(), kato_client::ClientError> {
    /// let chunks = ["abcd", "efgh", "ij"].map(|text| BatchItem {
    ///     events: text.chars().map(|symbol| vec![symbol.to_string()]).collect(),
    ///     ..BatchItem::default()
    /// });
    /// let report = client.learn_all(&chunks, Some(4)).await?;
    /// assert_eq!(report.names.len(), 3);
    /// println!("{} requests", report.calls.requests);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn learn_all(
        &self,
        items: &[BatchItem],
        chunk_size: Option<usize>,
    ) -> Result<LearnReport, ClientError> {
        self.learn_all_as(None, items, chunk_size).await
    }

    /// Learns every item as [`learn_all`](Self::learn_all) does, but acts once for a key, also when
    /// this process crashes and forgets whether it made the call: call it again with the same items
    /// and the same key, of at most 200 visible ASCII characters, within 24 hours and with the same
    /// limits of the server.
    ///
    /// Stock servers know no keys: there it is [`learn_all`](Self::learn_all).
    ///
    /// # Errors
    ///
    /// As [`learn_all`](Self::learn_all); the server refuses other items with a key that it knows.
    pub async fn learn_all_once(
        &self,
        key: &str,
        items: &[BatchItem],
        chunk_size: Option<usize>,
    ) -> Result<LearnReport, ClientError> {
        self.learn_all_as(Some(key.to_owned()), items, chunk_size)
            .await
    }

    /// Learns every item as one pattern, with a key if there is one.
    async fn learn_all_as(
        &self,
        key: Option<String>,
        items: &[BatchItem],
        chunk_size: Option<usize>,
    ) -> Result<LearnReport, ClientError> {
        let before = self.calls();
        let mode = self.batch_mode(chunk_size).await?;
        let generation = self.generation().await?;
        let (plan, items) = BatchPlan::new(items, mode);
        // Held while the caller waits: its batches are carried out one after the other.
        let mut batch = self.batch.lock().await;
        // Taken out: if the caller stops waiting, the sessions belong to the work that goes on, and
        // the next batch makes others. A session of another chunk size would cut the items at other
        // places.
        let reusable = batch
            .take()
            .filter(|sessions| sessions.chunk_size == chunk_size);
        let mut sessions = reusable.unwrap_or_else(|| {
            let options = &self.session.options;
            BatchSessions::new(&self.transport, options, chunk_size, generation)
        });
        let work = async move {
            let done = execute_plan(&plan, &items, &mut sessions, key.as_deref()).await;
            // A doubt concerns this call alone; the next one begins with fresh sessions.
            let sessions = match done {
                Ok(_) => Some(sessions),
                Err(_) => {
                    sessions.start_over().await;
                    None
                }
            };
            // The result travels inside: the sessions have to come back after a failure, too.
            Ok((done, sessions, plan.names))
        };
        let (done, sessions, names) = self.detached("learn_all", work).await?;
        *batch = sessions;
        Ok(LearnReport {
            names,
            new_patterns: done?,
            calls: self.calls().since(&before),
        })
    }

    /// Returns how the server can be taught.
    async fn batch_mode(&self, chunk_size: Option<usize>) -> Result<BatchMode, ClientError> {
        let server = self.transport.server().await?;
        // Only with keys: a batch without one could not be repeated after a lost answer.
        if let Some(extensions) = &server.extensions
            && extensions.idempotency_keys
            && let Some(limits) = extensions.learn_batch
        {
            return Ok(BatchMode::LearnBatch {
                max_sequences: positive(limits.max_sequences, FALLBACK_SEQUENCES),
                max_bytes: positive(limits.max_bytes, FALLBACK_BYTES),
            });
        }
        Ok(
            match (server.generation.keeps_sessions_apart(), chunk_size) {
                (true, Some(chunk_size)) => BatchMode::Runs {
                    chunk_size,
                    max_events: MAX_EVENTS,
                },
                _ => BatchMode::OneByOne,
            },
        )
    }
}

/// Returns the limit, or the fallback for a limit of 0, with which nothing could be sent.
fn positive(limit: usize, fallback: usize) -> usize {
    if limit == 0 { fallback } else { limit }
}
