//! The connection to the server: its address, the patience with it, and how to try again.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use kato_advice::retry::{Backoff, Retry, RetryPolicy, random_seed};
use kato_store::{Place, StoreError};
use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::{ClientOptions, ReadConcern, ServerAddress, WriteConcern};
use mongodb::{Client, ClientSession, Collection, Database};

use super::figures::Counters;
use super::operation_error::OperationError;
use super::secrets::Secrets;
use crate::error::Error;

/// Time for which the driver looks for a server before the store counts the attempt as failed.
const SELECTION: Duration = Duration::from_secs(2);

/// A server, or a cluster, that holds stores.
#[derive(Debug)]
pub(crate) struct Server {
    client: Client,
    /// `mongodb://host:port`, without credentials and options.
    place: String,
    secrets: Secrets,
    backoff: Backoff,
    pub(crate) counters: Arc<Counters>,
}

/// The abilities of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abilities {
    /// Whether it is a replica set or a sharded cluster, which have transactions.
    pub(crate) transactions: bool,
    /// The time on its clock.
    pub(crate) now: DateTime,
}

impl Server {
    /// Creates a connection lazily: nothing is sent yet, but names of `mongodb+srv` are resolved.
    pub(crate) async fn new(uri: &str, patience: Duration, pool: u32) -> Result<Self, StoreError> {
        // The driver's own message may repeat the address with its password, so it stays behind.
        let refused = || Error::Address.at(Place::from_address("the address of the server"));
        let mut options = ClientOptions::parse(uri).await.map_err(|_| refused())?;
        let hosts: Vec<String> = options.hosts.iter().map(ServerAddress::to_string).collect();
        let place = format!("mongodb://{}", hosts.join(","));
        let credential = options.credential.iter();
        // Both spellings are secret: the decoded one of the driver, and the raw one of the address.
        // The last `@` ends it, as an unescaped password may hold others.
        let secrets =
            credential.flat_map(|credential| [&credential.password, &credential.username]);
        let userinfo = uri
            .split_once("://")
            .and_then(|(_, rest)| rest.rsplit_once('@'))
            .map_or("", |(userinfo, _)| userinfo);
        let raw = userinfo.split(':').chain([userinfo]).map(str::to_owned);
        let secrets = Secrets::new(secrets.flatten().cloned().chain(raw));
        options.app_name.get_or_insert_with(|| "kato-rs".to_owned());
        // Short, because trying again is ours: the driver's own half a minute would take half of
        // the patience.
        options.server_selection_timeout = Some(SELECTION.min(patience));
        options
            .connect_timeout
            .get_or_insert(Duration::from_secs(10));
        // At least what the bulks in flight need, whatever the address says.
        options.max_pool_size = Some(options.max_pool_size.unwrap_or(0).max(pool));
        // Whatever the address prefers, reads go to the primary: they see what was written, not
        // what might be rolled back.
        options.selection_criteria = None;
        let client = Client::with_options(options).map_err(|_| refused())?;
        Ok(Self {
            client,
            place,
            secrets,
            backoff: Backoff::new(policy(patience), random_seed()),
            counters: Arc::default(),
        })
    }

    /// Returns a future that ends the sessions on the server and closes all connections, after which
    /// nothing may be asked of it.
    pub(crate) fn leave(&self) -> impl Future<Output = ()> + Send + 'static {
        let client = self.client.clone();
        // At once: whatever has not ended by now ends with the threads.
        async move { client.shutdown().immediate(true).await }
    }

    /// Returns the server's address without credentials.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Returns the place of one of its databases, or of a part of one, for errors.
    pub(crate) fn place_of(&self, parts: &[&str]) -> Place {
        Place::from_address(format!("{}/{}", self.place, parts.join("/")))
    }

    /// Returns a database of the server.
    pub(crate) fn database(&self, name: &str) -> Database {
        self.client.database(name)
    }

    /// Returns a collection, whose documents stay encoded until they are looked at.
    pub(crate) fn collection(&self, database: &str, name: &str) -> Collection<RawDocumentBuf> {
        self.database(database).collection(name)
    }

    /// Starts a session.
    pub(crate) async fn session(&self) -> Result<ClientSession, OperationError> {
        Ok(self.client.start_session().await?)
    }

    /// Returns the names of all databases.
    pub(crate) async fn database_names(&self) -> Result<Vec<String>, StoreError> {
        let names = || async { Ok(self.client.list_database_names().await?) };
        self.retry("list the databases", names).await
    }

    /// Asks the server what it is and what time it has.
    pub(crate) async fn hello(&self) -> Result<Abilities, StoreError> {
        self.retry("say hello", || async {
            let admin = self.database("admin");
            let reply = match admin.run_command(doc! {"hello": 1}).await {
                // Servers before 4.4.2 do not know the command.
                Err(error) if OperationError::from(error.clone()).code() == Some(59) => {
                    admin.run_command(doc! {"isMaster": 1}).await?
                }
                reply => reply?,
            };
            Ok(Abilities {
                // Members of a replica set name it, and the router of a sharded cluster says
                // `isdbgrid`.
                transactions: reply.contains_key("setName")
                    || reply.get_str("msg").is_ok_and(|msg| msg == "isdbgrid"),
                now: reply
                    .get_datetime("localTime")
                    .copied()
                    .unwrap_or_else(|_| DateTime::now()),
            })
        })
        .await
    }

    /// Repeats an attempt, which may be done twice, until it succeeds, or fails for good, or
    /// patience ends.
    pub(crate) async fn retry<T, F>(
        &self,
        action: &'static str,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, OperationError>>,
    {
        let mut retry = Retry::from_start(Instant::now());
        loop {
            let failure = match attempt().await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            if !failure.is_transient() {
                return Err(self.refused(action, failure));
            }
            let Some(wait) = retry.next_wait(&self.backoff, Instant::now(), None) else {
                let source = failure.redacted(&self.secrets);
                return Err(self.error(Error::Unanswered { action, source }));
            };
            let failures = retry.failures();
            tracing::debug!(action, failures, code = failure.code(), "trying again");
            Counters::add(&self.counters.retries, 1);
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns the failure as an error, without secrets.
    pub(crate) fn refused(&self, action: &'static str, failure: OperationError) -> StoreError {
        match failure {
            OperationError::Store(error) => error,
            failure => {
                let source = failure.redacted(&self.secrets);
                self.error(Error::Refused { action, source })
            }
        }
    }

    /// Returns an error of the server as a whole.
    pub(crate) fn error(&self, error: Error) -> StoreError {
        error.at(Place::from_address(self.place.as_str()))
    }

    /// Sends a bulk of writes and checks that each was done.
    pub(crate) async fn write(
        &self,
        database: &str,
        command: RawDocumentBuf,
        session: Option<&mut ClientSession>,
    ) -> Result<Document, OperationError> {
        Counters::add(&self.counters.bytes, command.as_bytes().len() as u64);
        let database = self.database(database);
        let action = database.run_raw_command(command);
        let reply = match session {
            Some(session) => action.session(session).await?,
            None => action.await?,
        };
        // The driver looks at the command as a whole; that single writes failed, or are not yet
        // durable, stands in a reply that succeeded.
        let errors = reply.get_array("writeErrors").ok();
        let first = errors.and_then(|errors| errors.first()?.as_document());
        let failed = first.or_else(|| reply.get_document("writeConcernError").ok());
        match failed {
            None => Ok(reply),
            Some(error) => Err(OperationError::Write {
                code: error.get_i32("code").unwrap_or_default(),
                message: error.get_str("errmsg").unwrap_or_default().to_owned(),
            }),
        }
    }

    /// Returns all documents that match, in the order and number asked for.
    pub(crate) async fn find(
        &self,
        (database, collection): (&str, &str),
        filter: Document,
        projection: Option<Document>,
        sorted: Option<(Document, i64)>,
    ) -> Result<Vec<RawDocumentBuf>, OperationError> {
        let collection = self.collection(database, collection);
        let mut find = collection.find(filter).read_concern(ReadConcern::local());
        if let Some(projection) = projection {
            find = find.projection(projection);
        }
        if let Some((sort, limit)) = sorted {
            find = find.sort(sort).limit(limit);
        }
        Ok(find.await?.try_collect().await?)
    }
}

/// Returns the policy of trying again: patience alone bounds it, however many attempts fit.
const fn policy(patience: Duration) -> RetryPolicy {
    RetryPolicy::new()
        .with_attempts(u32::MAX)
        .with_first_wait(Duration::from_millis(20))
        .with_longest_wait(Duration::from_secs(2))
        .with_patience(patience)
}

/// Returns the write concern that survives the loss of a server: on the disks of a majority.
pub(crate) fn durable() -> WriteConcern {
    WriteConcern::builder()
        .w(mongodb::options::Acknowledgment::Majority)
        .journal(true)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_without_credentials() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let uri = "mongodb://ann:s3cr%40t@127.0.0.1:9/?authSource=admin";
            let server = Server::new(uri, Duration::from_millis(100), 1)
                .await
                .unwrap();
            let place = server.place_of(&["run_kato_rs", "journal"]);
            let expected = Place::from_address("mongodb://127.0.0.1:9/run_kato_rs/journal");
            assert_eq!(place, expected);
            let missing = StoreError::Missing { place }.to_string();
            assert!(missing.contains("check the address"), "{missing}");
        });
    }
}
