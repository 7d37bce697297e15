//! One worker's way to teach the nodes of a server: plan, then send all levels at once.

use std::ops::Range;

use futures_util::future::{join_all, try_join_all};
use kato_client::{ClientError, KatoClient, LearnReport};
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_protocol::BatchItem;
use kato_scheduler::{Teacher, TrainError};

use crate::backend::{RemoteBackend, RemotePart};
use crate::items;

pub(crate) struct RemoteTeacher<'a> {
    backend: &'a RemoteBackend,
    learner: &'a HierarchicalConceptLearner,
    /// One a level.
    clients: Vec<KatoClient>,
    /// Planned and not sent, by level.
    levels: Vec<Vec<BatchItem>>,
    /// Sent since the last part was taken, by level.
    observations: Vec<u64>,
    new_patterns: Option<Vec<u64>>,
}

impl<'a> RemoteTeacher<'a> {
    pub(crate) fn new(backend: &'a RemoteBackend, learner: &'a HierarchicalConceptLearner) -> Self {
        let n_nodes = learner.nodes().len();
        Self {
            backend,
            learner,
            clients: backend.clients(),
            levels: vec![Vec::new(); n_nodes],
            observations: vec![0; n_nodes],
            new_patterns: Some(vec![0; n_nodes]),
        }
    }

    /// Sends all levels at the same time. A name on one level is known before the level below has learned it.
    fn send(&self, first_document: u64) -> Result<Vec<LearnReport>, TrainError> {
        let level = |node_idx: usize| async move {
            let client = &self.clients[node_idx];
            let chunk_size = self.learner.nodes()[node_idx].chunk_size;
            let key = self.backend.key(node_idx, first_document);
            let items = &self.levels[node_idx];
            let learned = client.learn_all_once(&key, items, Some(chunk_size)).await;
            learned.map_err(|source| teach(client, source))
        };
        self.backend
            .block_on(try_join_all((0..self.levels.len()).map(level)))
    }
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
        let plan = self.learner.plan(&document, scratch)?;
        let vocabulary = self.learner.tokenizer().vocabulary();
        items::append(plan, vocabulary, document.metadata, &mut self.levels);
        Ok(())
    }

    fn finish_work(&mut self, documents: Range<u64>) -> Result<(), TrainError> {
        let reports = self.send(documents.start)?;
        for (node_idx, report) in reports.into_iter().enumerate() {
            self.observations[node_idx] += self.levels[node_idx].len() as u64;
            self.new_patterns = match (self.new_patterns.take(), report.new_patterns) {
                (Some(mut sums), Some(new)) => {
                    sums[node_idx] += new;
                    Some(sums)
                }
                _ => None,
            };
            self.levels[node_idx].clear();
        }
        Ok(())
    }

    fn observations(&self, node_idx: usize) -> u64 {
        self.observations[node_idx]
    }

    fn heap_bytes(&self) -> usize {
        // Nothing is kept once it was sent.
        0
    }

    fn take_part(&mut self) -> Result<Option<RemotePart>, TrainError> {
        let n_nodes = self.levels.len();
        Ok(Some(RemotePart {
            observations: std::mem::replace(&mut self.observations, vec![0; n_nodes]),
            new_patterns: self.new_patterns.replace(vec![0; n_nodes]),
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
