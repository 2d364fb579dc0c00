// SPDX-License-Identifier: Apache-2.0
// benchmark.json.
#pragma once

#include <string>

#include "harness/core/base/text_sink.h"
#include "harness/core/model/record_list.h"

namespace assay {

// benchmark.json in the shape of Google Benchmark (json_schema_version 1), for its tools/compare.py: per timed record
// the median as an aggregate named "<case id>/<backend>/<implementation>_median". Times that may not be compared (the
// result is wrong or suspect) are left out, because compare.py does not look at error_occurred; the context names them
// under "assay_excluded".
std::string GoogleBenchmarkReport(const RecordView& records, const std::string& environment_json);
void WriteGoogleBenchmark(const RecordView& records, const std::string& environment_json, const TextSink& write);

}  // namespace assay
