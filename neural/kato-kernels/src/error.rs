//! The error of kernels.

/// Why a kernel did not run. Nothing was computed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice does not have the length that the shapes call for.
    #[error("`{name}` has {found} values where {expected} are needed ({shape}); check the shapes")]
    Length {
        /// Name of the argument.
        name: &'static str,
        /// Its shape in words.
        shape: &'static str,
        /// Values it should have.
        expected: usize,
        /// Values it has.
        found: usize,
    },
    /// An option has a value that nothing can be computed with.
    #[error("option `{option}` is out of range: {reason}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// The processor does not have the instructions.
    #[error("this processor does not have the instructions `{set}`; use `Instructions::detect`")]
    Unsupported {
        /// Name of the set.
        set: &'static str,
    },
    /// Calls came in an order in which there is nothing to work on.
    #[error("`{call}` needs `{before}` to have run before; call that first")]
    Order {
        /// What was called.
        call: &'static str,
        /// What has to come before it.
        before: &'static str,
    },
}

/// Checks the length of a slice.
pub(crate) const fn check(
    name: &'static str,
    shape: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), Error> {
    // Constant functions have no `?`, and a message is made only when it is shown.
    if found == expected {
        Ok(())
    } else {
        Err(Error::Length {
            name,
            shape,
            expected,
            found,
        })
    }
}
