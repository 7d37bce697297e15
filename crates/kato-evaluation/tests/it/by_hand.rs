//! A corpus so small that every number can be found with a pencil.

use kato_evaluation::report::CountedShare;
use kato_evaluation::{EvaluationOptions, EvaluationReport};

use crate::support::Lab;

/// Node 0 learns abc three times and abd twice, node 1 (abc, abd) twice.
const TRAINING: [&str; 3] = ["a b c a b d", "a b c a b d", "a b c"];
const HELD_OUT: [&str; 2] = ["a b c a b d", "a b e x y z"];

fn report() -> EvaluationReport {
    Lab::new(&TRAINING[..], &HELD_OUT[..], &[3, 2])
        .evaluate(&EvaluationOptions::default())
        .unwrap()
}

fn of(share: CountedShare) -> (u64, u64) {
    (share.count, share.of)
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: f64) {
    assert!(
        (found.unwrap() - expected).abs() < 1e-12,
        "{found:?} {expected}"
    );
}

#[test]
fn coverage_is_by_look_up() {
    let report = report();
    assert_eq!((report.documents, report.failed, report.tokens), (2, 0, 12));
    let [node0, node1] = [0, 1].map(|level| report.levels[level].coverage);
    // Of abc, abd, abe, xyz the first two; e, x, y, z are new.
    assert_eq!(
        (of(node0.known_chunks), of(node0.unknown_symbols)),
        ((2, 4), (4, 12))
    );
    assert_eq!(
        (of(node1.known_chunks), of(node1.unknown_symbols)),
        ((1, 2), (2, 4))
    );
}

#[test]
fn recognition_is_by_similarity() {
    let report = report();
    let [node0, node1] = [0, 1].map(|level| report.levels[level].recognition);
    // abe is 2 · 2 / 6 like abc; xyz is like nothing.
    assert_eq!(
        (of(node0.recognised), of(node0.unanswered)),
        ((3, 4), (1, 4))
    );
    assert_close(node0.mean_similarity, (1.0 + 1.0 + 2.0 / 3.0) / 4.0);
    assert_eq!(
        (of(node1.recognised), of(node1.unanswered)),
        ((1, 2), (1, 2))
    );
    assert_close(node1.mean_similarity, 0.5);
}

#[test]
fn the_next_symbol_is_right_among_the_first() {
    let report = report();
    let [node0, node1] = [0, 1].map(|level| &report.levels[level].next);
    // a → b three times; a b → c, d, e, of which the first answer is one; x → y and x y → z have
    // none.
    assert_eq!(of(node0.top_1), (4, 8));
    assert_eq!((of(node0.top_5), of(node0.top_10)), ((5, 8), (5, 8)));
    assert_eq!(
        (of(node0.unanswered), of(node0.answerable)),
        ((2, 8), (5, 8))
    );
    let by_context: Vec<_> = node0.top_1_by_context.iter().copied().map(of).collect();
    assert_eq!(by_context, [(3, 4), (1, 4)]);
    // abc → abd is right, abe → xyz is not.
    assert_eq!(
        (of(node1.top_1), of(node1.unanswered), of(node1.answerable)),
        ((1, 2), (1, 2), (1, 2))
    );
}

#[test]
fn bits_are_those_of_the_formulas() {
    let code = report().code_length;
    assert_eq!(
        (code.tokens, code.tokens_in_context, code.documents),
        (12, 8, 2)
    );
    assert_eq!(code.baseline.training_tokens, 15);
    assert_eq!(code.baseline.order, 5);
    assert_close(code.uniform.bits_per_token, 3.0);
    // Frequencies 5, 5, 3, 2 of 15; no count is 1, so the discount is ½; 8 tokens share what is
    // discounted.
    let probability = |count: f64| (count - 0.5f64).max(0.0) / 15.0 + 0.5 * 4.0 / 15.0 / 8.0;
    let bits = |count: f64| -probability(count).log2();
    let unigram = (6.0 * bits(5.0) + bits(3.0) + bits(2.0) + 4.0 * bits(0.0)) / 12.0;
    assert_close(code.unigram.bits_per_token, unigram);

    // KATO: first tokens by frequency; a → b is certain by 4 predictions, then trusted more each
    // time.
    let (b, unseen) = (probability(5.0), probability(0.0));
    let (mut n, mut shares) = (0.0, 0.0);
    let mut code_b = || {
        let trust = (0.5 + shares) / (1.0 + n);
        let probability = trust * 1.0 + (1.0 - trust) * b;
        n += 1.0;
        shares += trust / probability;
        -probability.log2()
    };
    let after_a = code_b() + code_b() + code_b();
    // a b: c with weight 3 · 0.8, d with 2 · 0.8, so that c has 0.6 and d 0.4 of it; e is not
    // expected.
    let (mut n, mut shares) = (0.0, 0.0);
    let mut code_third = |expected: f64, frequency: f64| {
        let trust = (0.5 + shares) / (1.0 + n);
        let probability = trust * expected + (1.0 - trust) * frequency;
        n += 1.0;
        shares += trust * expected / probability;
        -probability.log2()
    };
    let after_ab = code_third(0.6, probability(3.0))
        + code_third(0.4, probability(2.0))
        + code_third(0.0, unseen);
    let first = 3.0 * bits(5.0) + bits(0.0);
    let no_answer = 2.0 * bits(0.0);
    assert_close(
        code.kato.bits_per_token,
        (first + after_a + after_ab + no_answer) / 12.0,
    );
    assert_close(
        code.kato.bits_per_token_in_context,
        (after_a + after_ab + no_answer) / 8.0,
    );
}

#[test]
fn a_report_is_json_with_counts_and_shares() {
    let json = serde_json::to_value(report()).unwrap();
    let known = &json["levels"][0]["coverage"]["known_chunks"];
    assert_eq!(
        *known,
        serde_json::json!({"count": 2, "of": 4, "share": 0.5})
    );
    assert!(json["code_length"]["kato"]["interval"]["low"].is_number());
}
