//! The stream of events of the server that a client talks to.

use super::KatoClient;
use crate::ClientError;
use crate::calls::CallKind;
use crate::events::EventStream;

impl KatoClient {
    /// Opens the server's stream of events: sessions that are created and deleted, by any client.
    ///
    /// # Errors
    ///
    /// No connection; a refusal; an answer that broke off, or that is none of a stream.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(client: kato_client::KatoClient) -> Result<(), kato_client::ClientError> {
    /// let mut events = client.events().await?;
    /// while let Some(event) = events.next_event().await {
    ///     println!("{:?}", event?.event);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn events(&self) -> Result<EventStream, ClientError> {
        self.transport.counters.count(CallKind::Monitoring);
        EventStream::open(&self.transport.pool).await
    }
}
