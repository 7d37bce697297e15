//! Visits in name order: what all segments hold together, each name once, and the digest of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use kato_model::PatternName;
use sha1::{Digest, Sha1};

use super::EmbeddedStore;
use super::merge::{MergeSink, walk_merged};
use super::numbering::UnknownNames;
use super::on_each::on_each;
use super::segment::{Extras, Segment};
use super::visit::{are_known, beyond, deleted_beyond, n_deleted_beyond};
use crate::StoreError;
use crate::visit::{ContentDigest, OrderedNode, OrderedVisitor, StoredContent, VisitedPattern};

/// Names that are looked for before more are.
const FEW_NAMES: usize = 1 << 10;

impl EmbeddedStore {
    /// Returns the digest of what the newest commit holds: what is derived from it, such as an
    /// index, is known by it.
    ///
    /// Equal digests mean equal segments, vectors apart. The same content in other segments has another
    /// digest, and a segment of which patterns are deleted has another one than before. It is made of the footers of the segments, whose checksums cover all the rest but vectors and the
    /// names of patterns in other segments.
    #[must_use]
    pub fn content_digest(&self) -> ContentDigest {
        self.content().digest
    }

    /// Returns the digests of what the newest commit holds and of each of its segments.
    #[must_use]
    pub fn content(&self) -> StoredContent {
        self.content_of(&self.segments())
    }

    /// Shows a visitor the patterns of all nodes, from the bottom up, in name order and each name
    /// once, and returns the digests of what was shown; `None` if the visitor broke off.
    ///
    /// It sees the commits made before the call. Memory: 4 bytes for each pattern of two
    /// neighbouring nodes and each child by name, and the texts of a node.
    ///
    /// # Errors
    ///
    /// When the store cannot be read; the visitor may have seen a part by then.
    pub fn visit_in_order(
        &self,
        visitor: &mut dyn OrderedVisitor,
    ) -> Result<Option<StoredContent>, StoreError> {
        self.visit_in_order_beyond(&[], visitor)
    }

    /// Shows a visitor what the segments hold that are not of these digests, as
    /// [`visit_in_order`](Self::visit_in_order) does all of it; `None` also if not all of those are there.
    ///
    /// A name that a segment of these digests holds as well is shown with what the others count of it.
    ///
    /// # Errors
    ///
    /// As [`visit_in_order`](Self::visit_in_order).
    pub fn visit_in_order_beyond(
        &self,
        known: &[ContentDigest],
        visitor: &mut dyn OrderedVisitor,
    ) -> Result<Option<StoredContent>, StoreError> {
        let Some(segments) = beyond(self.segments(), known) else {
            return Ok(None);
        };
        let mut sink = VisitSink {
            visitor: &mut *visitor,
            node_idx: 0,
        };
        let limits = self.options.attribute_limits;
        let walked = walk_merged(
            &segments,
            self.nodes.len(),
            // A visitor knows texts and patterns of the node below.
            UnknownNames::Text,
            &limits,
            &self.dir,
            &mut sink,
        )?;
        if walked.is_break() {
            return Ok(None);
        }
        let content = self.content_of(&segments);
        visitor.end(&content);
        Ok(Some(content))
    }

    /// Returns the number of segments beside those of these digests; `None` if not all of those are there.
    /// One of which patterns were deleted since is.
    #[must_use]
    pub fn n_sources_beyond(&self, known: &[ContentDigest]) -> Option<usize> {
        beyond(self.segments(), known).map(|segments| segments.len())
    }

    /// Returns how many patterns of all nodes are deleted and still lie in the files.
    #[must_use]
    pub fn n_deleted(&self) -> u64 {
        let segments = self.segments();
        let deleted = segments
            .iter()
            .flat_map(|segment| segment.deleted().totals());
        deleted.map(|totals| totals.patterns).sum()
    }

    /// Returns the digests, ascending, that the segments of these digests have now; `None` if not all of those
    /// are there. They are others where patterns were deleted since.
    #[must_use]
    pub fn digests_now(&self, known: &[ContentDigest]) -> Option<Vec<ContentDigest>> {
        let segments = self.segments();
        let is_known = are_known(&segments, known);
        let found = segments.iter().zip(is_known).filter(|found| found.1);
        let mut now: Vec<ContentDigest> = found.map(|(segment, _)| segment.digest()).collect();
        now.sort_unstable();
        (now.len() == known.len()).then_some(now)
    }

    /// Returns the names of a node's patterns that were deleted of the segments of these digests since they
    /// had them; `None` if not all of those are there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn deleted_beyond(
        &self,
        node_idx: usize,
        known: &[ContentDigest],
    ) -> Result<Option<Vec<PatternName>>, StoreError> {
        deleted_beyond(&self.segments(), node_idx, known)
    }

    /// Returns whether a node holds one of these patterns, whose names ascend.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn holds_any(&self, node_idx: usize, names: &[PatternName]) -> Result<bool, StoreError> {
        let segments = self.segments();
        // Of many the first ones tell, as a rule.
        for names in names.chunks(FEW_NAMES) {
            let is_in = on_each(segments.iter(), |segment| {
                let mut is_in = false;
                segment.find_each(node_idx, names, |_, _, _| {
                    is_in = true;
                    Ok(())
                })?;
                Ok(is_in)
            })?;
            if is_in.contains(&true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns how many of a node's patterns were deleted of the segments of these digests since they had them.
    /// Reads nothing.
    #[must_use]
    pub fn n_deleted_beyond(&self, node_idx: usize, known: &[ContentDigest]) -> u64 {
        n_deleted_beyond(&self.segments(), node_idx, known)
    }

    fn content_of(&self, segments: &[Arc<Segment>]) -> StoredContent {
        let mut digest = Sha1::new();
        digest.update(b"kato content 1");
        for node in &self.nodes {
            digest.update((node.len() as u64).to_le_bytes());
            digest.update(node);
        }
        let mut sources: Vec<ContentDigest> = segments.iter().map(|it| it.digest()).collect();
        // The order of segments has no meaning.
        sources.sort_unstable();
        sources
            .iter()
            .for_each(|source| digest.update(source.as_bytes()));
        StoredContent {
            digest: ContentDigest::from_bytes(digest.finalize().into()),
            sources,
        }
    }
}

/// A sink that shows what it takes to a visitor.
struct VisitSink<'a> {
    visitor: &'a mut dyn OrderedVisitor,
    node_idx: usize,
}

impl MergeSink for VisitSink<'_> {
    fn foreign_name(&mut self, _name: PatternName) -> Result<(), StoreError> {
        Ok(())
    }

    fn begin_node(&mut self, n_below: u32, texts: &[&str]) -> Result<(), StoreError> {
        self.visitor.node(&OrderedNode {
            node_idx: self.node_idx,
            n_below,
            texts,
        });
        self.node_idx += 1;
        Ok(())
    }

    fn pattern(
        &mut self,
        name: PatternName,
        frequency: u64,
        symbols: &[u32],
        extras: &Extras,
    ) -> Result<ControlFlow<()>, StoreError> {
        Ok(self.visitor.pattern(&VisitedPattern {
            name,
            frequency,
            symbols,
            first_seen: extras.first_seen,
            attributes: extras.attributes.as_deref(),
        }))
    }

    fn end_node(&mut self, _node_idx: usize) -> Result<(), StoreError> {
        Ok(())
    }
}
