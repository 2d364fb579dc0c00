// SPDX-License-Identifier: Apache-2.0
#include "reports/glossary.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array<GlossaryTerm, 20> kTerms = {{
    {"case", "One operator with its types, shape, attributes, input data and seed. Its id says all of that."},
    {"backend", "A plugin that runs operators on a device, for example with a library such as oneDNN."},
    {"implementation", "One algorithm that a backend offers for an operator. Each is run and judged on its own."},
    {"golden value",
     "The result in high precision, with a proven limit of its own error. Outputs are compared with it."},
    {"contract",
     "The arithmetic that an implementation declares: how it rounds its inputs, what it sums in, what it rounds in "
     "between. A case requires a contract; whoever declares less is below it."},
    {"channel", "One kind of check. Each has a margin and decides on its own; any one of them can fail a result."},
    {"margin", "How much of what a channel permits was used: 1 is the limit, above 1 the channel fails."},
    {"bound",
     "Channel: the largest error, without what rounding the output explains, divided by what theory permits the sums "
     "of "
     "that element under the contract. It is computed for each element and fitted to no device."},
    {"exact", "Channel: the results of exact twins, where not one bit may differ."},
    {"twin",
     "Integer data of the same shape on which every legal order of summation gives the same bits, so that a single "
     "lost "
     "term shows. An exact twin runs inside of its case."},
    {"statistic",
     "Channel: the errors against those of random roundings; it sees errors that are small but systematic."},
    {"exceptional", "Channel: NaN and infinities have to be where they belong, and nowhere else."},
    {"metamorphic", "Channel: the relations that the contract claims."},
    {"relation",
     "What must hold between two executions: the same row alone or in a batch, negated inputs, permuted columns."},
    {"class",
     "How well a result holds: bit_exact, within_class, within_lower_class, or suspect. The verdict says whether it "
     "passes."},
    {"suspect",
     "Every value is within its bound, but the errors do not look like roundings of the contract. It passes unless "
     "--strict is given, and its times do not count."},
    {"mutation power",
     "The share of planted faults that the checks of a case would notice. Below 99 % the case is inconclusive: it "
     "could "
     "not have caught a fault."},
    {"tier",
     "How the golden value was made: fast (double precision, certified) or reproducible (the same bits everywhere)."},
    {"known failure",
     "A failure that a line of an expectation file explains. It does not fail the run; when it starts to pass, that "
     "does."},
    {"roofline", "What the bandwidth and compute rate of a device, measured or stated, permit for a case."},
}};

}  // namespace

std::span<const GlossaryTerm> Glossary() {
  return kTerms;
}

std::string_view DefinitionOf(std::string_view name) {
  const auto at = std::ranges::find(kTerms, name, &GlossaryTerm::name);
  return at == kTerms.end() ? std::string_view() : at->definition;
}

}  // namespace assay
