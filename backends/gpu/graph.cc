// SPDX-License-Identifier: Apache-2.0
#include "backends/common/status.h"
#include "backends/gpu/runtime.h"
#include "backends/gpu/vendor_runtime.h"

namespace gpu {

#if defined(ASSAY_GPU_HIP_CPU)

std::unique_ptr<Graph> Graph::Record(const Queue&, const std::function<void()>&) {
  return nullptr;  // HIP-CPU has no graphs
}
Graph::~Graph() = default;
void Graph::Launch(const Queue&) const {}

#else

namespace {

using GraphHandle = RUNTIME(Graph_t);
using ExecutableHandle = RUNTIME(GraphExec_t);

// A stream that records what it is given, for as long as this lives: one that went on recording would run nothing any
// more, nor let anybody wait.
class Capture {
 public:
  explicit Capture(StreamHandle stream)
      : stream_(stream),
        active_(static_cast<int>(RUNTIME(StreamBeginCapture)(stream, RUNTIME(StreamCaptureModeThreadLocal))) == 0) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (active_) (void)End();
    if (graph_ != nullptr) (void)RUNTIME(GraphDestroy)(graph_);
  }
  bool IsActive() const { return active_; }

  // The recorded graph, which lives as long as this; null if something could not be recorded.
  GraphHandle End() {
    active_ = false;
    return static_cast<int>(RUNTIME(StreamEndCapture)(stream_, &graph_)) == 0 ? graph_ : nullptr;
  }

 private:
  const StreamHandle stream_;
  bool active_;
  GraphHandle graph_{};
};

// Null on failure.
ExecutableHandle Instantiate(GraphHandle graph) {
  ExecutableHandle executable{};
#if defined(ASSAY_GPU_CUDA)
  const Code made = cudaGraphInstantiate(&executable, graph, 0);
#else
  const Code made = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
#endif
  return static_cast<int>(made) == 0 ? executable : ExecutableHandle{};
}

ExecutableHandle Recorded(const Queue& queue, const std::function<void()>& enqueue) {
  Capture capture(static_cast<StreamHandle>(queue.get()));
  if (!capture.IsActive()) return {};
  try {
    enqueue();
  } catch (const plugin::Error& error) {
    if (error.status() == ASSAY_DEVICE_LOST) throw;
    return {};
  }
  const GraphHandle graph = capture.End();
  return graph == nullptr ? ExecutableHandle{} : Instantiate(graph);
}

}  // namespace

std::unique_ptr<Graph> Graph::Record(const Queue& queue, const std::function<void()>& enqueue) {
  const ExecutableHandle executable = Recorded(queue, enqueue);
  if (executable == nullptr) {
    (void)RUNTIME(GetLastError)();
    return nullptr;
  }
  std::unique_ptr<Graph> made(new Graph);
  made->executable_ = executable;
  return made;
}

Graph::~Graph() {
  (void)RUNTIME(GraphExecDestroy)(static_cast<ExecutableHandle>(executable_));
}

void Graph::Launch(const Queue& queue) const {
  Check(RUNTIME(GraphLaunch)(static_cast<ExecutableHandle>(executable_), static_cast<StreamHandle>(queue.get())),
        "GraphLaunch");
}

#endif

}  // namespace gpu
