// SPDX-License-Identifier: Apache-2.0
// A tensor set of the user's, judged like a result of a run: the same golden values and bounds, whatever made it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/cases/sample.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/judge/verdict.h"
#include "harness/plan/suite.h"
#include "harness/tools/check/asker.h"
#include "harness/tools/explain/cause.h"

namespace assay {

// The contract to judge by when no implementation declares one: `text`, or the default requirement of the dtypes, read
// as a declaration. Where it does not say math=, functions may be off by kDefaultMathUlp. Without a text a softmax of
// -inf alone is NaN, as the formula and the frameworks have it (attention has its attribute masked_rows), and an fft is
// one by butterflies or a convolution: the bound of the plain sum is wide enough for a lost input.
Result<Contract> JudgingContract(const std::string& text, const CaseSpec& spec);

// OpenCL's full profile allows 3 ulp for exp, log and sqrt and 2.5 for a division; CUDA's library stays below 2.
inline constexpr double kDefaultMathUlp = 4;

struct UserTensors {
  Asker asker = Asker::kCommandLine;
  PreparedCase data;                  // without the golden values, unless somebody has judged by them before
  std::vector<Tensor> got;            // of each output
  std::vector<std::string> defaults;  // "eps=1e-05", of attributes that nobody stated
  Contract contract;
  bool contract_is_default = false;
  // The default with intermediates of 16 bits, where an input has such a type and nobody states a contract.
  std::optional<Contract> with_intermediates;
  Contract required;                   // the same where nothing is required
  std::string required_text;           // as it goes into the record
  std::optional<PlannedCase> planned;  // where a suite has made the inputs
  std::optional<OutputSample> sample;  // `data` and `got` are that alone; none: they are the whole case

  const Problem& whole() const { return sample ? sample->whole : data.problem; }
};

// The contracts that the request states, or their defaults, in the words of user.asker where it is wrong.
Status SetContracts(const CheckRequest& request, const Problem& problem, UserTensors& user);

// Loads the tensors, infers the attributes that their shapes give, binds the operator. Errors name what it takes.
Result<UserTensors> BindUserCase(const CheckRequest& request);

// A pass says little where the contract, which nobody stated, would let more faults pass than it would notice.
inline constexpr double kWeakPower = 0.5;

// A share of fewer single faults says nothing; long rows leave room for one or two.
inline constexpr int64_t kFewestFaults = 8;
bool HasTooFewFaults(const JudgeInputs& observed);

// The default without the intermediates of 16 bits that it permits.
struct StricterContract {
  Contract contract;
  bool holds = false;  // nothing is wrong or suspect by it
  std::string reason;  // why it does not hold
};

struct CheckResult {
  Findings findings;
  Record record;
  std::optional<StricterContract> stricter;  // where there is such a contract
  // A contract that nobody stated passes it, and less than kWeakPower of single faults would be noticed. Absent: the
  // contract is stated.
  std::optional<bool> weak;
  std::vector<Cause> causes;     // of a failure
  bool ran_out_of_work = false;  // a quick search for causes ended before it had tried everything, and found none
  // Faults that would pass by the weaker arithmetic that explains the errors, so that the result is inconclusive by it;
  // "" if there are none.
  std::string unnoticed_faults;

  const OutputFindings& worst() const { return findings.outputs[findings.worst]; }
};

// Attributes in the words of whoever asks.
AttributeText AttributeTextFor(Asker asker);

// Computes the golden values and judges. The channels bound, exact and exceptional fail; the statistic fails elements
// beyond kUserElementThreshold of data that look random, and else makes a result suspect; the share of omitted terms
// that the bound would notice only advises. Where the contract is the default and narrow intermediates
// are permitted, user.contract becomes the one of the two that the verdict stands on. Where a tensor of zeros, or any
// other that has nothing of the result, would pass, the result is inconclusive. With `exact_ulp` the rounded golden
// value is the only correct one, give or take that many ulp of a final division; data that are not of that kind are a
// usage error. `begin` is told of each stage; empty: nobody is.
Result<CheckResult> JudgeUserCase(const CheckRequest& request, UserTensors& user,
                                  const std::function<void(const char* stage)>& begin);

// The next step after a user's result that is no plain pass, chosen by what was found and by what the operator has.
//
// "look at what is special about these places: ..."; "" of a plain pass. Reads the findings alone.
std::string AdviceFor(const UserTensors& user, const CheckResult& result);

// Whether a user's data are such as `--exact-ulp` asks for.
//
// Operands are multiples of one power of two each, of as many bits as the contract's accumulator holds or their own
// type has, and keep their values where the contract rounds operands; the partial sums of sums of products (matmul,
// conv, reduce of kind sum) are within the accumulator's bits. Of softmax, attention, fft and the kinds mean, prod, l2
// and logsumexp the operands alone are checked: that their functions and divisions are exact is the user's word.
// Selections (max, min, argmax, argmin) are exact on any data. A usage error names the first operand, or output, of
// which that is not so. Precondition: user.data has its golden values.
Status CheckExactData(const UserTensors& user);

}  // namespace assay
