// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "harness/core/base/glob.h"
#include "harness/core/base/text.h"

namespace assay {
namespace {

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// f32-f32-f32 is f32: ids write a list of equal dtypes as one.
std::string_view ShortList(std::string_view text) {
  const std::vector<std::string_view> names = Split(text, '-');
  const bool same = std::ranges::all_of(names, [&](std::string_view name) { return name == names[0]; });
  return same ? names[0] : text;
}

Status CheckNames(const SelectionOptions& options, const OpCatalog& ops) {
  for (const std::string& op : options.ops) {
    if (Status known = CheckOperator(op, ops); !known) return known;
  }
  return CheckDTypes(options.dtypes);
}

std::string NoMatch(size_t cases, const SelectionOptions& options) {
  std::string asked;
  const auto add = [&](std::string_view option, const std::string& value) {
    asked += fmt::format(" {} '{}'", option, value);
  };
  if (options.filter != "*") add("--filter", options.filter);
  if (!options.ops.empty()) add("--op", fmt::format("{}", fmt::join(options.ops, ",")));
  if (!options.dtypes.empty()) add("--dtype", fmt::format("{}", fmt::join(options.dtypes, ",")));
  const std::string of = options.origin.empty() ? "" : " of " + options.origin;
  const std::string which = cases == 1 ? "the only case" : fmt::format("none of the {} cases", cases);
  return fmt::format("{}{} {}{}; assay list cases shows what there is", which, of,
                     cases == 1 ? "does not match" : "matches", asked);
}

// A case that is planned again (--case repeated, seeds that --seed made equal) runs once, with the tags of both.
Status Merge(const PlannedCase& again, PlannedCase& known) {
  if (RequirementOf(again) != RequirementOf(known)) {
    return UsageError(fmt::format("{} is planned twice, with the contracts '{}' ({}) and '{}' ({}); give --contract",
                                  known.spec.Id(), RequirementOf(known), known.where, RequirementOf(again),
                                  again.where));
  }
  for (const std::string& tag : again.tags) AddTag(tag, known.tags);
  return {};
}

// Leaves of the suite what was asked for, each case once.
Status KeepSelected(const SelectionOptions& options, std::vector<PlannedCase>& suite) {
  std::unordered_map<std::string, size_t> place;  // of an id among those that stay
  for (PlannedCase& planned : suite) {
    std::string id = planned.spec.Id();
    if (!options.ops.empty() && !Contains(options.ops, planned.spec.op)) continue;
    if (!SelectsDTypes(options.dtypes, planned.spec.dtypes) || !MatchesFilter(options.filter, id)) continue;
    const size_t next = place.size();
    const auto [known, is_new] = place.try_emplace(std::move(id), next);
    if (!is_new) {
      if (Status merged = Merge(planned, suite[known->second]); !merged) return merged;
    } else if (&planned != &suite[next]) {
      suite[next] = std::move(planned);
    }
  }
  suite.resize(place.size());
  return {};
}

void Divide(const Shard& shard, std::vector<PlannedCase> all, Selection& selection) {
  if (shard.count == 1) {  // a million of them stay in their place
    selection.is_own.assign(all.size(), true);
    selection.cases = std::move(all);
    return;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const bool own = InShard(all[i].spec.Id(), shard);
    selection.Add(std::move(all[i]), own);
  }
}

}  // namespace

bool MatchesFilter(std::string_view filter, std::string_view id) {
  bool excluding = false, has_included = false, included = false;
  for (std::string_view glob : Split(filter, ':')) {
    if (glob.starts_with('-')) {
      excluding = true;
      glob.remove_prefix(1);
    }
    if (excluding) {
      if (MatchesGlob(glob, id)) return false;
    } else {
      has_included = true;
      included = included || MatchesGlob(glob, id);
    }
  }
  return included || !has_included;
}

bool SelectsDTypes(const std::vector<std::string>& wanted, const std::vector<DType>& dtypes) {
  const std::string list = DTypeListText(dtypes);
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& text) {
           const std::string_view one = ShortList(text);
           return one == list || std::ranges::any_of(dtypes, [&](DType dtype) { return Name(dtype) == one; });
         });
}

Status CheckDTypes(const std::vector<std::string>& wanted) {
  for (const std::string& dtype : wanted) {
    if (const auto list = ParseDTypeList(dtype); !list) {
      return UsageError(fmt::format("--dtype {}: {}", dtype, list.error().message));
    }
  }
  return {};
}

Status CheckOperator(const std::string& name, const OpCatalog& ops) {
  if (ops.find(name) != nullptr) return {};
  return UsageError(fmt::format("--op {}: unknown operator; {}", name, KnownOperators(name, ops)));
}

void Selection::Add(PlannedCase planned, bool own) {
  (own ? cases : others).push_back(std::move(planned));
  is_own.push_back(own);
}

void Selection::ForEach(const std::function<void(const PlannedCase&)>& look) const {
  auto own = cases.begin(), other = others.begin();
  for (const bool is : is_own) look(is ? *own++ : *other++);
}

Result<Selection> Select(std::vector<PlannedCase> suite, const SelectionOptions& options, const OpCatalog& ops) {
  if (Status status = CheckNames(options, ops); !status) return tl::unexpected(status.error());
  const size_t count = suite.size();
  if (auto kept = KeepSelected(options, suite); !kept) return tl::unexpected(kept.error());
  Selection selection;
  const size_t selected = suite.size();
  Divide(options.shard, std::move(suite), selection);
  if (selected == 0) {
    selection.empty = EmptyReason::kNoMatch;
    selection.empty_message =
        count == 0 ? fmt::format("there is no case{}: give it a line such as matmul dtypes=f32 m=64 n=64 k=64",
                                 options.origin.empty() ? "" : " in " + options.origin)
                   : NoMatch(count, options);
  } else if (selection.cases.empty()) {
    selection.empty = EmptyReason::kShardOnly;
    selection.empty_message = EmptyShardText(options.shard, selected);
  }
  return selection;
}

std::string EmptyShardText(const Shard& shard, size_t selected) {
  return fmt::format("shard {}/{} holds none of the {} selected cases", shard.index, shard.count, selected);
}

}  // namespace assay
