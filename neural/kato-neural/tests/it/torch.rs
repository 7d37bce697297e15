//! Transformer blocks and pooling as PyTorch has them, from PyTorch's own file of weights.

use std::collections::BTreeMap;
use std::path::Path;

use kato_neural::burn::module::{Param, ParamId};
use kato_neural::burn::optim::GradientsParams;
use kato_neural::burn::tensor::{Tensor, TensorData};
use kato_neural::checkpoint::read_weights;
use kato_neural::layers::{AttentionPooling, Transformer, TransformerOptions, Valid};
use kato_neural::{Initializer, Pass};

use crate::recurrent::{gap, numbers};
use crate::support::device;

#[derive(serde::Deserialize)]
struct Golden {
    lengths: Vec<usize>,
    rows: Vec<f32>,
    query: Vec<f32>,
    upstream: Vec<f32>,
    upstream_pooled: Vec<f32>,
    outputs: Vec<f64>,
    pooled: Vec<f64>,
    d_rows: Vec<f64>,
    d_query: Vec<f64>,
    gradients: BTreeMap<String, Vec<f64>>,
}

/// Names and gradients of a model's parameters, by what a checkpoint calls them.
fn named(net: &Transformer, all: &GradientsParams) -> BTreeMap<String, Vec<f64>> {
    let mut named = BTreeMap::new();
    for (number, layer) in net.layers().iter().enumerate() {
        let mut put = |name: &str, values: Vec<f64>| {
            named.insert(format!("layers.{number}.{name}"), values);
        };
        let matrix = |param: &Param<Tensor<2>>| numbers(&all.get::<2>(param.id).unwrap());
        let vector = |param: &Param<Tensor<1>>| numbers(&all.get::<1>(param.id).unwrap());
        let attention = &layer.self_attn;
        put(
            "self_attn.in_proj_weight",
            matrix(&attention.in_proj_weight),
        );
        put("self_attn.in_proj_bias", vector(&attention.in_proj_bias));
        put(
            "self_attn.out_proj.weight",
            matrix(&attention.out_proj.weight),
        );
        put("self_attn.out_proj.bias", vector(&attention.out_proj.bias));
        put("linear1.weight", matrix(&layer.linear1.weight));
        put("linear1.bias", vector(&layer.linear1.bias));
        put("linear2.weight", matrix(&layer.linear2.weight));
        put("linear2.bias", vector(&layer.linear2.bias));
        put("norm1.weight", vector(&layer.norm1.weight));
        put("norm1.bias", vector(&layer.norm1.bias));
        put("norm2.weight", vector(&layer.norm2.weight));
        put("norm2.bias", vector(&layer.norm2.bias));
    }
    named
}

#[test]
fn torch_gives_the_same_outputs_and_gradients_from_its_own_weights() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read_to_string(data.join("transformer.json")).unwrap();
    let golden: Golden = serde_json::from_str(&text).unwrap();
    let options = TransformerOptions::new(8, 2, 2)
        .with_hidden(12)
        .with_final_norm();
    let net = options.init(&mut Initializer::from_seed(1), &device());
    // Every tensor of the file has its place, and every parameter its tensor.
    let net = read_weights(net, &data.join("transformer-weights.safetensors")).unwrap();
    let mut pooling = AttentionPooling::new(8, &mut Initializer::from_seed(2), &device());
    let tensor = |values: &[f32], shape: [usize; 3]| {
        Tensor::<3>::from_data(TensorData::new(values.to_vec(), shape), &device())
    };
    let query = tensor(&golden.query, [1, 1, 8]).reshape([8]).require_grad();
    pooling.query = Param::initialized(ParamId::new(), query.clone());
    for pass in [
        Pass::evaluation(),
        Pass::evaluation().with_plain_operations(),
    ] {
        let rows = tensor(&golden.rows, [4, 5, 8]).require_grad();
        let valid = Valid::Lengths(&golden.lengths);
        let outputs = net.forward(rows.clone(), valid, &pass);
        let pooled = pooling.forward(outputs.clone(), valid);
        let loss = (outputs.clone() * tensor(&golden.upstream, [4, 5, 8])).sum()
            + (pooled.clone() * tensor(&golden.upstream_pooled, [1, 4, 8]).reshape([4, 8])).sum();
        let mut all = loss.backward();
        assert!(gap(&numbers(&outputs), &golden.outputs) < 1e-5);
        assert!(gap(&numbers(&pooled), &golden.pooled) < 1e-5);
        assert!(gap(&numbers(&rows.grad(&all).unwrap()), &golden.d_rows) < 1e-5);
        assert!(gap(&numbers(&query.grad(&all).unwrap()), &golden.d_query) < 1e-5);
        let found = named(&net, &GradientsParams::from_module(&mut all, &net));
        for (name, found) in found {
            let gap = gap(&found, &golden.gradients[&name]);
            assert!(gap < 1e-5, "{name}: {gap}");
        }
    }
}
