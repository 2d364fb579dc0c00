// SPDX-License-Identifier: Apache-2.0
// Where a long text goes part by part, so that it need not be in memory as a whole.
#pragma once

#include <functional>
#include <string_view>

namespace assay {

using TextSink = std::function<void(std::string_view)>;

}  // namespace assay
