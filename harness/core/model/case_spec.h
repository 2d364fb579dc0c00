// SPDX-License-Identifier: Apache-2.0
// A test case and its id: a pure, stable, readable function of the case.
//   op/dtypes/key=value,key=value/fill=NAME/seed=N
//   attention/bf16/b=1,h=32,hkv=8,l=1,s=4096,d=128,causal=1/fill=normal/seed=0
// Keys stand in the operator's declared order; a key at its default is left out, so that an operator can grow new
// keys without any id changing. With no key left the middle part is "-".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/dtype.h"

namespace assay {

enum class AttrType : uint8_t {
  kInt,    // 4096
  kFloat,  // 0.125, 1e-3
  kName,   // one of `choices`
  kDims,   // 3x224x224 (also a single number); against a single-number default, 1x1x1 counts as 1
  kAxes,   // 1+2 (also a single number; negative counts from the end)
};

struct AttrDef {
  std::string key;
  AttrType type = AttrType::kInt;
  // "": required. "=other": the value of another key. Anything else: the literal default, or a word like "auto" that
  // the operator resolves and that may also be written out.
  std::string default_value;
  std::string doc;
  std::vector<std::string> choices = {};  // of kName; of kInt, where there are few: 0 and 1 of a flag
  // kDims: the key whose list has as many entries. One number stands for all of them, and is how equal entries are
  // written where the key has a default; a required key is written out.
  std::string axes_of = {};
  // kInt, kAxes: the key of the shape whose axes are counted; negative ones from its end. Written counted from the
  // front, lists in ascending order.
  std::string axes_in = {};
};

// How a tensor lies in memory, for people: axis names in row-major order, attribute keys where an axis is one.
struct OperandDoc {
  std::string name;
  std::string layout;    // "[...,m,k]"
  std::string doc = {};  // when it is there, what changes its layout
  // Axes of extent 1 and absent leading axes stand for repetition in a tensor that a user brings, as in NumPy.
  bool broadcasts = false;
};

// Description of an operator for the id, the suite parser and the command line.
struct OpSchema {
  std::string op;
  std::string doc;
  std::vector<AttrDef> attrs;             // in declared order
  std::vector<std::string> operands;      // those whose types a dtype list gives, outputs behind inputs: {"a","b","y"}
  std::vector<std::string> outputs = {};  // names, optional ones included: {"y"}
  std::vector<OperandDoc> layouts = {};   // every input, optional ones included, then every output
  std::string may_lack = {};              // one of `operands`: absent where a dtype list is one type shorter
  const AttrDef* Find(std::string_view key) const;
  // The inputs that every case has, which come first.
  std::vector<std::string> FindNeededInputs() const;
  // Whether the case of this list is one without `may_lack`.
  bool Lacks(const std::vector<DType>& dtypes) const;
};

using AttrList = std::vector<std::pair<std::string, std::string>>;  // keys and values as text

struct CaseSpec {
  std::string op;
  std::vector<DType> dtypes;    // one when all operands share it, else one per OpSchema::operands (see may_lack)
  AttrList attrs;               // canonical text, declared order, defaults left out
  std::string fill = "normal";  // "uniform", "cancel-1e6", ...
  uint64_t seed = 0;

  std::string Id() const;
  std::string IdHash() const;  // xxh3-64 of the id, 16 hex digits: names folders
  bool operator==(const CaseSpec&) const = default;
};

// One attribute value in its canonical text (07 -> 7, 1e-3 -> 0.001). The error says what the key accepts.
Result<std::string> CanonicalValue(const AttrDef& def, std::string_view text);

// One dtype when all are equal, else one per operand, that of OpSchema::may_lack perhaps left out; any other number is
// an error that names the operands.
Result<std::vector<DType>> CanonicalDTypes(std::vector<DType> dtypes, const OpSchema& schema);

// Checks keys, types, choices and the fill's name, orders the keys, drops defaults, normalises numbers, the fill's
// included, and lists of equal entries (dtypes, AttrDef::axes_of). Errors name the operator, the key and what it
// accepts.
Result<CaseSpec> Canonicalise(CaseSpec spec, const OpSchema& schema);

// The grammar alone; the caller canonicalises. Errors name the part of the id.
Result<CaseSpec> ParseId(std::string_view id);

// "f32" or "bf16-bf16-f32".
Result<std::vector<DType>> ParseDTypeList(std::string_view text);
std::string DTypeListText(const std::vector<DType>& dtypes);

// Typed access to a canonical spec's attributes with defaults resolved; keeps references to both arguments.
// Preconditions: the key is in the schema and its value has the asked type (ask Text first where the default is a
// word); the spec is canonical. A breach aborts.
class AttrReader {
 public:
  AttrReader(const CaseSpec& spec, const OpSchema& schema) : spec_(&spec), schema_(&schema) {}
  std::string Text(std::string_view key) const;  // "" for a required key that is absent
  int64_t Int(std::string_view key) const;
  double Float(std::string_view key) const;
  std::vector<int64_t> List(std::string_view key) const;  // kDims or kAxes

 private:
  const CaseSpec* spec_;
  const OpSchema* schema_;
};

}  // namespace assay
