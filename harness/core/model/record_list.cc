// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/record_list.h"

#include <utility>

#include "harness/core/base/check.h"

namespace assay {

std::string RecordList::Packed(const Record& record) {
  buffer_.clear();
  packer_.Append(record, buffer_);
  return std::string(buffer_);
}

void RecordList::Drain(const std::function<void(Record&)>& take) {
  RecordList drained = std::exchange(*this, {});
  Record record;
  for (std::string& packed : drained.packed_) {
    drained.packer_.Take(packed.data(), record);
    packed = std::string();  // whose memory is free again
    take(record);
  }
}

void RecordList::Append(RecordList other) {
  packed_.reserve(size() + other.size());
  other.Drain([this](const Record& record) { push_back(record); });
}

void RecordList::Reorder(const std::vector<uint32_t>& order) {
  ASSAY_CHECK(order.size() == size());
  std::vector<std::string> packed;
  packed.reserve(size());
  for (const uint32_t from : order) packed.push_back(std::move(packed_[from]));
  packed_ = std::move(packed);
}

Record RecordList::operator[](size_t index) const {
  Record record;
  Read(index, record);
  return record;
}

std::vector<Record> RecordList::ToVector() const {
  std::vector<Record> records(size());
  for (size_t i = 0; i < size(); ++i) Read(i, records[i]);
  return records;
}

const Record& RecordView::Read(size_t index, Record& scratch) const {
  if (list_ == nullptr) return plain_[index];
  list_->Read(index, scratch);
  return scratch;
}

Record RecordView::operator[](size_t index) const {
  return list_ == nullptr ? plain_[index] : (*list_)[index];
}

const Record& RecordIterator::operator*() const {
  if (std::exchange(read_, index_) != index_) current_ = &records_.Read(index_, *scratch_);
  return *current_;
}

}  // namespace assay
