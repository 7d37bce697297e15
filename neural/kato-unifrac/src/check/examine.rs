//! Going over a table and a tree once, for findings and for which tip each feature is.

use std::collections::HashMap;

use foldhash::quality::RandomState;

use super::finding::N_EXAMPLES;
use super::{Check, CheckFinding, FindingKind};
use crate::table::Table;
use crate::tree::Tree;

type Map<K, V> = HashMap<K, V, RandomState>;

/// A check, with what it found on the way.
pub(crate) struct Matched {
    pub(crate) check: Check,
    // For each feature its tip, if it has one.
    pub(crate) tips: Vec<Option<u32>>,
}

/// Findings being collected.
#[derive(Default)]
struct Findings(Vec<CheckFinding>);

impl Findings {
    /// Adds one more of a kind; the name is only made where it will be shown.
    fn add(&mut self, kind: FindingKind, name: impl FnOnce() -> Option<String>) {
        let known = self.0.iter().position(|finding| finding.kind == kind);
        let i = known.unwrap_or_else(|| {
            self.0.push(CheckFinding {
                kind,
                n: 0,
                examples: Vec::new(),
            });
            self.0.len() - 1
        });
        let finding = &mut self.0[i];
        finding.n += 1;
        if finding.examples.len() < N_EXAMPLES {
            finding.examples.extend(name());
        }
    }
}

pub(crate) fn examine(table: &Table, tree: &Tree) -> Matched {
    let mut findings = Findings::default();
    examine_branches(tree, &mut findings);
    let tips = match_features(table, tree, &mut findings);
    examine_samples(table, &tips, &mut findings);
    let Findings(mut found) = findings;
    found.sort_by_key(|finding| finding.kind);
    let check = Check {
        findings: found,
        n_samples: table.n_samples(),
        n_features: table.n_features(),
        n_tips: tree.n_tips(),
        n_matched: tips.iter().flatten().count(),
    };
    Matched { check, tips }
}

fn examine_branches(tree: &Tree, findings: &mut Findings) {
    let name = |node: usize| {
        let label = tree.label(node);
        Some(if label.is_empty() {
            format!("#{node}")
        } else {
            label.to_owned()
        })
    };
    let mut sum = 0.0;
    for node in 0..tree.root() {
        match tree.length(node) {
            None => findings.add(FindingKind::AbsentLengths, || name(node)),
            Some(length) if length < 0.0 => {
                findings.add(FindingKind::NegativeLengths, || name(node));
            }
            Some(length) => sum += length,
        }
    }
    // Distances add up to four times the tree, and none of them may become infinite.
    if !f64::is_finite(sum * 4.0) {
        findings.add(FindingKind::HugeLengths, || None);
    }
    if tree.length(tree.root()).is_some_and(|length| length != 0.0) {
        findings.add(FindingKind::RootLength, || None);
    }
    if tree.n_children(tree.root()) > 2 {
        findings.add(FindingKind::ManyRootChildren, || None);
    }
    for _ in 0..tree.n_further_trees() {
        findings.add(FindingKind::SeveralTrees, || None);
    }
}

fn match_features(table: &Table, tree: &Tree, findings: &mut Findings) -> Vec<Option<u32>> {
    let mut tip_of_name = Map::with_capacity_and_hasher(tree.n_tips(), RandomState::default());
    // A name that stands thrice is still one finding.
    let mut repeated: Map<&str, ()> = Map::default();
    for tip in tree.tips() {
        let name = tree.label(tip);
        if name.is_empty() {
            findings.add(FindingKind::UnnamedTips, || None);
        } else if tip_of_name.insert(name, tip as u32).is_some()
            && repeated.insert(name, ()).is_none()
        {
            findings.add(FindingKind::DuplicateTips, || Some(name.to_owned()));
        }
    }
    add_duplicates(
        table.feature_ids(),
        FindingKind::DuplicateFeatures,
        findings,
    );
    add_duplicates(table.sample_ids(), FindingKind::DuplicateSamples, findings);
    let mut tips = Vec::with_capacity(table.n_features());
    let mut is_matched = vec![false; tree.n_nodes()];
    for feature in table.feature_ids() {
        let tip = tip_of_name.get(feature.as_str()).copied();
        match tip {
            Some(tip) => is_matched[tip as usize] = true,
            None => {
                findings.add(FindingKind::UnknownFeatures, || Some(feature.clone()));
                let written = feature.replace(' ', "_");
                if written != *feature && tip_of_name.contains_key(written.as_str()) {
                    findings.add(FindingKind::UnderscoresForSpaces, || Some(feature.clone()));
                }
            }
        }
        tips.push(tip);
    }
    for tip in tree
        .tips()
        .filter(|&tip| !is_matched[tip] && !tree.label(tip).is_empty())
    {
        findings.add(FindingKind::AbsentTips, || Some(tree.label(tip).to_owned()));
    }
    tips
}

fn add_duplicates(names: &[String], kind: FindingKind, findings: &mut Findings) {
    let mut n_of_name: Map<&str, usize> =
        Map::with_capacity_and_hasher(names.len(), RandomState::default());
    for name in names {
        let n = n_of_name.entry(name).or_default();
        *n += 1;
        if *n == 2 {
            findings.add(kind, || Some(name.clone()));
        }
    }
}

fn examine_samples(table: &Table, tips: &[Option<u32>], findings: &mut Findings) {
    for (sample, id) in table.sample_ids().iter().enumerate() {
        let mut total = 0.0;
        let mut holds_a_tip = false;
        let mut is_bad = false;
        for (feature, count) in table.sample(sample) {
            total += count;
            is_bad |= count < 0.0;
            holds_a_tip |= tips[feature].is_some();
        }
        // Infinities and NaN stay in the sum.
        if is_bad || !f64::is_finite(total) {
            findings.add(FindingKind::BadCounts, || Some(id.clone()));
        }
        if table.sample(sample).len() == 0 {
            findings.add(FindingKind::EmptySamples, || Some(id.clone()));
        } else if !holds_a_tip {
            findings.add(FindingKind::EmptiedSamples, || Some(id.clone()));
        }
    }
}
