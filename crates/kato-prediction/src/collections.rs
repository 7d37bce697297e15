//! Maps and sets with a fast hasher, keyed at random as keys come from users.

use foldhash::quality::RandomState;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

pub(crate) type HashSet<T> = std::collections::HashSet<T, RandomState>;
