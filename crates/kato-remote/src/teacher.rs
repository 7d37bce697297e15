//! One worker's way to teach the nodes of a server: plan, then send all levels at once.

use std::ops::Range;
use std::time::Instant;

use futures_util::future::{join_all, try_join_all};
use kato_client::{ClientError, KatoClient, LearnReport};
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::LearnBatch;
use kato_probe::NodeProbe;
use kato_protocol::BatchItem;
use kato_scheduler::{Activity, RefusedSample, Teacher, TrainError};

use crate::backend::{RemoteBackend, RemotePart};
use crate::items;
use crate::taught::{Item, Taught};

pub(crate) struct RemoteTeacher<'a> {
    backend: &'a RemoteBackend,
    learner: &'a HierarchicalConceptLearner,
    /// For a server that knows no idempotency keys.
    taught: Option<Counted<'a>>,
    /// One a level.
    clients: Vec<KatoClient>,
    /// Planned and not sent, by level.
    levels: Vec<Vec<Item>>,
    /// Sent since the last part was taken, by level.
    observations: Vec<u64>,
    new_patterns: Option<Vec<u64>>,
    /// One a level.
    probes: Vec<NodeProbe>,
}

/// What is learned on this side, too.
struct Counted<'a> {
    taught: &'a Taught,
    batch: LearnBatch,
}

impl<'a> RemoteTeacher<'a> {
    pub(crate) fn new(
        backend: &'a RemoteBackend,
        learner: &'a HierarchicalConceptLearner,
        taught: Option<&'a Taught>,
    ) -> Self {
        let n_nodes = learner.nodes().len();
        Self {
            backend,
            learner,
            taught: taught.map(|taught| Counted {
                taught,
                batch: new_batch(learner, taught),
            }),
            clients: backend.clients(),
            levels: std::iter::repeat_with(Vec::new).take(n_nodes).collect(),
            observations: vec![0; n_nodes],
            new_patterns: Some(vec![0; n_nodes]),
            probes: learner
                .node_names()
                .iter()
                .map(|name| backend.probe.node(name))
                .collect(),
        }
    }

    /// Sends all levels at the same time. A name on one level is known before the level below has learned it.
    fn send(
        &self,
        levels: Vec<Vec<Item>>,
        documents: &Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<LearnReport>, TrainError> {
        let level = |(node_idx, mut items): (usize, Vec<Item>)| async move {
            let client = &self.clients[node_idx];
            let _waiting = activity.enter(format!("waiting for {} to learn", client.node_id()));
            let taught = self.taught.as_ref().map(|counted| counted.taught);
            if let Some(taught) = taught.filter(|taught| taught.is_in_doubt()) {
                taught
                    .leave_out_arrived(client, node_idx, documents.start, &mut items)
                    .await?;
            }
            let items: Vec<BatchItem> = items.into_iter().map(|item| item.item).collect();
            let chunk_size = self.learner.nodes()[node_idx].chunk_size;
            let key = self.backend.key(node_idx, documents.start);
            let start = Instant::now();
            let learned = client.learn_all_once(&key, &items, Some(chunk_size)).await;
            self.probes[node_idx].timed(items.len() as u64, start.elapsed());
            learned.map_err(|source| teach(client, source))
        };
        let levels = try_join_all(levels.into_iter().enumerate().map(level));
        self.backend.unless_interrupted(levels)
    }
}

fn new_batch(learner: &HierarchicalConceptLearner, taught: &Taught) -> LearnBatch {
    learner.new_batch_with_limits(taught.store().attribute_limits())
}

fn teach(client: &KatoClient, source: ClientError) -> TrainError {
    TrainError::Teach {
        node: client.node_id().to_owned(),
        source: Box::new(source),
    }
}

impl Teacher for RemoteTeacher<'_> {
    type Part = RemotePart;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        match &mut self.taught {
            Some(counted) => self.learner.learn(document, &mut counted.batch, scratch)?,
            None => drop(self.learner.plan(&document, scratch)?),
        }
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
    ) -> Result<Vec<RefusedSample>, TrainError> {
        if let Some(counted) = &self.taught {
            counted.taught.reserve(documents.end)?;
        }
        let n_nodes = self.levels.len();
        let fresh = std::iter::repeat_with(Vec::new).take(n_nodes).collect();
        let levels = std::mem::replace(&mut self.levels, fresh);
        let planned: Vec<u64> = levels.iter().map(|items| items.len() as u64).collect();
        let reports = self.send(levels, &documents, activity)?;
        for (node_idx, report) in reports.into_iter().enumerate() {
            self.observations[node_idx] += planned[node_idx];
            self.new_patterns = match (self.new_patterns.take(), report.new_patterns) {
                (Some(mut sums), Some(new)) => {
                    sums[node_idx] += new;
                    Some(sums)
                }
                _ => None,
            };
        }
        Ok(Vec::new())
    }

    fn observations(&self, node_idx: usize) -> u64 {
        self.observations[node_idx]
    }

    fn heap_bytes(&self) -> usize {
        // What was sent is not kept, except where it is counted.
        self.taught
            .as_ref()
            .map_or(0, |counted| counted.batch.heap_bytes())
    }

    fn take_part(&mut self) -> Result<Option<RemotePart>, TrainError> {
        let n_nodes = self.levels.len();
        let staged = match &mut self.taught {
            Some(counted) => {
                let fresh = new_batch(self.learner, counted.taught);
                let batch = std::mem::replace(&mut counted.batch, fresh);
                let staged = counted.taught.store().stage(batch.seal());
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
        // Bounded by the client; sessions that the server does not hear of expire there.
        let closing = self.clients.drain(..).map(KatoClient::close);
        let _ = self.backend.block_on(join_all(closing));
    }
}
