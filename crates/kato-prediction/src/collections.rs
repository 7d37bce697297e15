//! Hash maps and sets with a fast hasher, which is keyed at random because the
//! keys come from users.

use foldhash::quality::RandomState;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

pub(crate) type HashSet<T> = std::collections::HashSet<T, RandomState>;
