//! Deals the records of a file to shards, one after the other, where there are fewer parts than shards.

use super::{RecordReader, Sink, Step};
use crate::cursor::Mark;
use crate::order::Shard;

/// Which records of a file belong to a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deal {
    pub(crate) shard: Shard,
    /// The shard that gets the first record: the file's number, so that files of one record each are
    /// dealt, too.
    pub(crate) first: u64,
}

/// Reads the records of one shard, and passes over those of others.
pub(crate) struct DealtReader {
    inner: Box<dyn RecordReader>,
    deal: Deal,
}

impl DealtReader {
    pub(crate) fn new(inner: Box<dyn RecordReader>, deal: Deal) -> Self {
        Self { inner, deal }
    }
}

impl RecordReader for DealtReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            let (text, id) = (sink.text.len(), sink.id.len());
            let number = self.inner.mark().record;
            let step = self.inner.read(sink);
            let is_mine = self
                .deal
                .shard
                .contains(self.deal.first.wrapping_add(number));
            match step {
                // What is bad is told by the shard that it belongs to.
                Step::Record | Step::Bad(_) if !is_mine => {
                    sink.text.truncate(text);
                    sink.id.truncate(id);
                }
                // Where reading breaks off, each shard loses records of its own, and it may break off for
                // this one alone.
                step => return step,
            }
        }
    }

    fn mark(&self) -> Mark {
        self.inner.mark()
    }

    fn begins_at(&self) -> u64 {
        self.inner.begins_at()
    }

    fn raw_bytes(&self) -> u64 {
        self.inner.raw_bytes()
    }
}
