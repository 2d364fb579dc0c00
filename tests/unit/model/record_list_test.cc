// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/record_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <type_traits>

namespace assay {
namespace {

using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls f(key, member) for every field, those of outputs included.
template <class R, class F>
void VisitAll(R& record, F&& f) {
  VisitFields(record, [&](const char* key, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<OutputRecord>>) {
      for (auto& output : value) VisitOutputFields(output, f);
    } else {
      f(key, value);
    }
  });
}

// Each field with its value to the last bit.
struct Bits {
  std::vector<std::string> lines;
  void operator()(const char* key, const std::string& value) { lines.push_back(std::string(key) + " '" + value + "'"); }
  void operator()(const char* key, double value) { (*this)(key, std::bit_cast<uint64_t>(value)); }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    value ? (*this)(key, *value) : lines.push_back(std::string(key) + " absent");
  }
  template <class T>
  void operator()(const char* key, const T& value) {
    lines.push_back(std::string(key) + " " + std::to_string(value));
  }
};

std::vector<std::string> BitsOf(const Record& record) {
  Bits bits;
  VisitAll(record, bits);
  bits.lines.push_back("outputs " + std::to_string(record.outputs.size()));
  return std::move(bits.lines);
}

// Gives each field a value of its own, among them the ones that are hard to keep.
struct Filler {
  int number;
  void operator()(const char* key, std::string& value) {
    const std::string own = key + std::to_string(++number);
    const std::string values[] = {own,
                                  "",
                                  own + " matmul/id --backend cpu",
                                  std::string("\0\x01\x02", 3) + own,
                                  std::string(5000, 'x') + own,
                                  "matmul/id",
                                  "\x01"};
    value = values[static_cast<size_t>(number) % std::size(values)];
  }
  void operator()(const char*, double& value) {
    const double values[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0, 5e-324, 0.1};
    value = values[static_cast<size_t>(++number) % std::size(values)];
  }
  void operator()(const char*, int64_t& value) {
    const int64_t values[] = {0,   -1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                              127, 128};
    value = values[static_cast<size_t>(++number) % std::size(values)];
  }
  void operator()(const char*, uint64_t& value) { value = ~uint64_t{0}; }
  void operator()(const char*, bool& value) { value = ++number % 2 == 0; }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (++number % 5 == 0) return value.reset();
    (*this)(key, value.emplace());
  }
};

Record Filled(int number) {
  Record record;
  record.outputs.resize(static_cast<size_t>(number % 3));
  Filler filler{number};
  VisitAll(record, filler);
  record.case_id = number % 2 == 0 ? "matmul/id" : "";
  return record;
}

Record Named(const std::string& id) {
  Record record;
  record.case_id = id;
  return record;
}

std::vector<std::string> Ids(const RecordView& records) {
  std::vector<std::string> ids;
  for (const Record& record : records) ids.push_back(record.case_id);
  return ids;
}

TEST(RecordList, KeepsEveryFieldToTheLastBitAndNothingOfTheRecordBefore) {
  RecordList list;
  for (int i = 0; i < 60; ++i) list.push_back(i % 4 == 3 ? Record() : Filled(i));
  ASSERT_EQ(list.size(), 60U);
  int i = 0;
  for (const Record& record : list) {  // all are read into one
    EXPECT_EQ(BitsOf(record), BitsOf(i % 4 == 3 ? Record() : Filled(i))) << i;
    EXPECT_EQ(BitsOf(list[static_cast<size_t>(i)]), BitsOf(record));
    ++i;
  }
}

// A field that VisitFields leaves out would be lost by the file and by the list.
TEST(RecordList, AllFieldsAreVisited) {
  const Record record;
  std::vector<std::pair<const char*, size_t>> members;
  const auto note = [&members](const char*, const auto& member) {
    members.emplace_back(reinterpret_cast<const char*>(&member), sizeof member);
  };
  const auto check = [&members](const auto& whole) {
    const char* behind = reinterpret_cast<const char*>(&whole);
    const char* const end = behind + sizeof whole;
    std::ranges::sort(members);
    members.emplace_back(end, 0);
    for (const auto& [at, size] : members) {
      EXPECT_LT(at - behind, 8) << "a field before byte " << at - (end - sizeof whole) << " has no line";
      behind = at + size;
    }
    members.clear();
  };
  VisitFields(record, note);
  check(record);
  const OutputRecord output;
  VisitOutputFields(output, note);
  check(output);
}

TEST(RecordList, KeepsMoreTextsThanItNumbers) {
  RecordList list;
  for (int i = 0; i < 3000; ++i) {
    Record record = Named("case " + std::to_string(i));
    record.reproduce = "assay run --case " + record.case_id + " --backend cpu";
    record.reason = i % 2 == 0 ? "the same" : std::to_string(i);
    list.push_back(record);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const Record record = list[i];
    ASSERT_EQ(record.case_id, "case " + std::to_string(i));
    ASSERT_EQ(record.reproduce, "assay run --case case " + std::to_string(i) + " --backend cpu");
    ASSERT_EQ(record.reason, i % 2 == 0 ? "the same" : std::to_string(i));
  }
}

TEST(RecordList, ChangesPlacesAndRecords) {
  RecordList list, others;
  for (const char* id : {"a", "b", "c"}) list.push_back(Named(id));
  for (const char* id : {"d", "e"}) others.push_back(Named(id));
  list.Append(std::move(others));
  EXPECT_THAT(Ids(list), ElementsAre("a", "b", "c", "d", "e"));
  list.Reorder({4, 0, 3, 1, 2});
  list.Set(1, Named("another"));
  EXPECT_THAT(Ids(list), ElementsAre("e", "another", "d", "b", "c"));
  EXPECT_THAT(Ids(list.ToVector()), ElementsAre("e", "another", "d", "b", "c"));
  std::vector<std::string> drained;
  list.Drain([&](const Record& record) { drained.push_back(record.case_id); });
  EXPECT_THAT(drained, ElementsAre("e", "another", "d", "b", "c"));
  EXPECT_TRUE(list.empty());
  list.push_back(Named("once more"));
  EXPECT_THAT(Ids(list), ElementsAre("once more"));
}

}  // namespace
}  // namespace assay
