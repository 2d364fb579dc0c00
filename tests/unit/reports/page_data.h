// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/core/base/json.h"

namespace assay::test {

// The data that a report.html embeds for its script.
inline Json PageData(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t start = page.find(open) + open.size();
  return Json::parse(page.substr(start, page.find("</script>", start) - start));
}

}  // namespace assay::test
