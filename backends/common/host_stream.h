// SPDX-License-Identifier: Apache-2.0
// A stream on the host: a thread that executes what is submitted, timed by the steady clock.
#pragma once

#include <memory>

#include "backends/common/backend.h"

namespace plugin {

std::unique_ptr<Stream> MakeHostStream();

}  // namespace plugin
