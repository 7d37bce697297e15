//! The record in the object store: objects that are created once, and what is done about answers
//! that fail or are lost.

mod seal;

use std::fmt;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _};
use kato_advice::retry::{Backoff, Retry, RetryPolicy};
use kato_store::slice::SliceSource;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::ClusterError;
use crate::blocking::Scratch;
use crate::marker::StoredFile;
use crate::transfer::{self, Incoming, Outgoing, PART_BYTES};

pub(crate) use self::seal::{decode, encode, plain};

/// A wait before something is tried again.
pub type Pause = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// What became of creating an object.
#[derive(Debug)]
pub(crate) enum Created {
    /// It is there now, and by this call.
    Own,
    /// Something was there before: its bytes.
    Before(Bytes),
}

/// A prefix of an object store.
pub(crate) struct Record {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The directory that the store is in, if it is one.
    root: Option<PathBuf>,
    backoff: Backoff,
    pause: Pause,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Record {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            root: None,
            backoff: Backoff::new(RetryPolicy::default(), kato_advice::retry::random_seed()),
            pause: Arc::new(|wait| Box::pin(pause(wait))),
        }
    }

    pub(crate) fn set_retry(&mut self, policy: RetryPolicy, pause: Pause) {
        self.backoff = Backoff::new(policy, kato_advice::retry::random_seed());
        self.pause = pause;
    }

    /// Sets the directory that the store is in: files beside it need not be written again there.
    pub(crate) fn with_root(mut self, root: PathBuf) -> Self {
        self.root = Some(root);
        self
    }

    fn path(&self, key: &str) -> Path {
        let parts = self.prefix.parts();
        parts
            .chain(Path::from(key).parts())
            .map(|part| part.as_ref().to_owned())
            .collect()
    }

    /// Waits before another attempt, or returns the error where there is to be none.
    async fn wait(
        &self,
        retry: &mut Retry,
        action: &'static str,
        key: &str,
        source: Error,
    ) -> Result<(), ClusterError> {
        let wait = match is_final(&source) {
            true => None,
            false => retry.next_wait(&self.backoff, Instant::now(), None),
        };
        match wait {
            Some(wait) => {
                (self.pause)(wait).await;
                Ok(())
            }
            None => Err(ClusterError::ObjectStore {
                action,
                key: key.to_owned(),
                source,
            }),
        }
    }

    /// Reads an object; `None` if it is not there.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Bytes>, ClusterError> {
        let path = self.path(key);
        let mut retry = Retry::new();
        loop {
            let answer = match self.store.get(&path).await {
                Ok(answer) => answer.bytes().await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(Error::NotFound { .. }) => return Ok(None),
                Err(error) => self.wait(&mut retry, "read", key, error).await?,
            }
        }
    }

    /// Reads an object that is JSON; `None` if it is not there.
    pub(crate) async fn read_json<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<T>, ClusterError> {
        let Some(bytes) = self.read(key).await? else {
            return Ok(None);
        };
        decode(key, &bytes).map(Some)
    }

    /// Creates an object, unless it is there.
    ///
    /// Whatever becomes of the answers, of those who create a key with different bytes at most one
    /// is told [`Created::Own`]: an answer that was lost is resolved by reading what is there.
    pub(crate) async fn create(&self, key: &str, bytes: Bytes) -> Result<Created, ClusterError> {
        let path = self.path(key);
        let mut retry = Retry::new();
        loop {
            let options = PutOptions::from(PutMode::Create);
            let payload = PutPayload::from(bytes.clone());
            let error = match self.store.put_opts(&path, payload, options).await {
                Ok(_) => return Ok(Created::Own),
                Err(Error::NotImplemented { .. }) => {
                    return Err(ClusterError::NoConditionalWrites);
                }
                Err(error) => error,
            };
            // Also after an error that says nothing about the object: the request may have been
            // carried out, by this attempt or by one before.
            if let Some(there) = self.read(key).await? {
                return Ok(match there == bytes {
                    true => Created::Own,
                    false => Created::Before(there),
                });
            }
            // There it was refused as existing and is not: only something that deletes does that.
            self.wait(&mut retry, "create", key, error).await?;
        }
    }

    /// Creates an object that is JSON, unless it is there.
    pub(crate) async fn create_json(
        &self,
        key: &str,
        value: &impl Serialize,
    ) -> Result<Created, ClusterError> {
        self.create(key, encode(key, value)).await
    }

    /// Finds out whether the store refuses to create what is there: the object of `kept`, which nobody removes,
    /// or, as long as there is none, one of its own.
    pub(crate) async fn probe(&self, kept: &str) -> Result<(), ClusterError> {
        if let Some(there) = self.read(kept).await? {
            // Were it overwritten after all, it would hold what it held.
            return self.check_refused(kept, there).await;
        }
        let key = format!("probe/{}", Uuid::new_v4());
        let first = Bytes::from_static(b"first");
        let own = match self.create(&key, first.clone()).await? {
            Created::Own => {
                self.check_refused(&key, Bytes::from_static(b"second"))
                    .await
            }
            Created::Before(_) => Err(ClusterError::NoConditionalWrites),
        };
        let there = self.read(&key).await?;
        if there.is_some() {
            self.delete(&key).await?;
        }
        match own {
            Ok(()) if there == Some(first) => Ok(()),
            Ok(()) | Err(ClusterError::NoConditionalWrites) => {
                // Garbage is collected once there is a plan, and it may have taken the object away.
                match self.read(kept).await? {
                    Some(there) => self.check_refused(kept, there).await,
                    None => Err(ClusterError::NoConditionalWrites),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Fails unless the store refuses to create an object that is there.
    async fn check_refused(&self, key: &str, bytes: Bytes) -> Result<(), ClusterError> {
        let path = self.path(key);
        let mut retry = Retry::new();
        loop {
            let options = PutOptions::from(PutMode::Create);
            let payload = PutPayload::from(bytes.clone());
            match self.store.put_opts(&path, payload, options).await {
                // A real answer that it is a conflict; no other will do.
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => return Ok(()),
                Ok(_) => return Err(ClusterError::NoConditionalWrites),
                Err(error) => self.wait(&mut retry, "probe", key, error).await?,
            }
        }
    }

    /// Uploads a file under a key that nobody else uses, and returns its BLAKE3 and its size.
    pub(crate) async fn upload(
        &self,
        key: &str,
        from: &FilePath,
    ) -> Result<(String, u64), ClusterError> {
        let path = self.path(key);
        if let Some(root) = &self.root
            && let Some(linked) = transfer::link(from, root, &root.join(path.as_ref())).await?
        {
            return Ok(linked);
        }
        let mut retry = Retry::new();
        let (hash, size) = loop {
            match self.send(&path, Outgoing::open(from).await?).await? {
                Ok(sent) => break sent.finish(),
                Err(error) => self.wait(&mut retry, "upload", key, error).await?,
            }
        };
        // What a marker names must be there: a store that lost a part is found out before.
        let mut retry = Retry::new();
        let found = loop {
            match self.store.head(&path).await {
                Ok(meta) => break meta.size,
                Err(error) => self.wait(&mut retry, "look at", key, error).await?,
            }
        };
        match found == size {
            true => Ok((hash, size)),
            false => Err(ClusterError::Damaged {
                key: key.to_owned(),
                reason: format!("it has {found} bytes where {size} were sent"),
            }),
        }
    }

    /// Sends a file once; the outer error is that of reading it.
    async fn send(
        &self,
        path: &Path,
        file: Outgoing,
    ) -> Result<Result<Outgoing, Error>, ClusterError> {
        let (mut file, mut part) = file.next().await?;
        if part.len() < PART_BYTES {
            let sent = self.store.put(path, part.into()).await;
            return Ok(sent.map(|_| file));
        }
        let mut upload = match self.store.put_multipart(path).await {
            Ok(upload) => upload,
            Err(error) => return Ok(Err(error)),
        };
        while !part.is_empty() {
            let sent = upload.put_part(part.into()).await;
            if let Err(error) = sent {
                // Best effort: what is left of it is garbage that no marker names.
                let _ = upload.abort().await;
                return Ok(Err(error));
            }
            (file, part) = file.next().await?;
        }
        Ok(upload.complete().await.map(|_| file))
    }

    /// Returns where the slice can be read that ranges of an object are: in the directory that the
    /// store is in, or in a file of a working directory, which they are written into.
    pub(crate) async fn slice(
        &self,
        key: &str,
        ranges: Vec<Range<u64>>,
        to: &FilePath,
        scratch: &Scratch,
    ) -> Result<SliceSource, ClusterError> {
        if let Some(root) = &self.root {
            let path = root.join(self.path(key).as_ref());
            return Ok(SliceSource::from_ranges(path, ranges));
        }
        self.download(key, &ranges, to, scratch).await?;
        Ok(SliceSource::from_file(to))
    }

    /// Returns where a slice can be read that is an object of its own, as [`slice`](Self::slice) does.
    pub(crate) async fn slice_of(
        &self,
        file: &StoredFile,
        to: &FilePath,
        scratch: &Scratch,
    ) -> Result<SliceSource, ClusterError> {
        let whole = 0..file.bytes;
        self.slice(&file.key, vec![whole], to, scratch).await
    }

    /// Writes ranges of an object into a file of a working directory.
    pub(crate) async fn download(
        &self,
        key: &str,
        ranges: &[Range<u64>],
        to: &FilePath,
        scratch: &Scratch,
    ) -> Result<(), ClusterError> {
        let path = self.path(key);
        let mut file = Incoming::create(to, scratch).await?;
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            let length = range.end - range.start;
            let mut retry = Retry::new();
            loop {
                let options = GetOptions {
                    range: Some(GetRange::Bounded(range.clone())),
                    ..GetOptions::default()
                };
                let received = match self.store.get_opts(&path, options).await {
                    Ok(answer) => {
                        let received;
                        (file, received) = receive(answer, range, file).await?;
                        received
                    }
                    Err(error) => Err(error),
                };
                match received {
                    Ok(received) if received == length => break,
                    Ok(received) => {
                        return Err(ClusterError::Damaged {
                            key: key.to_owned(),
                            reason: format!("{received} bytes came of {length} asked for"),
                        });
                    }
                    Err(error) => {
                        // Half a range must not stay in front of the whole.
                        file = file.rewind().await?;
                        self.wait(&mut retry, "read", key, error).await?;
                    }
                }
            }
            file = file.keep(length).await?;
        }
        Ok(())
    }

    /// Lists the objects below a prefix, by their keys. The list may lag behind.
    pub(crate) async fn list(
        &self,
        below: &str,
    ) -> Result<Vec<(String, ObjectMeta)>, ClusterError> {
        let path = self.path(below);
        let mut retry = Retry::new();
        let listed = loop {
            match self.store.list(Some(&path)).try_collect::<Vec<_>>().await {
                Ok(listed) => break listed,
                Err(error) => self.wait(&mut retry, "list", below, error).await?,
            }
        };
        let key = |meta: ObjectMeta| {
            let parts: Vec<String> = meta
                .location
                .prefix_match(&self.prefix)?
                .map(|part| part.as_ref().to_owned())
                .collect();
            Some((parts.join("/"), meta))
        };
        let mut listed: Vec<_> = listed.into_iter().filter_map(key).collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(listed)
    }

    /// Deletes an object; one that is not there is no error.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), ClusterError> {
        let path = self.path(key);
        let mut retry = Retry::new();
        loop {
            match self.store.delete(&path).await {
                Ok(()) | Err(Error::NotFound { .. }) => return Ok(()),
                Err(error) => self.wait(&mut retry, "delete", key, error).await?,
            }
        }
    }
}

/// Writes the answer to a question for a range behind a file; returns the file, and how many bytes
/// came, or why no more did.
async fn receive(
    answer: GetResult,
    range: &Range<u64>,
    mut file: Incoming,
) -> Result<(Incoming, object_store::Result<u64>), ClusterError> {
    if let GetResultPayload::File(from, _) = answer.payload {
        // A store in a directory hands out the file, and would cut it into many small pieces.
        let (file, received) = file.copy(from, range.clone()).await?;
        return Ok((file, Ok(received)));
    }
    let mut received = 0;
    let mut stream = answer.into_stream();
    while let Some(bytes) = stream.next().await {
        match bytes {
            Ok(bytes) => {
                received += bytes.len() as u64;
                file = file.push(bytes).await?;
            }
            Err(error) => return Ok((file, Err(error))),
        }
    }
    Ok((file, Ok(received)))
}

/// Waits without a thread that drives futures, where there are such.
async fn pause(wait: Duration) {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => tokio::time::sleep(wait).await,
        Err(_) => std::thread::sleep(wait),
    }
}

/// Returns whether asking again cannot help.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::UnknownConfigurationKey { .. }
    )
}
