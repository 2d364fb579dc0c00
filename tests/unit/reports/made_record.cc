// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/reports/made_record.h"

namespace assay::test {

Record MakeRecord(const std::string& backend, const std::string& implementation, const std::string& outcome,
                  double time_s) {
  Record r;
  r.case_id = "matmul/f32/m=8,n=8,k=8/fill=normal/seed=0";
  r.op = "matmul";
  r.dtype = "f32";
  r.backend = backend;
  r.device = backend + "-device";
  r.implementation = implementation;
  r.verdict = r.outcome = outcome;
  r.reason = outcome == "pass" ? "" : "because of " + outcome;
  r.reproduce = "assay run --case X --backend " + backend;
  if (outcome == "pass") r.bound_margin = 0.25;
  if (time_s > 0) {
    r.time_median_s = time_s;
    r.flops = 1024;
    r.bytes = 768;
    r.gflops = 1e-9 * 1024 / time_s;
    r.gbytes_per_s = 1e-9 * 768 / time_s;
  }
  return r;
}

Record MakeKnown(const std::string& implementation, const std::string& why) {
  Record r = MakeRecord("onednn", implementation, "mismatch");
  r.outcome = "known_failure", r.library_version = r.driver = "oneDNN 2.6.3";
  r.reason = "bound channel: 3 wrong [known: " + why + "]";
  r.known_reason = why.substr(0, why.rfind(", ")), r.known_where = why.substr(why.rfind(", ") + 2);
  return r;
}

}  // namespace assay::test
