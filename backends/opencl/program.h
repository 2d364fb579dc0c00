// SPDX-License-Identifier: Apache-2.0
// Kernel programs: source files of kernels/ joined, specialised by -D options, compiled by the device's driver.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/dtype.h"
#include "backends/opencl/handle.h"
#include "backends/opencl/traits.h"

namespace opencl {

// The text of a file of kernels/. Throws plugin::Failure for an unknown name.
const char* SourceText(std::string_view file);

// Compiler options, which distinguish a program from others of the same source.
class Options {
 public:
  Options& Type(const char* macro, plugin::DType dtype);  // -DA=bf16; elements.cl knows the name
  Options& Define(const char* macro, int64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The accumulator that `options` names by ACC.
enum class Accumulator { kF32, kF64, kI32 };

struct ProgramSpec {
  std::vector<const char*> files;  // behind elements.cl, in this order
  Accumulator acc = Accumulator::kF32;
  Options options;
  const char* text = "";  // between the first file and the others; lives as long as the plugin
};

// Compiles each program once per device.
class ProgramCache {
 public:
  ProgramCache(cl_context context, const Traits& traits) : context_(context), traits_(traits) {}
  // Throws plugin::Failure with the first lines of the build log.
  Handle<cl_kernel> Kernel(const ProgramSpec& spec, const char* kernel);

 private:
  cl_program Get(const ProgramSpec& spec);

  cl_context context_;
  const Traits& traits_;
  std::map<std::string, Handle<cl_program>> programs_;
};

}  // namespace opencl
