// What LibTorch has and `tch` does not reach: fused Adam, the clip over all gradients, autocast in bf16,
// and blocks that are computed again in the backward pass. Needs no CUDA.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "status.h"

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Run = at::Tensor* (*)(void* block, const at::Tensor* input);
using Drop = void (*)(void* block);

std::vector<at::Tensor> list(at::Tensor* const* tensors, size_t n) {
  std::vector<at::Tensor> result;
  result.reserve(n);
  for (size_t at = 0; at < n; ++at) result.push_back(*tensors[at]);
  return result;
}

std::vector<at::Tensor> gradients(at::Tensor* const* parameters, size_t n) {
  std::vector<at::Tensor> result;
  for (size_t at = 0; at < n; ++at) {
    const auto& gradient = parameters[at]->grad();
    if (gradient.defined()) result.push_back(gradient);
  }
  return result;
}

// A Rust closure, which lives as long as the graph that may call it.
struct Block : torch::CustomClassHolder {
  Block(void* closure, Run run, Drop drop) : closure(closure), run(run), drop(drop) {}
  ~Block() override { drop(closure); }

  at::Tensor operator()(const at::Tensor& input) const {
    at::Tensor* output = run(closure, &input);
    TORCH_CHECK(output != nullptr, "a block that is computed again failed");
    at::Tensor result = std::move(*output);
    delete output;
    return result;
  }

  void* closure;
  Run run;
  Drop drop;
};

at::Tensor draws_of(const at::Device& device) {
  auto generator = at::globalContext().defaultGenerator(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void restore_draws(const at::Device& device, const at::Tensor& state) {
  auto generator = at::globalContext().defaultGenerator(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const c10::intrusive_ptr<Block>& block, bool draws) {
    // Only the input is kept, and where the block draws, the place in the stream of random numbers.
    context->save_for_backward({input});
    context->saved_data["block"] = c10::IValue::make_capsule(block);
    if (draws) context->saved_data["draws"] = draws_of(input.device());
    return (*block)(input);
  }

  static variable_list backward(AutogradContext* context, variable_list outer) {
    auto capsule = context->saved_data["block"].toCapsule();
    auto block = c10::static_intrusive_pointer_cast<Block>(capsule);
    auto input = context->get_saved_variables()[0].detach().requires_grad_(true);
    auto device = input.device();
    auto kept = context->saved_data.find("draws");
    at::Tensor later;
    if (kept != context->saved_data.end()) {
      later = draws_of(device);
      restore_draws(device, kept->second.toTensor());
    }
    at::Tensor output;
    {
      at::AutoGradMode with_graph(true);
      output = (*block)(input);
    }
    if (later.defined()) restore_draws(device, later);
    // The gradients of the block's weights are added up where all others are.
    torch::autograd::backward({output}, {outer[0]});
    return {input.grad(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

extern "C" {

void kato_free(char* text) { std::free(text); }

char* kato_clear_gradients(at::Tensor* const* parameters, size_t n) {
  return status_of([&] {
    // Absent and not zero: the next backward pass then stores instead of adding.
    for (size_t at = 0; at < n; ++at) parameters[at]->mutable_grad().reset();
  });
}

// Scales all gradients together to a norm of at most `max_norm`; the norm before stays on the device.
char* kato_clip(at::Tensor* const* parameters, size_t n, double max_norm, at::Tensor** norm) {
  return status_of([&] {
    at::NoGradGuard no_graph;
    auto all = gradients(parameters, n);
    TORCH_CHECK(!all.empty(), "no parameter has a gradient");
    auto total = at::stack(at::_foreach_norm(all)).norm();
    at::_foreach_mul_(all, (max_norm / (total + 1e-6)).clamp_max(1.0));
    *norm = new at::Tensor(total);
  });
}

char* kato_adam(at::Tensor* const* parameters, at::Tensor* const* first, at::Tensor* const* second,
                at::Tensor* const* steps, size_t n, const double* rates, bool decoupled) {
  return status_of([&] {
    at::NoGradGuard no_graph;
    auto weights = list(parameters, n);
    auto all = gradients(parameters, n);
    TORCH_CHECK(all.size() == n, n - all.size(), " of ", n, " parameters have no gradient");
    auto counts = list(steps, n);
    at::_foreach_add_(counts, 1);
    auto means = list(first, n), squares = list(second, n);
    const double rate = rates[0], beta_1 = rates[1], beta_2 = rates[2], decay = rates[3];
    const double epsilon = rates[4];
    if (decoupled) {
      at::_fused_adamw_(weights, all, means, squares, {}, counts, rate, beta_1, beta_2, decay, epsilon,
                        /*amsgrad=*/false, /*maximize=*/false);
    } else {
      at::_fused_adam_(weights, all, means, squares, {}, counts, rate, beta_1, beta_2, decay, epsilon,
                       /*amsgrad=*/false, /*maximize=*/false);
    }
  });
}

char* kato_autocast_enter(bool cuda, bool* before) {
  return status_of([&] {
    auto device = cuda ? at::kCUDA : at::kCPU;
    *before = at::autocast::is_autocast_enabled(device);
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::increment_nesting();
  });
}

char* kato_autocast_leave(bool cuda, bool before) {
  return status_of([&] {
    at::autocast::set_autocast_enabled(cuda ? at::kCUDA : at::kCPU, before);
    // Weights that were rounded are kept until the outermost scope ends.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  });
}

// Takes the block, also where it fails.
char* kato_recompute(const at::Tensor* input, void* closure, Run run, Drop drop, bool draws,
                     at::Tensor** output) {
  auto block = c10::make_intrusive<Block>(closure, run, drop);
  return status_of([&] { *output = new at::Tensor(Recompute::apply(*input, block, draws)); });
}

char* kato_allow_tf32(bool recurrent, bool products) {
  return status_of([&] {
    at::globalContext().setAllowTF32CuDNN(recurrent);
    at::globalContext().setAllowTF32CuBLAS(products);
  });
}
}
