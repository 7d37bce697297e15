//! What a session makes of documents.

use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;

use crate::{Backend, Teacher, TrainError};

/// What is made of documents, as far as a session has to know.
pub(crate) trait Lesson: Sync {
    /// The unit that a teacher hands over for a commit.
    type Part;

    /// Returns names and chunk sizes of the nodes, from the bottom up.
    fn nodes(&self) -> Vec<(&str, usize)>;

    /// Returns what is told of a document beside its text.
    fn recording(&self) -> Recording;

    /// Creates the teacher of one worker.
    fn teacher(&self) -> Result<Box<dyn Teacher<Part = Self::Part> + '_>, TrainError>;
}

/// The nodes of a backend are taught what a learner says.
pub(crate) struct NodeLesson<'a, B> {
    pub(crate) learner: &'a HierarchicalConceptLearner,
    pub(crate) backend: &'a B,
}

impl<B: Backend> Lesson for NodeLesson<'_, B> {
    type Part = B::Part;

    fn nodes(&self) -> Vec<(&str, usize)> {
        let nodes = self.learner.nodes().iter();
        nodes
            .map(|node| (node.name.as_str(), node.chunk_size))
            .collect()
    }

    fn recording(&self) -> Recording {
        self.learner.config().recording
    }

    fn teacher(&self) -> Result<Box<dyn Teacher<Part = B::Part> + '_>, TrainError> {
        self.backend.teacher(self.learner)
    }
}
