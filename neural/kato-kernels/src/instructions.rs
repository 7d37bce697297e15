//! Says which instructions of the processor the kernels use.

use std::sync::OnceLock;

use crate::error::Error;

/// Set of instructions that kernels exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionSet {
    /// AVX-512 with products of bf16.
    Avx512Bf16,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512,
    /// AVX2 and FMA, with BMI1 and BMI2.
    Avx2,
    /// NEON.
    Neon,
    /// What every processor has. Slow where it lacks a fused multiplication.
    Plain,
}

impl InstructionSet {
    /// Every set, the best first.
    pub const ALL: [Self; 5] = [
        Self::Avx512Bf16,
        Self::Avx512,
        Self::Avx2,
        Self::Neon,
        Self::Plain,
    ];

    /// Returns the name by which settings ask for the set: `avx512-bf16`, `avx512`, `avx2`, `neon`
    /// or `plain`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512Bf16 => "avx512-bf16",
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Plain => "plain",
        }
    }

    /// Tells whether this processor has the set.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => {
                // Each set needs those below it, because kernels of one call those of another.
                Self::Avx512.is_available() && is_x86_feature_detected!("avx512bf16")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Self::Plain => true,
            // Sets of other architectures do not exist here.
            #[cfg(not(all(target_arch = "x86_64", target_arch = "aarch64")))]
            _ => false,
        }
    }
}

/// Instructions that this processor was seen to have.
///
/// The choice decides speed alone: the sets give the same bits, in f32 and in bf16, but for values below 1.2e-38 in
/// bf16, which AVX-512-BF16 takes for zero. NEON is untested.
///
/// ```
/// use kato_kernels::{InstructionSet, Instructions};
///
/// let best = Instructions::detect();
/// assert!(best.set().is_available());
/// let plain = Instructions::new(InstructionSet::Plain)?;
/// assert_eq!(plain.set().name(), "plain");
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instructions(InstructionSet);

impl Instructions {
    /// Returns the best instructions of this processor; it is looked at once.
    #[must_use]
    pub fn detect() -> Self {
        // Asking the processor takes longer than a small kernel.
        static BEST: OnceLock<InstructionSet> = OnceLock::new();
        Self(*BEST.get_or_init(|| {
            let mut all = InstructionSet::ALL.into_iter();
            all.find(|set| set.is_available())
                // Plain Rust runs everywhere, so that there is always an answer.
                .unwrap_or(InstructionSet::Plain)
        }))
    }

    /// Asks for one set, for tests and comparisons.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the processor does not have it.
    pub fn new(set: InstructionSet) -> Result<Self, Error> {
        if set.is_available() {
            Ok(Self(set))
        } else {
            Err(Error::Unsupported { set: set.name() })
        }
    }

    /// Returns every choice on this processor, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        InstructionSet::ALL
            .into_iter()
            .filter(|set| set.is_available())
            .map(Self)
    }

    /// Returns the set.
    #[must_use]
    pub const fn set(self) -> InstructionSet {
        self.0
    }
}

impl Default for Instructions {
    fn default() -> Self {
        Self::detect()
    }
}
