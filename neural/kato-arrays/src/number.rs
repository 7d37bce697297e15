//! Numbers that an array can hold.

/// A kind of number that can be stored.
pub trait ArrayNumber: Copy {
    /// NumPy's name of it, little-endian.
    const NAME: &'static str;
    /// Bytes of one.
    const N_BYTES: usize;

    /// Appends its bytes.
    fn put(self, bytes: &mut Vec<u8>);

    /// Reads it from its bytes, of which there are as many as it has.
    fn take(bytes: &[u8]) -> Self;
}

/// Implements [`ArrayNumber`] for a type of Rust.
macro_rules! number {
    ($type:ty, $name:literal) => {
        impl ArrayNumber for $type {
            const NAME: &'static str = $name;
            const N_BYTES: usize = size_of::<Self>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Self {
                let mut array = [0; Self::N_BYTES];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    };
}

number!(f32, "<f4");
number!(f64, "<f8");
number!(u32, "<u4");
number!(u8, "|u1");
