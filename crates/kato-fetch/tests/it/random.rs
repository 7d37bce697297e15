//! Whatever goes wrong in whatever order: the very bytes, or an error.

use kato_fetch::FetchError;
use kato_hub_standin::{Dataset, Fault, HubStandin, PlainFile, When};
use proptest::prelude::*;

use crate::support::{builder, eager, noise, open, read_all, serving};

const SIZE: usize = 200_000;

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        prop::sample::select(vec![408, 425, 429, 500, 502, 503, 504])
            .prop_map(|status| Fault::Status(status, None)),
        Just(Fault::Status(503, Some("0".to_owned()))),
        Just(Fault::ResetBeforeHead),
        Just(Fault::ResetAfterHead),
        (0..SIZE).prop_map(Fault::Truncate),
        (0..SIZE).prop_map(Fault::ShortChunks),
        Just(Fault::WrongRange),
        Just(Fault::WholeFile),
    ]
}

fn ranges() -> impl Strategy<Value = Vec<std::ops::Range<u64>>> {
    let range = (0..SIZE as u64, 0..SIZE as u64).prop_map(|(a, b)| a.min(b)..a.max(b));
    prop::collection::vec(range, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_plan_of_transient_faults_gives_the_very_bytes(
        faults in prop::collection::vec((fault(), 1..40_u8, any::<u64>()), 0..4),
        ranges in ranges(),
        from in 0..SIZE as u64,
        on_hub in any::<bool>(),
    ) {
        let bytes = noise(SIZE, 5);
        let standin = HubStandin::builder()
            .file("a.bin", PlainFile::new(bytes.clone()))
            .dataset(Dataset::new("me/c").file("a.txt", bytes.clone()))
            .start()
            .unwrap();
        let location = if on_hub { "hf://me/c".to_owned() } else { standin.file_url("a.bin") };
        let policy = eager().with_attempts(200);
        let fetcher = builder(&standin).with_retry(policy).build().unwrap();
        let reader = open(&fetcher, &location);
        for (fault, percent, seed) in faults {
            standin.add_fault("a.bin", When::Chance(percent, seed), fault.clone());
            standin.add_fault("/cdn/", When::Chance(percent, seed), fault);
        }
        let read = reader.read_many(&ranges).unwrap();
        for (range, read) in ranges.iter().zip(read) {
            prop_assert!(read == bytes[range.start as usize..range.end as usize]);
        }
        prop_assert!(read_all(&reader, from).unwrap() == bytes[from as usize..]);
    }

    #[test]
    fn a_plan_beyond_the_policy_gives_an_error_or_the_very_bytes(
        faults in prop::collection::vec((fault(), 30..=100_u8, any::<u64>()), 1..4),
        from in 0..SIZE as u64,
    ) {
        let bytes = noise(SIZE, 5);
        let standin = serving(bytes.clone());
        let policy = eager().with_attempts(2);
        let reader = open(&builder(&standin).with_retry(policy).build().unwrap(), &standin.file_url("a"));
        for (fault, percent, seed) in faults {
            standin.add_fault("/files/", When::Chance(percent, seed), fault);
        }
        match reader.read(from..SIZE as u64) {
            Ok(read) => prop_assert!(read == bytes[from as usize..]),
            Err(error) => prop_assert!(error.is_transient(), "{}", error),
        }
        match read_all(&reader, from) {
            Ok(read) => prop_assert!(read == bytes[from as usize..]),
            Err(error) => prop_assert!(FetchError::within(&error).is_some_and(FetchError::is_transient), "{}", error),
        }
    }
}
