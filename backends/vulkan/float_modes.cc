// SPDX-License-Identifier: Apache-2.0
// Numbers from the SPIR-V specification, sections 2.3 (layout of a module) and 3.
#include "backends/vulkan/float_modes.h"

#include <cstring>
#include <string_view>

namespace vulkan {
namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpExtension = 10, kOpEntryPoint = 15, kOpExecutionMode = 16, kOpCapability = 17;

struct Mode {
  bool wanted;
  uint32_t capability, mode;
};

uint32_t Instruction(uint32_t opcode, uint32_t words) {
  return words << 16 | opcode;
}

void AppendExtension(std::vector<uint32_t>& out) {
  constexpr std::string_view kName = "SPV_KHR_float_controls";
  const uint32_t words = static_cast<uint32_t>(kName.size() / 4 + 1);  // terminated by zeros
  out.push_back(Instruction(kOpExtension, 1 + words));
  const size_t at = out.size();
  out.resize(at + words, 0);
  std::memcpy(out.data() + at, kName.data(), kName.size());
}

}  // namespace

std::vector<uint32_t> WithFloatModes(std::span<const uint32_t> code, const FloatControls& controls, uint32_t bits) {
  const Mode modes[] = {{controls.keep_subnormals, 4464, 4459},
                        {controls.keep_special, 4466, 4461},
                        {controls.round_to_nearest, 4467, 4462}};
  if (!controls.keep_subnormals && !controls.keep_special && !controls.round_to_nearest) {
    return {code.begin(), code.end()};  // the device may lack the extension
  }
  std::vector<uint32_t> out(code.begin(), code.begin() + kHeaderWords);
  bool capabilities_done = false;
  for (size_t at = kHeaderWords; at < code.size();) {
    const uint32_t opcode = code[at] & 0xFFFF, words = code[at] >> 16;
    if (words == 0 || at + words > code.size()) throw plugin::Failure("a built-in shader is not SPIR-V");
    if (opcode != kOpCapability && !capabilities_done) {
      capabilities_done = true;
      for (const Mode& mode : modes) {
        if (mode.wanted) out.insert(out.end(), {Instruction(kOpCapability, 2), mode.capability});
      }
      AppendExtension(out);
    }
    out.insert(out.end(), code.begin() + static_cast<std::ptrdiff_t>(at),
               code.begin() + static_cast<std::ptrdiff_t>(at + words));
    if (opcode == kOpEntryPoint) {
      for (const Mode& mode : modes) {
        if (mode.wanted) out.insert(out.end(), {Instruction(kOpExecutionMode, 4), code[at + 2], mode.mode, bits});
      }
    }
    at += words;
  }
  return out;
}

}  // namespace vulkan
