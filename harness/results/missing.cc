// SPDX-License-Identifier: Apache-2.0
#include "harness/results/missing.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/base/json_text.h"
#include "harness/results/record_case.h"

namespace assay {
namespace {

using OfferJson = nlohmann::ordered_json;

// Backend, device, implementation. Devices of one name share a place, so places are counted.
using Place = std::tuple<std::string, std::string, std::string>;
using PlaceCounts = std::map<Place, int64_t>;

struct CaseCounts {
  PlaceCounts recorded;
  std::vector<const Offer*> offers;
  bool ran_nowhere = false;
};

std::map<std::string, CaseCounts> CountByCase(const std::vector<Offer>& offers, const std::vector<Record>& records) {
  std::map<std::string, CaseCounts> cases;
  for (const Offer& offer : offers) cases[offer.case_id].offers.push_back(&offer);
  for (const Record& r : records) {
    CaseCounts& counts = cases[r.case_id];
    ++counts.recorded[{r.backend, PlannedDevice(r), r.implementation}];
    counts.ran_nowhere = counts.ran_nowhere || r.backend == kHarnessBackend;
  }
  return cases;
}

// How many records each place should have: a device that made no offer has one, which says why.
PlaceCounts Planned(const std::vector<PlanDevice>& devices, int shard, const CaseCounts& counts) {
  PlaceCounts planned;
  for (const PlanDevice& device : devices) {
    if (device.shard < 0 || device.shard == shard) ++planned[{device.backend, device.device, ""}];
  }
  for (const Offer* offer : counts.offers) {
    --planned[{offer->backend, offer->device, ""}];
    for (const std::string& name : offer->implementations) ++planned[{offer->backend, offer->device, name}];
  }
  return planned;
}

Record MissingRecord(const Plan& plan, const PlanEntry& entry, const Place& place) {
  Record r;
  r.case_id = entry.id;
  if (const auto spec = ParseId(entry.id)) SetCase(r, *spec);
  std::tie(r.backend, r.device, r.implementation) = place;
  r.required_contract = entry.requirement;
  r.plan_hash = plan.hash;
  r.tags = fmt::format("{}", fmt::join(entry.tags, ","));
  r.source = entry.source;
  SetVerdict(r, Verdict::kMissing, ResultClass::kNone,
             "planned, but there is no record: the run was interrupted, killed or stopped at its first "
             "failures, or has not ended yet");
  return r;
}

Result<Offer> OfferFromLine(const std::string& line) try {
  const OfferJson json = ParseOrderedJson(line);
  return Offer{json.at("case_id"), json.at("backend"), json.at("device"),
               json.at("implementations").get<std::vector<std::string>>()};
} catch (const OfferJson::exception&) {
  return Fail(ErrorCode::kIo,
              "not a line that assay wrote: the file was changed or damaged. Without it missing results are named per "
              "case and device; take it from a copy to have them named per implementation");
}

}  // namespace

std::string ToJsonLine(const Offer& offer) {
  const OfferJson json = {{"case_id", offer.case_id},
                          {"backend", offer.backend},
                          {"device", offer.device},
                          {"implementations", offer.implementations}};
  return DumpJson(json);
}

// The n-th record of one implementation, case and device name is of the n-th device of that name.
std::vector<Offer> OffersIn(const std::vector<Record>& records) {
  std::map<std::pair<std::string, Place>, int64_t> seen;
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, Offer> offers;
  for (const Record& r : records) {
    if (r.implementation.empty()) continue;
    const std::string& device = PlannedDevice(r);
    const int64_t ordinal = seen[{r.case_id, {r.backend, device, r.implementation}}]++;
    Offer& offer = offers[{r.case_id, r.backend, device, ordinal}];
    offer.case_id = r.case_id, offer.backend = r.backend, offer.device = device;
    offer.implementations.push_back(r.implementation);
  }
  std::vector<Offer> out;
  for (auto& [key, offer] : offers) out.push_back(std::move(offer));
  return out;
}

Result<std::vector<Offer>> ReadOffers(const std::filesystem::path& jsonl, const std::vector<Record>& records) {
  std::ifstream file(jsonl);
  if (!file) return OffersIn(records);
  std::vector<Offer> offers;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto offer = OfferFromLine(line);
    if (!offer && file.eof()) break;
    if (!offer) return Fail(ErrorCode::kIo, fmt::format("{}:{}: {}", jsonl.string(), number, offer.error().message));
    offers.push_back(std::move(*offer));
  }
  if (file.bad()) return Fail(ErrorCode::kIo, fmt::format("{}: cannot be read to its end", jsonl.string()));
  return offers;
}

std::vector<Record> MakeMissingRecords(const Plan& plan, const std::vector<Offer>& offers,
                                       const std::vector<Record>& records) {
  const std::map<std::string, CaseCounts> cases = CountByCase(offers, records);
  const CaseCounts none;
  std::vector<Record> missing;
  for (const PlanEntry& entry : plan.entries) {
    if (!InShard(entry, plan.shard)) continue;
    const auto it = cases.find(entry.id);
    const CaseCounts& counts = it == cases.end() ? none : it->second;
    if (counts.ran_nowhere) continue;
    for (const auto& [place, planned] : Planned(plan.devices, entry.shard, counts)) {
      const auto recorded = counts.recorded.find(place);
      const int64_t have = recorded == counts.recorded.end() ? 0 : recorded->second;
      for (int64_t n = have; n < planned; ++n) missing.push_back(MissingRecord(plan, entry, place));
    }
  }
  return missing;
}

}  // namespace assay
