//! Counts and probabilities are those that brute force finds in the text.

use std::collections::{BTreeMap, BTreeSet};

use kato_head::options::Discounts;
use kato_head::{Expert, Head, HeadError, HeadOptions, Weights};
use proptest::prelude::*;

use crate::support::{Planned, WORDS, documents, head_of, ids, learner, memory_store, plan};

const ORDER: usize = 4;

/// Occurrences of n-grams in the text that some pattern holds whole, by text.
type Occurrences = BTreeMap<Vec<String>, u64>;

/// Looks at every place of every document.
fn brute_force(documents: &[Planned], levels: usize) -> Occurrences {
    let mut occurrences = Occurrences::new();
    for document in documents {
        for start in 0..document.tokens.len() {
            for end in start + 1..=document.tokens.len().min(start + ORDER) {
                let is_held = document.calls.iter().any(|call| {
                    call.level < levels && call.range.start <= start && end <= call.range.end
                });
                if is_held {
                    let ngram = document.tokens[start..end].to_vec();
                    *occurrences.entry(ngram).or_default() += 1;
                }
            }
        }
    }
    occurrences
}

fn n_before(occurrences: &Occurrences, ngram: &[String]) -> u64 {
    let longer = occurrences.keys().filter(|longer| longer[1..] == *ngram);
    longer.count() as u64
}

fn options(levels: Option<usize>) -> HeadOptions {
    let mut options = HeadOptions::default().with_order(ORDER);
    options.levels = levels;
    options
}

fn check_counts(head: &Head, occurrences: &Occurrences) -> Result<(), TestCaseError> {
    for (ngram, count) in occurrences {
        let found = ids(head, ngram).unwrap();
        prop_assert_eq!(head.count(&found), *count, "{:?}", ngram);
        if ngram.len() < ORDER {
            prop_assert_eq!(
                head.n_before(&found),
                n_before(occurrences, ngram),
                "{:?}",
                ngram
            );
        }
    }
    let n_ngrams = occurrences.len();
    prop_assert_eq!(head.n_ngrams(), n_ngrams);
    Ok(())
}

/// The definition of interpolated Kneser-Ney, from a list of n-grams: contexts between the empty and
/// the longest are asked by symbols to the left, then with a trust of 0.3 by occurrences.
fn kneser_ney(
    occurrences: &Occurrences,
    discounts: Discounts,
    context: &[String],
    word: &str,
) -> f64 {
    let longest = context.len().min(ORDER - 1);
    let mut probability = 1.0 / WORDS.len() as f64;
    let steps = (0..=longest).flat_map(|length| match length {
        length if length == longest => vec![(length, true, 1.0)],
        0 => vec![(0, false, 1.0)],
        _ => vec![(length, false, 1.0), (length, true, 0.3)],
    });
    for (length, counts_occurrences, trust) in steps {
        let context = &context[context.len() - length..];
        let value = |ngram: &[String]| match counts_occurrences {
            true => occurrences.get(ngram).copied().unwrap_or(0),
            false => n_before(occurrences, ngram),
        };
        let of_order = occurrences.keys().filter(|ngram| ngram.len() == length + 1);
        let n = |count: u64| {
            of_order
                .clone()
                .filter(|ngram| value(ngram) == count)
                .count() as f64
        };
        let y = n(1) / (n(1) + 2.0 * n(2));
        let discount = |count: u64| {
            let k = count.min(3) as f64;
            if n(1) == 0.0 || n(2) == 0.0 {
                0.5
            } else if discounts == Discounts::Single || n(k as u64) * n(k as u64 + 1) == 0.0 {
                y
            } else {
                let d = k - (k + 1.0) * y * n(k as u64 + 1) / n(k as u64);
                if d > 0.0 { d.min(0.99 * k) } else { y }
            }
        };
        let after = of_order.clone().filter(|ngram| ngram[..length] == *context);
        let after: Vec<u64> = after.map(|ngram| value(ngram)).filter(|&n| n > 0).collect();
        let total: u64 = after.iter().sum();
        if total == 0 {
            continue;
        }
        let held_back: f64 = after.iter().map(|&count| discount(count)).sum();
        let ngram: Vec<String> = context.iter().cloned().chain([word.to_owned()]).collect();
        let count = value(&ngram);
        let kept = if count > 0 {
            count as f64 - discount(count)
        } else {
            0.0
        };
        let total = total as f64;
        let left_over = 1.0 - trust * (1.0 - held_back / total);
        probability = trust * kept / total + left_over * probability;
    }
    probability
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counts_are_those_of_the_text(documents in documents(), levels in prop::option::of(1..4usize)) {
        let learner = learner(&[3, 2, 2]);
        let store = memory_store(&learner, &documents);
        let head = head_of(&store, &options(levels));
        let planned: Vec<Planned> = documents.iter().map(|document| plan(&learner, document)).collect();
        let occurrences = brute_force(&planned, levels.unwrap_or(3));
        check_counts(&head, &occurrences)?;
        let tokens: usize = planned.iter().map(|document| document.tokens.len()).sum();
        prop_assert_eq!(head.counted().symbols, tokens as u64);
    }

    #[test]
    fn counts_of_lessons_are_those_of_the_text(documents in documents(), n_stored in 0..6usize) {
        let learner = learner(&[3, 2, 2]);
        let n_stored = n_stored.min(documents.len());
        let store = memory_store(&learner, &documents[..n_stored]);
        let mut head = head_of(&store, &options(None));
        let planned: Vec<Planned> = documents.iter().map(|document| plan(&learner, document)).collect();
        // Patterns below a lesson, from any document: names are functions of content.
        let events: BTreeMap<_, _> = planned.iter().flat_map(|document| &document.calls)
            .map(|call| ((call.level, call.name), &call.events)).collect();
        for call in planned[n_stored..].iter().flat_map(|document| &document.calls) {
            let below = |level: usize, name: &_| Ok::<_, HeadError>(events.get(&(level, *name)).copied().cloned());
            head.learn(call.level, &call.events, 1, below).unwrap();
        }
        check_counts(&head, &brute_force(&planned, 3))?;
    }

    #[test]
    fn probabilities_are_those_of_the_definition(
        documents in documents(),
        context in prop::collection::vec(prop::sample::select(&WORDS[..4]), 0..6),
        is_modified in any::<bool>(),
    ) {
        let learner = learner(&[3, 2, 2]);
        let store = memory_store(&learner, &documents);
        let discounts = if is_modified { Discounts::Modified } else { Discounts::Single };
        let options = options(None).with_discounts(discounts).with_experts([Expert::Ngrams]);
        let head = head_of(&store, &options);
        let planned: Vec<Planned> = documents.iter().map(|document| plan(&learner, document)).collect();
        let occurrences = brute_force(&planned, 3);
        let mut history = head.history();
        context.iter().for_each(|word| head.read(&mut history, word));
        let weights = Weights::new();
        let next = head.next(&history, &weights, None);
        let context: Vec<String> = context.iter().map(|&word| word.to_owned()).collect();
        for word in WORDS {
            let found = next.probability(head.symbol(word).unwrap());
            prop_assert!(found > 0.0);
            let expected = kneser_ney(&occurrences, discounts, &context, word);
            prop_assert!((found - expected).abs() < 1e-12, "{} {} {}", word, found, expected);
        }
    }

    #[test]
    fn documents_that_fit_one_pattern_are_counted_at_all_offsets(
        words in prop::collection::vec(prop::sample::select(&WORDS[..3]), 12),
    ) {
        // Four chunks of three, in two pairs, in one pattern.
        let document = words.join(" ");
        let learner = learner(&[3, 2, 2]);
        let store = memory_store(&learner, std::slice::from_ref(&document));
        let head = head_of(&store, &options(None));
        let distinct: BTreeSet<&[&str]> = (1..=ORDER).flat_map(|n| words.windows(n)).collect();
        prop_assert_eq!(head.n_ngrams(), distinct.len());
        for ngram in distinct {
            let owned: Vec<String> = ngram.iter().map(|&word| word.to_owned()).collect();
            let expected = words.windows(ngram.len()).filter(|other| *other == ngram).count();
            prop_assert_eq!(head.count(&ids(&head, &owned).unwrap()), expected as u64);
        }
    }
}
