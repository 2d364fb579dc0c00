// SPDX-License-Identifier: Apache-2.0
#include "backends/common/status.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace plugin {
namespace {

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

}  // namespace

void WriteText(assay_text* out, std::string_view text) noexcept {
  if (out == nullptr || !ASSAY_HAS(out, capacity) || out->data == nullptr || out->capacity == 0) return;
  size_t size = std::min<size_t>(text.size(), out->capacity - 1);
  if (size < text.size()) {
    while (size > 0 && IsContinuation(text[size])) --size;
  }
  std::memcpy(out->data, text.data(), size);
  out->data[size] = '\0';
}

assay_status ReportCurrentException(assay_text* error) noexcept {
  try {
    throw;
  } catch (const Error& e) {
    WriteText(error, e.what());
    return e.status();
  } catch (const std::bad_alloc&) {
    WriteText(error, "out of memory; choose a smaller case or free memory on the device");
    return ASSAY_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    WriteText(error, "out of memory; the case asks for more than can be addressed");
    return ASSAY_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    WriteText(error, e.what());
    return ASSAY_ERROR;
  } catch (...) {
    WriteText(error, "an exception of unknown type was thrown; please report it to the author of the plugin");
    return ASSAY_ERROR;
  }
}

}  // namespace plugin
