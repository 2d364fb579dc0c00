// SPDX-License-Identifier: Apache-2.0
// An operator in oneDNN's terms: a primitive descriptor that iterates over the library's implementations, and where
// each operand goes. PrimitivePlan runs it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/common/canary.h"
#include "backends/common/host.h"
#include "backends/onednn/compat.h"

namespace onednn {

struct Operand {
  int argument = 0;  // DNNL_ARG_*
  bool is_output = false;
  size_t index = 0;  // among the inputs or the outputs
  Md desc;
  float (*converted)(float) = nullptr;  // the primitive reads what this makes of each element of a dense f32 input
};

// Memory of a primitive by DNNL_ARG_*.
using Arguments = std::unordered_map<int, dnnl::memory>;

struct Problem {
  double multiply_adds = 0;  // per execution
  Descriptor descriptor;     // at the library's first implementation
  std::vector<Operand> operands;
  std::optional<Operand> preload;  // an input that is copied into the output first, for a sum post-op
  std::function<bool(const std::string& implementation)> keeps_promise;  // none: all do
  // Arguments that are no operands, with what fills them before the primitive and what is made of them behind it.
  std::vector<std::pair<int, Md>> lent;
  using Tensors = std::span<std::byte* const>;
  using Step = std::function<void(const Arguments& arguments, Tensors inputs, Tensors outputs)>;
  Step begin, finish;
  std::string suffix;        // behind the library's name of an implementation
  bool own_layouts = false;  // operands are reordered into and out of the layouts that the descriptor chose
};

// The problems that are not Unsupported; throws Unsupported with the reason of the first where there is none.
std::vector<Problem> KeepOffered(std::initializer_list<std::function<Problem()>> makers);

// How the operands get into the layouts that the descriptor, as it is now, works on.
enum class Placement { kAsGiven, kReordered, kImpossible };
Placement PlacementOf(const Problem& problem, const dnnl::engine& engine);

// Scratchpad from the caller, arithmetic not relaxed below the operands' types.
dnnl::primitive_attr StrictAttributes();

// Memory of the plugin's own that a kernel works on, each between canaries.
class Loans {
 public:
  Loans(const dnnl::engine& engine, const std::string& kernel);
  dnnl::memory Lend(const Md& desc, const std::string& what);
  void Check() const;
  uint64_t Bytes() const;  // of all that was lent

 private:
  dnnl::engine engine_;
  std::string borrower_;
  std::vector<plugin::GuardedMemory> memories_;
};

class PrimitivePlan : public plugin::HostPlan {
 public:
  PrimitivePlan(const Problem& problem, const std::string& implementation, const dnnl::engine& engine);
  void CheckLoans() override { loans_.Check(); }
  plugin::PlanInfo Info() const override { return {loans_.Bytes(), algorithm_, ""}; }

 protected:
  void Run(Pointers inputs, Pointers outputs) override;

 private:
  struct Bound {
    dnnl::memory memory;
    bool is_output;
    size_t index;
  };
  static void Attach(Bound& bound, Pointers inputs, Pointers outputs);
  void Reorder(const Operand& operand, const Md& chosen);

  const std::string algorithm_;  // as the library calls it
  Loans loans_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<Bound> bound_;
  Arguments arguments_;  // share their handles with bound_
  Problem::Step begin_, finish_;
  std::optional<dnnl::reorder> preload_;
  std::vector<Bound> preload_bound_;  // source, destination

  struct Copy {
    dnnl::reorder reorder;
    dnnl::memory from, to;
  };
  std::vector<Copy> before_, after_;

  struct Conversion {
    float (*converted)(float);
    dnnl::memory from, to;
  };
  std::vector<Conversion> conversions_;
};

}  // namespace onednn
