// SPDX-License-Identifier: Apache-2.0
// junit.xml.
#pragma once

#include <string>

#include "harness/core/base/text_sink.h"
#include "harness/core/model/record_list.h"

namespace assay {

// junit.xml in the dialect that Jenkins and GitLab read: one testsuite per backend, device and operator, one testcase
// per record. The environment (the text of environment.json, may be empty) becomes the properties of each suite.
std::string JunitReport(const RecordView& records, const std::string& environment_json);
void WriteJunit(const RecordView& records, const std::string& environment_json, const TextSink& write);

}  // namespace assay
