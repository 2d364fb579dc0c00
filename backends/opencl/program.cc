// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/program.h"

#include <algorithm>

#include "backends/common/status.h"
#include "backends/opencl/pocl_cache.h"

namespace opencl {
namespace {

const char* AccName(Accumulator acc) {
  return acc == Accumulator::kF64 ? "double" : acc == Accumulator::kI32 ? "int" : "float";
}

std::string CommonOptions(const Traits& traits, Accumulator acc) {
  const bool wide = acc == Accumulator::kF64;
  std::string text = fmt::format("-cl-std=CL1.2 -DACC={} -DACC_{}=1", AccName(acc), AccName(acc));
  if (traits.RoundsDivideAndSqrt()) text += std::string(" ") + kRoundedDivideOption;
  if (acc != Accumulator::kI32 && traits.HasFma(wide)) text += " -DUSE_FMA=1";
  return text;
}

// The first lines of what the compiler said.
std::string BuildLog(cl_program program, cl_device_id device) {
  constexpr int kLines = 6;
  size_t bytes = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  log.resize(std::min(log.find('\0'), log.size()));
  size_t end = 0;
  for (int line = 0; line < kLines && end != std::string::npos; ++line) end = log.find('\n', end + 1);
  log.resize(std::min(end, log.size()));
  return log.empty() ? "the driver gives no log" : log;
}

}  // namespace

Options& Options::Type(const char* macro, plugin::DType dtype) {
  text_ += fmt::format(" -D{}={}", macro, plugin::Name(dtype));
  return *this;
}

Options& Options::Define(const char* macro, int64_t value) {
  text_ += fmt::format(" -D{}={}", macro, value);
  return *this;
}

cl_program ProgramCache::Get(const ProgramSpec& spec) {
  const std::string options = CommonOptions(traits_, spec.acc) + spec.options.text();
  std::vector<const char*> texts{SourceText("elements.cl")};
  std::string key = options;
  for (const char* file : spec.files) {
    texts.push_back(SourceText(file)), key += std::string(" ") + file;
    if (file == spec.files.front()) texts.push_back(spec.text);
  }
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second.get();

  cl_int status = CL_SUCCESS;
  Handle<cl_program> program(
      clCreateProgramWithSource(context_, static_cast<cl_uint>(texts.size()), texts.data(), nullptr, &status));
  Check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program.get(), 1, &traits_.id, options.c_str(), nullptr, nullptr);
  if (status == CL_BUILD_PROGRAM_FAILURE) {
    const std::string problem = traits_.platform_name == kPoclPlatform ? PoclCacheProblem() : "";
    if (!problem.empty()) {
      throw plugin::Failure("{} (driver {}) cannot compile: {}", traits_.name, traits_.driver, problem);
    }
    throw plugin::Failure("{} (driver {}) does not compile {} with '{}': {}", traits_.name, traits_.driver,
                          spec.files.back(), options, BuildLog(program.get(), traits_.id));
  }
  Check(status, "clBuildProgram");
  return (programs_[key] = std::move(program)).get();
}

Handle<cl_kernel> ProgramCache::Kernel(const ProgramSpec& spec, const char* kernel) {
  cl_int status = CL_SUCCESS;
  Handle<cl_kernel> handle(clCreateKernel(Get(spec), kernel, &status));
  Check(status, "clCreateKernel");
  return handle;
}

}  // namespace opencl
