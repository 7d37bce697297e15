//! Teaching by one worker: it plans documents, then sends all levels at once.

use std::ops::Range;
use std::time::Instant;

use futures_util::future::{join_all, try_join_all};
use kato_client::{ClientError, KatoClient, LearnSession};
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::{LearnBatch, PatternName};
use kato_probe::NodeProbe;
use kato_protocol::extension::BatchItem;
use kato_scheduler::activity::Activity;
use kato_scheduler::backend::{RefusedDocument, RetiredPattern};
use kato_scheduler::{Teacher, TrainError};

use crate::backend::{Kind, RemoteBackend, RemotePart};
use crate::error::teach;
use crate::stock::{Item, Stock};
use crate::{RemoteError, items};

/// One worker's way to teach the nodes of a server.
pub(crate) struct RemoteTeacher<'a> {
    backend: &'a RemoteBackend,
    learner: &'a HierarchicalConceptLearner,
    /// The counts on this side, for a server that knows no idempotency keys.
    local_counts: Option<LocalCounts<'a>>,
    /// The clients, one a level.
    clients: Vec<KatoClient>,
    /// Learn calls that are planned and not sent, by level.
    levels: Vec<Vec<Item>>,
    /// Documents that are planned and not sent: how they are called, and where their learn calls begin, by
    /// level.
    documents: Vec<(String, Vec<usize>)>,
    /// Learn calls that were sent since the last part was taken, by level.
    observations: Vec<u64>,
    new_patterns: Option<Vec<u64>>,
    /// One a level.
    probes: Vec<NodeProbe>,
    /// Whether requests were given up: the server may still be at work on them.
    has_given_up: bool,
}

/// The part of the learning that is done on this side as well.
struct LocalCounts<'a> {
    stock: &'a Stock,
    batch: LearnBatch,
    /// One a level.
    sessions: Vec<LearnSession>,
}

impl<'a> RemoteTeacher<'a> {
    /// Opens a client of each level, and on a stock server a session as well.
    pub(crate) fn new(
        backend: &'a RemoteBackend,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Self, RemoteError> {
        let n_nodes = learner.nodes().len();
        let clients = backend.clients();
        let local_counts = match &backend.kind {
            Kind::Idempotent(_) => None,
            Kind::Stock(stock) => {
                let sizes = learner.nodes().iter().map(|node| node.chunk_size);
                let sessions = clients.iter().zip(sizes).map(|(client, chunk_size)| {
                    backend.unless_interrupted(async {
                        let session = client.learn_session(chunk_size).await;
                        session.map_err(|source| teach(client, source))
                    })
                });
                Some(LocalCounts {
                    stock,
                    batch: new_batch(learner, stock),
                    sessions: sessions.collect::<Result<_, _>>()?,
                })
            }
        };
        Ok(Self {
            backend,
            learner,
            local_counts,
            clients,
            levels: std::iter::repeat_with(Vec::new).take(n_nodes).collect(),
            documents: Vec::new(),
            observations: vec![0; n_nodes],
            new_patterns: Some(vec![0; n_nodes]),
            probes: learner
                .node_names()
                .iter()
                .map(|name| backend.probe.node(name))
                .collect(),
            has_given_up: false,
        })
    }

    /// Sends all levels at the same time: a name on one level is known before the level below has
    /// learned it. Returns how many patterns were new, by level, where the server reports it.
    fn send(
        &mut self,
        levels: Vec<Vec<Item>>,
        documents: &Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<Option<u64>>, RemoteError> {
        let (backend, probes) = (self.backend, &self.probes);
        if let Some(LocalCounts {
            stock, sessions, ..
        }) = &mut self.local_counts
        {
            // If one level fails, the others are dropped in the middle of their requests. The run
            // ends then, and what they had sent is in the journal, so that resuming it asks what
            // arrived; where nobody could tell that, their answers are waited for.
            let checked = backend.unless_interrupted(stock.check_new(&levels));
            self.has_given_up |= checked.is_err();
            checked?;
            let lanes = levels.iter().zip(sessions.iter_mut()).zip(probes);
            let taught = lanes
                .enumerate()
                .map(|(node_idx, ((items, session), probe))| {
                    let lane = Lane { stock, probe };
                    lane.teach(session, (documents.start, node_idx), items, activity)
                });
            let taught = backend.unless_interrupted(async {
                match stock.can_find_out() {
                    true => try_join_all(taught).await,
                    false => join_all(taught).await.into_iter().collect(),
                }
            });
            self.has_given_up |= taught.is_err();
            // Only now, as the others had their answers until here.
            return match taught?.into_iter().all(|is_taught| is_taught) {
                // Stock servers do not report which patterns are new.
                true => Ok(vec![None; probes.len()]),
                false => Err(backend.interruption()),
            };
        }
        let (clients, nodes) = (&self.clients, self.learner.nodes());
        let level = |(node_idx, items): (usize, Vec<Item>)| async move {
            let client = &clients[node_idx];
            let _waiting = activity.enter(format!("waiting for {} to learn", client.node_id()));
            let items: Vec<BatchItem> = items.into_iter().map(|item| item.item).collect();
            let key = backend.key(node_idx, documents.start);
            let start = Instant::now();
            let chunk_size = Some(nodes[node_idx].chunk_size);
            let learned = client.learn_all_once(&key, &items, chunk_size).await;
            probes[node_idx].timed(items.len() as u64, start.elapsed());
            let report = learned.map_err(|source| match source {
                ClientError::Retired {
                    pattern: Some(pattern),
                    ..
                } => RemoteError::Retired(RetiredPattern::new(client.node_id(), pattern)),
                source => teach(client, source),
            })?;
            Ok(report.new_patterns)
        };
        // If one level fails, the others are dropped in the middle. That is safe: sent again, they
        // carry the same keys.
        let levels = try_join_all(levels.into_iter().enumerate().map(level));
        let learned = backend.unless_interrupted(levels);
        self.has_given_up |= learned.is_err();
        learned
    }
}

/// The way of one level to a stock server.
struct Lane<'a> {
    stock: &'a Stock,
    probe: &'a NodeProbe,
}

impl Lane<'_> {
    /// Teaches a level's items, and takes the time; returns `false` when the run was interrupted
    /// before all were taught.
    async fn teach(
        self,
        session: &mut LearnSession,
        key: (u64, usize),
        items: &[Item],
        activity: &Activity,
    ) -> Result<bool, RemoteError> {
        let start = Instant::now();
        let is_taught = self.stock.teach(session, key, items, activity).await?;
        if is_taught {
            self.probe.timed(items.len() as u64, start.elapsed());
        }
        Ok(is_taught)
    }
}

/// Names the documents that hold a pattern that is retired.
fn name_documents(
    error: RemoteError,
    taught: &[(String, Vec<usize>)],
    names: &[Vec<PatternName>],
) -> RemoteError {
    let RemoteError::Retired(mut retired) = error else {
        return error;
    };
    let holds = |document: usize| {
        let level = |(level, names): (usize, &Vec<PatternName>)| {
            let start = taught[document].1[level];
            let next = taught.get(document + 1);
            let end = next.map_or(names.len(), |(_, starts)| starts[level]);
            names[start..end].contains(&retired.pattern)
        };
        names.iter().enumerate().any(level)
    };
    let documents = (0..taught.len()).filter(|document| holds(*document));
    retired.documents = documents.map(|idx| taught[idx].0.clone()).collect();
    RemoteError::Retired(retired)
}

/// Returns an empty batch with the store's limits.
fn new_batch(learner: &HierarchicalConceptLearner, stock: &Stock) -> LearnBatch {
    learner.new_batch_with_limits(stock.store().attribute_limits())
}

impl Teacher for RemoteTeacher<'_> {
    type Part = RemotePart;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        // What a stock server is taught is counted here as well: nothing else says afterwards how
        // often it should know a pattern.
        match &mut self.local_counts {
            Some(local_counts) => self
                .learner
                .learn(document, &mut local_counts.batch, scratch)?,
            None => drop(self.learner.plan(&document, scratch)?),
        }
        let starts = self.levels.iter().map(Vec::len).collect();
        let called = match document.id {
            "" => document.document_idx.to_string(),
            id => id.to_owned(),
        };
        self.documents.push((called, starts));
        let vocabulary = self.learner.tokenizer().vocabulary();
        items::append(
            scratch.plan(),
            vocabulary,
            document.metadata,
            &mut self.levels,
        );
        Ok(())
    }

    fn finish_work(
        &mut self,
        documents: Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        let n_nodes = self.levels.len();
        let fresh = std::iter::repeat_with(Vec::new).take(n_nodes).collect();
        let levels = std::mem::replace(&mut self.levels, fresh);
        let planned: Vec<u64> = levels.iter().map(|items| items.len() as u64).collect();
        let taught = std::mem::take(&mut self.documents);
        let names = levels
            .iter()
            .map(|items| items.iter().map(|item| item.name).collect());
        let names: Vec<Vec<PatternName>> = names.collect();
        let new_patterns = self
            .send(levels, &documents, activity)
            .map_err(|error| name_documents(error, &taught, &names))?;
        for (node_idx, new) in new_patterns.into_iter().enumerate() {
            self.observations[node_idx] += planned[node_idx];
            self.new_patterns = match (self.new_patterns.take(), new) {
                (Some(mut sums), Some(new)) => {
                    sums[node_idx] += new;
                    Some(sums)
                }
                _ => None,
            };
        }
        Ok(Vec::new())
    }

    fn learns(&self, node_idx: usize) -> u64 {
        self.observations[node_idx]
    }

    fn heap_bytes(&self) -> usize {
        // What was sent is not kept, except where it is counted.
        self.local_counts
            .as_ref()
            .map_or(0, |local_counts| local_counts.batch.heap_bytes())
    }

    fn take_part(&mut self) -> Result<Option<RemotePart>, TrainError> {
        let n_nodes = self.levels.len();
        let staged = match &mut self.local_counts {
            Some(local_counts) => {
                let fresh = new_batch(self.learner, local_counts.stock);
                let batch = std::mem::replace(&mut local_counts.batch, fresh);
                let staged = local_counts.stock.store().stage(batch.seal());
                Some(staged.map_err(TrainError::Store)?)
            }
            None => None,
        };
        Ok(Some(RemotePart {
            observations: std::mem::replace(&mut self.observations, vec![0; n_nodes]),
            new_patterns: self.new_patterns.replace(vec![0; n_nodes]),
            staged,
        }))
    }
}

impl Drop for RemoteTeacher<'_> {
    fn drop(&mut self) {
        for client in &self.clients {
            self.backend.add_calls(&client.calls());
        }
        // A session whose request may be at work says when that ends: it is kept, and expires there.
        if self.has_given_up {
            return;
        }
        let (backend, local_counts) = (self.backend, self.local_counts.take());
        let clients = self.clients.drain(..).map(KatoClient::close);
        let closing = async {
            if let Some(local_counts) = local_counts {
                let sessions = local_counts.sessions.into_iter();
                join_all(sessions.map(LearnSession::close)).await;
            }
            join_all(clients).await;
            Ok(())
        };
        // Takes as long as the client waits at most, and less when the run is to end; sessions that the
        // server does not learn of expire there.
        let _ = backend.unless_interrupted(closing);
    }
}
