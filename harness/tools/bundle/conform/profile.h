// SPDX-License-Identifier: Apache-2.0
// A profile of conformance: which cases there are, which of them have to hold, and what a session proves of itself.
// Profiles are files of ops/profiles, and a version that is no draft never changes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/case_spec.h"

namespace assay {

// An implementation of the corpus: "matmul:fault.last-k-dropped-in-one-element".
struct ControlKernel {
  std::string op, implementation;
  std::string Text() const { return op + ":" + implementation; }
  auto operator<=>(const ControlKernel&) const = default;
};

struct Profile {
  std::string name;                            // "conformance-1.0"; of one that is not shipped also its hash
  std::filesystem::path cases, control_cases;  // suites
  std::vector<std::string> mandatory;          // features
  std::vector<std::string> apart;  // attributes ("softcap", "kind=argmax") whose cases are features of their own
  std::vector<ControlKernel> sound, faulty;  // of the negative control
  std::string sha256;                        // over the profile's file and its suites
  bool is_shipped = false;
  bool is_draft = false;  // its cases still change, as the sentence says

  std::string Title() const { return is_draft ? name + " (draft)" : name; }
};

// The names of the shipped profiles, sorted.
std::vector<std::string> ListShippedProfiles();

// `name`: of a shipped profile, or the path of a .toml file. Errors: there is none, or file, line and what is wrong.
Result<Profile> LoadProfile(const std::string& name);

// The feature that a case tests: operator and type ("matmul/f32"). Of several types the hardest to support counts: f64
// (and c128), 8-bit floats as "fp8", f16, bf16, integers as "i8"; c64 counts as f32. Attributes that the profile sets
// apart are appended: "reduce/f32+kind=argmax".
std::string FeatureOf(const CaseSpec& spec, const std::vector<std::string>& apart);

}  // namespace assay
