// SPDX-License-Identifier: Apache-2.0
// The places where a result is wrong as it was meant: what explains these alone is a bug of one tile, row or lane.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/tools/explain/cause.h"

namespace assay {

class WrongPlaces {
 public:
  // The result must outlive it.
  explicit WrongPlaces(const WrongResult& result);

  // How much the wrong elements of all outputs say: of each how often what right elements are off goes into its error;
  // few bits where few values are possible, and all NaN and infinities together say as little as two exact values.
  // Counted until they are kLeastBits.
  double bits() const { return bits_; }
  // Whether they are too few for a cause. Where none is beyond its bound, the statistic has failed, to which all
  // elements bear witness.
  bool SayLittle() const { return HasWrong() && bits_ < kLeastBits; }
  const ElementJudge& judge() const { return *wrong_output().judge; }
  bool IsWrong(int64_t i) const { return wrong_output().wrong[static_cast<size_t>(i)]; }  // of the wrong output
  bool IsWrongElement(int64_t element) const;
  bool HasWrong() const { return !wrong_output().places.empty(); }
  // Some wrong elements of it, at even distances.
  std::vector<int64_t> TakeWrongElements(size_t most) const;

  // The bits that an output's wrong elements say for this judge, 0 without such elements. nullopt where one of them is
  // wrong for it, too, all elements are wrong as meant, or it is the wrong output and has none.
  std::optional<double> CountBits(size_t output, const ElementJudge& changed, const Tensor& got) const;

  // Some slices hold all wrong elements of the only output. Their bits, as above, by a judge of the slices, which have
  // the elements `of_slices`; sets `fit`, of the whole output.
  std::optional<double> CountBitsOfSlices(const ElementJudge& changed, const std::vector<int64_t>& of_slices,
                                          ResultFit& fit) const;
  // Every wrong element, if these are at most so many and no other output has any; else none.
  std::vector<int64_t> TakeAllWrong(size_t most) const;

  // Measures the wrong output against the changed case in its wrong elements, and as it was meant elsewhere.
  ResultFit Fit(const ElementJudge& changed, const Tensor& got) const;

  // How a change of the stored values explains the wrong output, and nothing else is wrong.
  Reach Explain(const OutputChange& change, ResultFit& fit) const;

 private:
  // An output beside what was meant. The judge has pointers to the others.
  struct MeantOutput {
    Golden golden;  // of another output than the wrong one
    BoundModel bound;
    std::optional<ElementJudge> judge;
    std::vector<double> values;
    std::vector<bool> wrong;
    std::vector<int64_t> places;  // of the wrong ones
    // How far right elements are off, as a share of their tolerance, which is made for the worst of all orders.
    double share = 1;
  };

  const MeantOutput& wrong_output() const { return *outputs_[result_.output]; }
  std::unique_ptr<MeantOutput> LookAt(size_t output) const;
  void AddBits(const MeantOutput& output);

  const WrongResult& result_;
  std::vector<std::unique_ptr<MeantOutput>> outputs_;
  double bits_ = 0;
};

}  // namespace assay
