// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "harness/core/base/text.h"

namespace assay {
namespace {

tl::unexpected<Error> Damaged(const std::string& what) {
  return Fail(ErrorCode::kIo, "the .npy header is damaged: " + what);
}

// Reads the few Python literals that a header is made of, from front to back.
class Literals {
 public:
  explicit Literals(std::string_view text) : rest_(text) {}

  bool Take(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  // 'text' or "text", without escapes: no type name has any.
  std::optional<std::string> String() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (text.find('\\') != std::string_view::npos) return std::nullopt;
    return std::string(text);
  }

  std::optional<int64_t> Extent() {
    SkipSpace();
    const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto value = ParseNumber<int64_t>(rest_.substr(0, end));
    rest_.remove_prefix(end);
    Take("L");  // Python 2 wrote long integers like this
    return value;
  }

  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }

 private:
  void SkipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  std::string_view rest_;
};

Result<Shape> ParseShape(Literals& in) {
  Shape shape;
  int64_t count = 1;
  if (!in.Take("(")) return Damaged("'shape' is not a tuple such as (3, 4)");
  while (!in.Take(")")) {
    const auto extent = in.Extent();
    if (!extent) return Damaged("'shape' has an extent that is not an integer from 0 to 2^63 - 1");
    shape.push_back(*extent);
    if (shape.size() > kNpyMaxRank) return Damaged(fmt::format("'shape' has more than {} axes", kNpyMaxRank));
    if (__builtin_mul_overflow(count, std::max<int64_t>(1, *extent), &count)) {
      return Damaged("'shape' has more than 2^63 elements");
    }
    const bool comma = in.Take(",");
    if (!comma && shape.size() == 1) return Damaged("'shape' is a number, not a tuple such as (3,)");
    if (comma) continue;
    if (in.Take(")")) break;
    return Damaged("'shape' has neither ',' nor ')' after an extent");
  }
  return shape;
}

Status ParseValue(const std::string& key, Literals& in, NpyHeader& header) {
  if (key == "shape") {
    auto shape = ParseShape(in);
    if (!shape) return tl::unexpected(shape.error());
    header.shape = *std::move(shape);
  } else if (key == "fortran_order") {
    header.fortran_order = in.Take("True");
    if (!header.fortran_order && !in.Take("False")) return Damaged("'fortran_order' is neither True nor False");
  } else if (key == "descr") {
    if (in.Take("[")) return Fail(ErrorCode::kIo, "structured arrays are not supported: save one array per field");
    auto text = in.String();
    if (!text) return Damaged("'descr' is not a type name such as '<f4'");
    header.descr = *std::move(text);
  } else {
    return Damaged(fmt::format("unknown key '{}'; it has descr, fortran_order and shape", key));
  }
  return {};
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(std::string_view text) {
  Literals in(text);
  NpyHeader header;
  std::set<std::string> seen;
  if (!in.Take("{")) return Damaged("it does not start with '{'");
  while (!in.Take("}")) {
    const auto key = in.String();
    if (!key || !in.Take(":")) return Damaged("a key is not of the form 'name':");
    if (!seen.insert(*key).second) return Damaged(fmt::format("key '{}' stands there twice", *key));
    if (Status status = ParseValue(*key, in, header); !status) return tl::unexpected(status.error());
    if (in.Take(",")) continue;
    if (in.Take("}")) break;
    return Damaged(fmt::format("neither ',' nor '}}' after '{}'", *key));
  }
  if (!in.AtEnd()) return Damaged("something follows the closing '}'");
  if (seen.size() != 3) return Damaged("it needs descr, fortran_order and shape");
  return header;
}

std::string NpyHeaderText(const NpyHeader& header) {
  std::string shape;
  for (int64_t extent : header.shape) shape += fmt::format("{}, ", extent);
  if (header.shape.size() > 1) shape.resize(shape.size() - 2);
  if (header.shape.size() == 1) shape.pop_back();  // (3,)
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", header.descr,
                     header.fortran_order ? "True" : "False", shape);
}

}  // namespace assay
