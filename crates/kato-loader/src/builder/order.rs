//! Which records become documents, and in which order.

use super::StreamingDatasetLoaderBuilder;
use crate::filter::Filter;
use crate::order::{Order, Shard};
use crate::sample::Sample;
use crate::split::Split;

impl StreamingDatasetLoaderBuilder {
    /// Sets the order in which records are read. Default: [`Order::Sequential`].
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.selection.order = order;
        self
    }

    /// Reads one of several parts that together hold every record once. Default: all records.
    ///
    /// Each shard is a stream of its own, with its own cursor; a cursor of one shard is not one of
    /// another.
    #[must_use]
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.selection.shard = Some(shard);
        self
    }

    /// Reads a random share of the records. Default: all.
    #[must_use]
    pub fn with_sample(mut self, sample: Sample) -> Self {
        self.selection.sample = Some(sample);
        self
    }

    /// Skips and counts records whose text a function refuses.
    ///
    /// Its name stands for it in the corpus' identity, so a stored state is not continued under a
    /// filter of another name.
    #[must_use]
    pub fn with_filter(
        mut self,
        name: impl Into<String>,
        keeps: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let filter = Filter::new(name.into(), keeps);
        self.selection.filter = Some(filter.name().to_owned());
        self.filter = Some(filter);
        self
    }

    /// Skips and counts records whose text, without surrounding white space, is not longer than
    /// this many characters. Default: 0, which leaves only blank ones out.
    #[must_use]
    pub fn with_min_chars(mut self, chars: u64) -> Self {
        self.selection.min_chars = chars;
        self
    }

    /// Reads one side of a split and leaves out the documents of the other. Default: all documents.
    ///
    /// Documents that are left out count: indices, cursor and
    /// [`RecordCounts::documents`](crate::RecordCounts::documents) are those of the whole corpus, whose
    /// identity is the same on both sides.
    #[must_use]
    pub fn with_split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// Skips the first records of the order, whatever they hold. Default: 0.
    ///
    /// Parquet is not decoded for it, but in a mixture, in a shard, and in the last window of a shuffled order
    /// that it reaches; other files are.
    #[must_use]
    pub fn with_skip_records(mut self, records: u64) -> Self {
        self.selection.skip_records = records;
        self
    }

    /// Ends the stream after this many records of the order, whether or not they become documents.
    /// Default: no limit.
    ///
    /// Records skipped at the beginning are not among them.
    #[must_use]
    pub fn with_max_records(mut self, records: u64) -> Self {
        self.max_records = Some(records);
        self
    }

    /// Ends the stream after this many documents of the corpus, those before a resumed position and
    /// those on the other side of a split included. Default: no limit.
    ///
    /// It is no part of the corpus's identity: what was trained up to a limit is resumed with a
    /// higher one or with none. A run that ends at its limit is not complete, as nothing was read
    /// beyond it.
    #[must_use]
    pub fn with_max_documents(mut self, documents: u64) -> Self {
        self.max_documents = Some(documents);
        self
    }
}
