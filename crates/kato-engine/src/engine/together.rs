//! Learning over several nodes in one step, which no commit divides.

use super::Engine;
use crate::node::{LearnOutcome, Lesson};
use crate::{EngineError, Node};

impl Engine {
    /// Teaches lessons to the nodes of these numbers, in the order given, in one step: a commit, and a
    /// [clear](Self::clear), come before all of them or after all of them. Returns what came of each.
    ///
    /// Steps run side by side. Whoever predicts meanwhile may see the first lessons and not yet the last, so
    /// teach the lower nodes first: then what a name stands for is there when the name is.
    ///
    /// ```
    /// use kato_engine::Engine;
    /// use kato_engine::node::Lesson;
    /// use kato_model::Event;
    ///
    /// let engine = Engine::in_memory(&["node0", "node1"]);
    /// let phrases = [["the", "cat"], ["sleeps", "now"]].map(|words| Lesson::new(words.map(|word| Event::new([word]))));
    /// let names = phrases.each_ref().map(|phrase| phrase.pattern_name().expect("two symbols are enough"));
    /// let above = Lesson::new(names.map(|name| Event::new([name.prefixed().to_string()])));
    /// let [first, second] = phrases;
    /// let outcomes = engine.teach_together(&[(0, first), (0, second), (1, above)])?;
    /// assert_eq!(outcomes.len(), 3);
    /// assert_eq!(engine.node("node1")?.totals().patterns, 1);
    /// # Ok::<(), kato_engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Node::teach`], and [`EngineError::UnknownNode`]. Nothing was learned, except with
    /// [`EngineError::Index`]: then the lessons before the one that did not fit were, as are those before one
    /// that was retired meanwhile.
    pub fn teach_together(
        &self,
        lessons: &[(usize, Lesson)],
    ) -> Result<Vec<LearnOutcome>, EngineError> {
        let shared = &self.shared;
        shared.check_writable()?;
        let mut prepared = Vec::with_capacity(lessons.len());
        for (node_idx, lesson) in lessons {
            lesson.check_values()?;
            let node = self.node_at(*node_idx)?;
            let lesson = lesson.borrowed().prepare(shared.attribute_limits());
            // Here and not in the step: an index that is damaged is left in a commit's turn.
            if let Some(lesson) = &lesson {
                // In the step as well, but then the lessons before would stay.
                node.check_not_retired(&lesson.name)?;
                node.look_ahead(&lesson.name)?;
            }
            prepared.push((node, lesson));
        }
        shared.commit_if_due()?;
        let step = shared.begin_step();
        let learned: Result<Vec<_>, EngineError> = prepared
            .into_iter()
            .map(|(node, lesson)| {
                let learned = lesson.map(|lesson| node.learn_prepared(lesson, |_| Ok(())));
                Ok((node, learned.transpose()?))
            })
            .collect();
        drop(step);
        let settle = |(node, learned): (Node, Option<_>)| {
            learned.map_or(LearnOutcome::TooShort, |learned| node.settle(learned))
        };
        Ok(learned?.into_iter().map(settle).collect())
    }

    /// Returns the node of a number.
    fn node_at(&self, node_idx: usize) -> Result<Node, EngineError> {
        let found = self.nodes().nth(node_idx);
        found.ok_or_else(|| EngineError::UnknownNode {
            node: format!("number {node_idx}"),
            known: self.nodes().map(|node| node.name().to_owned()).collect(),
        })
    }
}
