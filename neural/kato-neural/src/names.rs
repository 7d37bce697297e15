//! Names of parameters as PyTorch gives them.

/// Where a visitor stands in a module, and the name of the parameter there.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Field or index, and the kind of module that holds it.
    path: Vec<(String, String)>,
}

/// A parameter's name, and whether PyTorch keeps it turned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) transposed: bool,
}

impl Name {
    /// Returns PyTorch's shape of what the module keeps in such a one.
    pub(crate) fn shape(&self, mut shape: Vec<usize>) -> Vec<usize> {
        if self.transposed {
            shape.reverse();
        }
        shape
    }
}

impl Names {
    pub(crate) fn enter(&mut self, field: &str, container: &str) {
        self.path.push((field.to_owned(), container.to_owned()));
    }

    pub(crate) fn leave(&mut self) {
        self.path.pop();
    }

    /// Returns the current parameter's name.
    pub(crate) fn current(&self) -> Name {
        let mut parts: Vec<&str> = self.path.iter().map(|(field, _)| field.as_str()).collect();
        let container = self
            .path
            .last()
            .map_or("", |(_, container)| container.as_str());
        // The last part is the parameter itself, and the last container the module that holds it.
        let field = parts.pop().unwrap_or("");
        match container {
            // PyTorch has no object a layer: `encoder.weight_ih_l0`.
            "Struct:RecurrentLayer" if parts.len() >= 2 => {
                let layer = parts.pop().unwrap_or("0");
                let suffixed = format!("{field}_l{layer}");
                // The list of layers is a field of ours; PyTorch's names do not have it.
                parts.pop();
                parts.push(&suffixed);
                Name {
                    text: parts.join("."),
                    transposed: false,
                }
            }
            // Burn's linear layers have a row an input, PyTorch's a row an output.
            "Struct:Linear" => {
                parts.push(field);
                Name {
                    text: parts.join("."),
                    transposed: field == "weight",
                }
            }
            _ => {
                parts.push(match (container, field) {
                    ("Struct:LayerNorm" | "Struct:BatchNorm", "gamma") => "weight",
                    ("Struct:LayerNorm" | "Struct:BatchNorm", "beta") => "bias",
                    _ => field,
                });
                Name {
                    text: parts.join("."),
                    transposed: false,
                }
            }
        }
    }
}

/// Whether `text` matches a pattern in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            // Every place where the star may end; names are short.
            (0..=rest.len())
                .filter(|&at| rest.is_char_boundary(at))
                .any(|at| matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &[(&str, &str)]) -> Name {
        let mut names = Names::default();
        path.iter()
            .for_each(|(field, container)| names.enter(field, container));
        names.current()
    }

    #[test]
    fn names_are_those_of_torch() {
        let recurrent = [
            ("encoder", "Struct:Model"),
            ("layers", "Struct:Recurrent"),
            ("1", "Vec"),
            ("weight_hh", "Struct:RecurrentLayer"),
        ];
        assert_eq!(name(&recurrent).text, "encoder.weight_hh_l1");
        let linear = name(&[("output", "Struct:Model"), ("weight", "Struct:Linear")]);
        assert_eq!(
            (linear.text.as_str(), linear.transposed),
            ("output.weight", true)
        );
        let norm = name(&[("norm", "Struct:Model"), ("gamma", "Struct:LayerNorm")]);
        assert_eq!(norm.text, "norm.weight");
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("*.bias", "a.b.bias", true),
            ("*.bias", "a.b.bias_ih", false),
            ("*bias*", "a.bias_ih_l0", true),
            ("encoder.*", "encoder.weight", true),
            ("encoder.*", "decoder.weight", false),
            ("exact", "exact", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
