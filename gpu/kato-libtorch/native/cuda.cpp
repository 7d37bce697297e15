// A step captured as a CUDA graph, and the allocator's peak. Compiled where CUDA's headers are.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "status.h"

namespace {

using Work = bool (*)(void* closure);

struct Captured {
  explicit Captured(c10::DeviceIndex device)
      : stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  c10::cuda::CUDAStream stream;
  at::cuda::CUDAGraph graph;
};

// Makes a stream current. PyTorch's own guard would need CUDA's runtime when this is linked.
class OnStream {
 public:
  explicit OnStream(const c10::cuda::CUDAStream& stream)
      : before_(c10::cuda::getCurrentCUDAStream(stream.device_index())) {
    c10::cuda::setCurrentCUDAStream(stream);
  }
  ~OnStream() { c10::cuda::setCurrentCUDAStream(before_); }

 private:
  c10::cuda::CUDAStream before_;
};

void call(Work work, void* closure) {
  TORCH_CHECK(work(closure), "the step that is to be captured failed");
}

}  // namespace

extern "C" {

char* kato_graph_new(int device, Captured** captured) {
  return status_of([&] { *captured = new Captured(static_cast<c10::DeviceIndex>(device)); });
}

void kato_graph_free(Captured* captured) { delete captured; }

// Does the work on the graph's own stream, which capturing wants: buffers and plans are made here.
char* kato_graph_warm_up(Captured* captured, Work work, void* closure) {
  return status_of([&] {
    c10::cuda::device_synchronize();
    {
      OnStream on_stream(captured->stream);
      call(work, closure);
    }
    c10::cuda::device_synchronize();
  });
}

char* kato_graph_capture(Captured* captured, Work work, void* closure) {
  return status_of([&] {
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
    OnStream on_stream(captured->stream);
    captured->graph.capture_begin();
    // The capture has to be ended whatever happens, or no later one can begin.
    bool done = work(closure);
    captured->graph.capture_end();
    TORCH_CHECK(done, "the step that is to be captured failed");
  });
}

char* kato_graph_replay(Captured* captured) {
  return status_of([&] { captured->graph.replay(); });
}

char* kato_reset_peak(int device) {
  return status_of([&] {
    c10::cuda::CUDACachingAllocator::emptyCache();
    c10::cuda::CUDACachingAllocator::resetPeakStats(static_cast<c10::DeviceIndex>(device));
  });
}

char* kato_peak(int device, long long* bytes) {
  return status_of([&] {
    auto stats =
        c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    // The first of the statistics is the sum over small and large blocks.
    *bytes = stats.allocated_bytes[0].peak;
  });
}
}
