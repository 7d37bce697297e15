//! A snapshot as tables: the nodes, and how each is made of the one below where there is one.

use kato_evaluation::analysis::Snapshot;
use kato_evaluation::analysis::snapshot::{LinkSnapshot, NodeSnapshot};

use super::{number, percent};
use crate::inspect::View;
use crate::inspect::layout::{dim, table};

impl View for Snapshot {
    fn text(&self, _width: usize) -> String {
        let nodes: Vec<Vec<String>> = self.nodes.iter().map(node).collect();
        let header = [
            "node",
            "patterns",
            "share",
            "learned",
            "mean",
            "median",
            "max",
            "once",
            "entropy",
            "tokens/pattern",
        ];
        let mut text = table(&header, &nodes);
        if !self.links.is_empty() {
            let links: Vec<Vec<String>> = self.links.iter().map(link).collect();
            let header = [
                "link",
                "patterns",
                "learned",
                "coverage",
                "parents",
                "p90",
                "max",
                "children",
                "sd",
                "dangling",
                "shared bits",
                "Jaccard",
            ];
            text += &format!("\n{}", table(&header, &links));
        }
        if let Some(growth) = &self.growth {
            let (exponent, r_squared) = (growth.exponent, growth.r_squared);
            text += &format!("\ngrowth exponent {exponent:.3}, R² {r_squared:.3}\n");
        }
        text + &format!("\n{}\n", dim(&format!("digest {}", self.digest)))
    }
}

/// Returns the cells of a node in the table.
fn node(node: &NodeSnapshot) -> Vec<String> {
    let statistics = &node.statistics;
    let count = |count: u64| number(Some(count as f64));
    // A node without patterns has no share of them.
    let once = (statistics.patterns > 0)
        .then(|| statistics.ranges.freq_1 as f64 / statistics.patterns as f64);
    vec![
        node.node.clone(),
        count(statistics.patterns),
        percent(node.utilisation),
        count(statistics.learns),
        number(statistics.mean),
        number(statistics.median),
        number(statistics.max.map(|max| max as f64)),
        percent(once),
        number(node.entropy),
        number(node.tokens_per_pattern),
    ]
}

/// Returns the cells of a pair of neighbouring nodes in the table.
fn link(link: &LinkSnapshot) -> Vec<String> {
    let count = |count: Option<u64>| number(count.map(|count| count as f64));
    let information = link.information.as_ref();
    vec![
        format!("{} → {}", link.lower, link.upper),
        number(link.compression),
        number(link.observation_compression),
        percent(link.coverage),
        number(link.reuse.mean),
        count(link.reuse.p90),
        count(link.reuse.max),
        number(link.branching.mean),
        number(link.branching.standard_deviation),
        count(Some(link.dangling)),
        number(information.map(|information| information.mutual_information)),
        number(link.similarity.map(|similarity| similarity.mean_jaccard)),
    ]
}
