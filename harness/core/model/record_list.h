// SPDX-License-Identifier: Apache-2.0
// Many records in little memory: each is kept packed (harness/core/model/packed_record.h) and unpacked whenever it is
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/model/packed_record.h"
#include "harness/core/model/record.h"

namespace assay {

class RecordIterator;

class RecordList {
 public:
  void push_back(const Record& record) { packed_.push_back(Packed(record)); }
  size_t size() const { return packed_.size(); }
  bool empty() const { return packed_.empty(); }
  RecordIterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  // Precondition of these: index < size().
  Record operator[](size_t index) const;
  void Read(size_t index, Record& record) const { packer_.Take(packed_[index].data(), record); }
  void Set(size_t index, const Record& record) { packed_[index] = Packed(record); }

  // Gives each to `take` and keeps none, so that what `take` keeps of them stands in their place in memory.
  void Drain(const std::function<void(Record&)>& take);
  // All of `other` behind these.
  void Append(RecordList other);
  // The i-th becomes what order[i] was. Precondition: `order` has each index once.
  void Reorder(const std::vector<uint32_t>& order);
  // All of them as they are, of 3 kB each and their texts: for verbs whose runs are small.
  std::vector<Record> ToVector() const;

 private:
  std::string Packed(const Record& record);

  RecordPacker packer_;
  std::string buffer_;  // what is being packed, so that each is kept in a string of its own size
  std::vector<std::string> packed_;
};

// Read-only view of a list or of an array of records, which must outlive it.
class RecordView {
 public:
  RecordView(std::span<const Record> records) : plain_(records) {}
  RecordView(const std::vector<Record>& records) : plain_(records) {}
  RecordView(std::initializer_list<Record> records) : plain_(records.begin(), records.size()) {}
  RecordView(const RecordList& list) : list_(&list) {}

  size_t size() const { return list_ == nullptr ? plain_.size() : list_->size(); }
  bool empty() const { return size() == 0; }
  RecordIterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  // A copy: for a few of them. Precondition of both: index < size().
  Record operator[](size_t index) const;
  // Either `scratch`, which then holds it, or the record in its place.
  const Record& Read(size_t index, Record& scratch) const;

 private:
  std::span<const Record> plain_;
  const RecordList* list_ = nullptr;
};

// References from it are valid only until it is advanced or destroyed.
class RecordIterator {
 public:
  using value_type = Record;
  using difference_type = std::ptrdiff_t;

  explicit RecordIterator(const RecordView& records) : records_(records) {}
  const Record& operator*() const;
  const Record* operator->() const { return &**this; }
  RecordIterator& operator++() { return ++index_, *this; }
  void operator++(int) { ++index_; }
  bool operator==(std::default_sentinel_t) const { return index_ == records_.size(); }

 private:
  RecordView records_;
  size_t index_ = 0;
  mutable size_t read_ = static_cast<size_t>(-1);  // the index of `current_`
  mutable const Record* current_ = nullptr;
  mutable std::unique_ptr<Record> scratch_ = std::make_unique<Record>();
};

inline RecordIterator RecordList::begin() const {
  return RecordIterator(*this);
}
inline RecordIterator RecordView::begin() const {
  return RecordIterator(*this);
}

// Calls f(index, record) for each in its order.
template <class F>
void ForEachRecord(const RecordView& records, F&& f) {
  Record scratch;
  for (size_t i = 0; i < records.size(); ++i) f(i, records.Read(i, scratch));
}

}  // namespace assay
