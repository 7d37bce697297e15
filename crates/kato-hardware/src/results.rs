//! Results of benchmarks: what was measured on a machine, by subject.

pub use crate::bench::disk::DiskResults;
pub use crate::bench::kato::KatoResults;
pub use crate::bench::memory::MemoryResults;
pub use crate::bench::mongodb::MongoResults;
pub use crate::bench::naming::NamingResults;
pub use crate::bench::store::StoreResults;
pub use crate::profile::BenchmarkResults;
