// SPDX-License-Identifier: Apache-2.0
#include "harness/c_api/api_call.h"

#include <exception>
#include <new>

#include "harness/core/base/build_facts.h"

namespace assay::c_api {
namespace {

thread_local std::string error_text;
thread_local const char* last_error = "";

}  // namespace

int32_t SetError(int32_t code, std::string_view message) noexcept {
  try {
    error_text = message;
    last_error = error_text.c_str();
  } catch (...) {
    last_error = "there is not even memory for saying what was wrong";
  }
  return code;
}

int32_t SetError(const Error& error) noexcept {
  return SetError(error.code == ErrorCode::kUsage ? ASSAY_RESULT_USAGE : ASSAY_RESULT_FAILED, error.message);
}

int32_t SetErrorOfException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return SetError(ASSAY_RESULT_NO_MEMORY, "this host has too little memory for it; judge smaller tensors");
  } catch (const std::exception& e) {
    return SetError(ASSAY_RESULT_FAILED, e.what());
  } catch (...) {
    return SetError(ASSAY_RESULT_FAILED, "an exception that is none of the standard library's");
  }
}

}  // namespace assay::c_api

const char* assay_last_error() {
  return assay::c_api::last_error;
}

const char* assay_version() {
  return assay::kVersion;
}
