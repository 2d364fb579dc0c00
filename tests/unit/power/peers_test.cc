// SPDX-License-Identifier: Apache-2.0
// The peers' rules against values worked out by hand from their public definitions.
#include "harness/tools/power/peers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/special_values.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A bound case of any operator with golden values and magnitudes of the test's choice.
struct PeersFixture {
  PeersFixture(const std::string& id, std::vector<double> values, std::vector<double> magnitudes = {}) {
    CaseSpec spec = ParseId(id).value();
    const Operator* op = OperatorRegistry::Global().Find(spec.op);
    spec = Canonicalise(std::move(spec), op->schema()).value();
    problem = op->Bind(spec).value();
    golden.shape = problem.outputs[0].shape;
    golden.value = std::move(values);
    golden.magnitude = Plane(golden.size(), true);
    for (size_t i = 0; i < magnitudes.size(); ++i) golden.magnitude.Set(static_cast<int64_t>(i), magnitudes[i]);
    peer = std::make_unique<PeerRules>(*op, problem, 0, golden);
    EXPECT_EQ(NumElements(golden.shape) * (IsComplex(problem.outputs[0].dtype) ? 2 : 1), golden.size()) << id;
  }
  Opinion Of(PeerRule rule, std::vector<double> got, const Contract& declared = {}) const {
    return rule(*peer, declared, got);
  }
  Problem problem;
  Golden golden;
  std::unique_ptr<PeerRules> peer;
};

constexpr auto kAccepts = Opinion::kAccepts, kRejects = Opinion::kRejects, kNoRule = Opinion::kNoRule;

std::string Matmul(const char* dtype, int n, int k, const char* more = "") {
  return std::string("matmul/") + dtype + "/m=1,n=" + std::to_string(n) + ",k=" + std::to_string(k) + more +
         "/fill=normal/seed=0";
}

TEST(Peers, AreFourInOrder) {
  std::string names;
  for (const Peer& peer : Peers()) names += std::string(peer.name) + " ";
  EXPECT_EQ(names, "torch ggml benchdnn tosa ");
}

TEST(PeersTorch, DefaultTolerancesPerType) {
  struct Row {
    const char* dtype;
    double rtol, atol;
  };
  for (const Row& row : {Row{"f16", 1e-3, 1e-5}, {"bf16", 1.6e-2, 1e-5}, {"f32", 1.3e-6, 1e-5}, {"f64", 1e-7, 1e-7}}) {
    const PeersFixture f(Matmul(row.dtype, 2, 8), {0, 64});
    const double at_zero = row.atol, at_64 = row.atol + 64 * row.rtol;
    EXPECT_EQ(f.Of(TorchOpinion, {0.99 * at_zero, 64 + 0.99 * at_64}), kAccepts) << row.dtype;
    EXPECT_EQ(f.Of(TorchOpinion, {1.01 * at_zero, 64}), kRejects) << row.dtype;
    EXPECT_EQ(f.Of(TorchOpinion, {0, 64 - 1.01 * at_64}), kRejects) << row.dtype;
  }
}

TEST(PeersTorch, ComparesWithTheRoundedGoldenAndKeepsNanUnequal) {
  const PeersFixture f(Matmul("bf16", 1, 8), {1 + 0x1p-9});  // rounds to 1
  EXPECT_EQ(f.Of(TorchOpinion, {1 + 0.01599}), kAccepts);
  EXPECT_EQ(f.Of(TorchOpinion, {1 + 0.0170}), kRejects);
  const PeersFixture special(Matmul("f32", 2, 8), {kInf, 1});
  EXPECT_EQ(special.Of(TorchOpinion, {kInf, 1}), kAccepts);
  EXPECT_EQ(special.Of(TorchOpinion, {-kInf, 1}), kRejects);
  EXPECT_EQ(special.Of(TorchOpinion, {kInf, kNan}), kRejects);
  EXPECT_EQ(PeersFixture(Matmul("f32", 1, 8), {kNan}).Of(TorchOpinion, {kNan}), kRejects);
}

TEST(PeersTorch, ComplexNumbersByModulusAndIntegersExactly) {
  const PeersFixture f("fft/c64/kind=c2c,n=1/fill=normal/seed=0", {300, 400});  // modulus 500: 1e-5 + 6.5e-4
  EXPECT_EQ(f.Of(TorchOpinion, {300, 400 + 6.5e-4}), kAccepts);
  EXPECT_EQ(f.Of(TorchOpinion, {300 + 5e-4, 400 + 5e-4}), kRejects);
  const PeersFixture i("matmul/i8-i8-i32/m=1,n=1,k=4/fill=normal/seed=0", {1000000});
  EXPECT_EQ(i.Of(TorchOpinion, {1000000}), kAccepts);
  EXPECT_EQ(i.Of(TorchOpinion, {1000001}), kRejects);
}

// NMSE = sum d^2 / sum got^2: one error d among four values of about 1.
TEST(PeersGgml, NormalisedMeanSquareErrorPerOperator) {
  const PeersFixture matmul(Matmul("f32", 4, 8), {1, 1, 1, 1});
  const auto off = [](double d) { return std::vector<double>{1 + d, 1, 1, 1}; };
  // d^2 / (3 + (1 + d)^2) = 5e-4 at d = 0.0452 (0.002043 / 4.092 = 4.993e-4).
  EXPECT_EQ(matmul.Of(GgmlOpinion, off(0.0452)), kAccepts);
  EXPECT_EQ(matmul.Of(GgmlOpinion, off(0.0454)), kRejects);
  const PeersFixture sum("reduce/f32/shape=4x8,axes=1,kind=sum/fill=normal/seed=0", {1, 1, 1, 1});
  EXPECT_EQ(sum.Of(GgmlOpinion, off(6.3e-4)), kAccepts);  // 3.969e-7 / 4.0013 = 9.92e-8
  EXPECT_EQ(sum.Of(GgmlOpinion, off(6.4e-4)), kRejects);
  const PeersFixture softmax("softmax/f32/shape=1x4/fill=normal/seed=0", {1, 1, 1, 1});
  EXPECT_EQ(softmax.Of(GgmlOpinion, off(1.9e-3)), kAccepts);  // 3.61e-6 / 4.004 = 9.02e-7
  EXPECT_EQ(softmax.Of(GgmlOpinion, off(2.1e-3)), kRejects);
}

TEST(PeersGgml, SpecialValues) {
  const PeersFixture f(Matmul("f32", 2, 8), {kInf, 1});
  EXPECT_EQ(f.Of(GgmlOpinion, {kInf, 1}), kAccepts);  // inf - inf: the quotient is NaN, which exceeds nothing
  EXPECT_EQ(f.Of(GgmlOpinion, {-kInf, 1}), kRejects);
  EXPECT_EQ(f.Of(GgmlOpinion, {1, 1}), kRejects);
  EXPECT_EQ(f.Of(GgmlOpinion, {kInf, kNan}), kRejects);
  const PeersFixture zero(Matmul("f32", 2, 8), {0, 0});
  EXPECT_EQ(zero.Of(GgmlOpinion, {0, 0}), kAccepts);
  EXPECT_EQ(zero.Of(GgmlOpinion, {1e-30, 0}), kAccepts);  // its square is 0 in f32: 0/0
  EXPECT_EQ(zero.Of(GgmlOpinion, {1e-3, 0}), kRejects);   // NMSE 1
}

TEST(PeersGgml, HasNoRuleForWhatGgmlDoesNotCompute) {
  EXPECT_EQ(PeersFixture("fft/c64/kind=c2c,n=1/fill=normal/seed=0", {0, 0}).Of(GgmlOpinion, {0, 0}), kNoRule);
  EXPECT_EQ(PeersFixture(Matmul("f64", 1, 8), {0}).Of(GgmlOpinion, {0}), kNoRule);
  EXPECT_EQ(PeersFixture("reduce/f32/shape=1x8,axes=1,kind=max/fill=normal/seed=0", {0}).Of(GgmlOpinion, {0}), kNoRule);
}

TEST(PeersBenchdnn, MatmulMustEqualTheRoundedReference) {
  const PeersFixture f(Matmul("f32", 2, 8), {1, 0});
  EXPECT_EQ(f.Of(BenchdnnOpinion, {1, 0}), kAccepts);
  EXPECT_EQ(f.Of(BenchdnnOpinion, {1 + 0x1p-23, 0}), kRejects);
  EXPECT_EQ(f.Of(BenchdnnOpinion, {1, 0x1p-24}), kAccepts);  // |expected| <= 1e-5: below eps(f32)
  EXPECT_EQ(f.Of(BenchdnnOpinion, {1, 0x1p-22}), kRejects);
  EXPECT_EQ(f.Of(BenchdnnOpinion, {kNan, 0}), kRejects);
}

TEST(PeersBenchdnn, ThresholdsOfTheDrivers) {
  const double eps = 0x1p-23;
  const PeersFixture sum("reduce/f32/shape=1x8,axes=1,kind=sum/fill=normal/seed=0", {1});
  EXPECT_EQ(sum.Of(BenchdnnOpinion, {1 + eps}), kAccepts);
  EXPECT_EQ(sum.Of(BenchdnnOpinion, {1 + 2 * eps}), kRejects);
  const PeersFixture norm("reduce/f32/shape=1x8,axes=1,kind=l2/fill=normal/seed=0", {1});
  EXPECT_EQ(norm.Of(BenchdnnOpinion, {1 + 5 * eps}), kAccepts);
  EXPECT_EQ(norm.Of(BenchdnnOpinion, {1 + 6 * eps}), kRejects);
  const PeersFixture softmax("softmax/f32/shape=1x1/fill=normal/seed=0", {0.5});
  EXPECT_EQ(softmax.Of(BenchdnnOpinion, {0.5 + 5 * eps}), kAccepts);  // relative 10 eps
  EXPECT_EQ(softmax.Of(BenchdnnOpinion, {0.5 + 6 * eps}), kRejects);
  const PeersFixture log("softmax/bf16/shape=1x1,log=1/fill=normal/seed=0", {-8});
  EXPECT_EQ(log.Of(BenchdnnOpinion, {-8 * (1 + 5 * 0x1p-7)}), kAccepts);
  EXPECT_EQ(log.Of(BenchdnnOpinion, {-8 * (1 + 6 * 0x1p-7)}), kRejects);
  EXPECT_EQ(PeersFixture("reduce/f32/shape=1x8,axes=1,kind=logsumexp/fill=normal/seed=0", {1}).Of(BenchdnnOpinion, {1}),
            kNoRule);
  EXPECT_EQ(PeersFixture("fft/c64/kind=c2c,n=1/fill=normal/seed=0", {0, 0}).Of(BenchdnnOpinion, {0, 0}), kNoRule);
}

TEST(PeersBenchdnn, AttentionScalesWithTheKeysAndTheMagnitude) {
  const double eps = 0x1p-23;
  // One query, 3 keys, one value column: 8 (1 + 3) eps = 32 eps relative, or eps sum p|v|.
  const PeersFixture f("attention/f32/b=1,h=1,l=1,s=3,d=2,dv=1/fill=normal/seed=0", {0.5}, {64});
  EXPECT_EQ(f.Of(BenchdnnOpinion, {0.5 + 64 * eps}), kAccepts);
  EXPECT_EQ(f.Of(BenchdnnOpinion, {0.5 + 65 * eps}), kRejects);
  const PeersFixture small("attention/f32/b=1,h=1,l=1,s=3,d=2,dv=1/fill=normal/seed=0", {0.5}, {1});
  EXPECT_EQ(small.Of(BenchdnnOpinion, {0.5 + 16 * eps}), kAccepts);
  EXPECT_EQ(small.Of(BenchdnnOpinion, {0.5 + 17 * eps}), kRejects);
}

// f32, KS = 8: ksb = 8, so |e| <= 16 units of bnd 2^-24, and sum e^2 <= 12.8 per element.
TEST(PeersTosa, DotProductElementAndVariance) {
  const PeersFixture f(Matmul("f32", 20, 8), std::vector<double>(20, 0.0), std::vector<double>(20, 1.0));
  std::vector<double> got(20, 0.0);
  got[3] = 16 * 0x1p-24;  // 256 = the whole budget of 20 elements
  EXPECT_EQ(f.Of(TosaOpinion, got), kAccepts);
  got[4] = 0x1p-24;
  EXPECT_EQ(f.Of(TosaOpinion, got), kRejects) << "variance";
  got[4] = 0;
  got[3] = 16.1 * 0x1p-24;
  EXPECT_EQ(f.Of(TosaOpinion, got), kRejects) << "element";
}

// bf16 with an f32 accumulator: ksb = ceil(512 / 2^((23 - 7) / 2)) = 2; with a bf16 accumulator 512.
TEST(PeersTosa, AccumulatorSetsTheTerms) {
  const PeersFixture f(Matmul("bf16", 100, 512), std::vector<double>(100, 1.0), std::vector<double>(100, 1.0));
  std::vector<double> got(100, 1.0);
  got[0] = 1 + 4 * 0x1p-8;
  EXPECT_EQ(f.Of(TosaOpinion, got), kAccepts);
  got[0] = 1 + 5 * 0x1p-8;
  EXPECT_EQ(f.Of(TosaOpinion, got), kRejects);
  EXPECT_EQ(f.Of(TosaOpinion, got, ParseDeclaration("acc=bf16").value()), kAccepts);
  const PeersFixture bias(Matmul("bf16", 100, 512, ",bias=1"), std::vector<double>(100, 1.0),
                          std::vector<double>(100, 1.0));
  EXPECT_EQ(bias.Of(TosaOpinion, got), kAccepts) << "ksb is 3 with a bias";
}

TEST(PeersTosa, BiasOnZeroMeanSetsAlone) {
  // Every e = 2: sum 200 over 100 elements, allowed sqrt(16 * 8 * 100) = 113; sum e^2 = 400 of 1280.
  const std::vector<double> got(100, 2 * 0x1p-24), zeros(100, 0.0), ones(100, 1.0);
  EXPECT_EQ(PeersFixture(Matmul("f32", 100, 8), zeros, ones).Of(TosaOpinion, got), kAccepts);
  EXPECT_EQ(PeersFixture("matmul/f32/m=1,n=100,k=8/fill=tosa-3/seed=0", zeros, ones).Of(TosaOpinion, got), kRejects);
  EXPECT_EQ(PeersFixture("matmul/f32/m=1,n=100,k=8/fill=tosa-2/seed=0", zeros, ones).Of(TosaOpinion, got), kAccepts);
}

TEST(PeersTosa, ZeroBoundOverflowAndSpecials) {
  const PeersFixture zero(Matmul("f32", 1, 8), {0}, {0});
  EXPECT_EQ(zero.Of(TosaOpinion, {0}), kAccepts);
  EXPECT_EQ(zero.Of(TosaOpinion, {1e-45}), kRejects);
  const PeersFixture large(Matmul("f16", 1, 8), {60000}, {65519});
  EXPECT_EQ(large.Of(TosaOpinion, {kInf}), kAccepts);
  const PeersFixture finite(Matmul("f16", 1, 8), {100}, {100});
  EXPECT_EQ(finite.Of(TosaOpinion, {kInf}), kRejects);
  const PeersFixture nan(Matmul("f32", 1, 8), {kNan}, {1});
  EXPECT_EQ(nan.Of(TosaOpinion, {kNan}), kAccepts);
  EXPECT_EQ(nan.Of(TosaOpinion, {1}), kRejects);
}

TEST(PeersTosa, SelectionsProductsAndWhatItDoesNotKnow) {
  const PeersFixture max("reduce/f32/shape=1x8,axes=1,kind=max/fill=normal/seed=0", {1});
  EXPECT_EQ(max.Of(TosaOpinion, {1}), kAccepts);
  EXPECT_EQ(max.Of(TosaOpinion, {1 + 0x1p-23}), kRejects);
  // Two factors: (1 + 2^-24)^2 - 1 = 2^-23 + 2^-48.
  const PeersFixture prod("reduce/f32/shape=1x2,axes=1,kind=prod/fill=pow2/seed=0", {1});
  EXPECT_EQ(prod.Of(TosaOpinion, {1 + 0x1p-23}), kAccepts);
  EXPECT_EQ(prod.Of(TosaOpinion, {1 + 0x1p-22}), kRejects);
  EXPECT_EQ(PeersFixture("softmax/f32/shape=1x1/fill=normal/seed=0", {1}).Of(TosaOpinion, {1}), kNoRule);
  EXPECT_EQ(PeersFixture(Matmul("f64", 1, 8), {1}, {1}).Of(TosaOpinion, {1}), kNoRule);
  EXPECT_EQ(PeersFixture(Matmul("f32", 1, 8, ",alpha=0.5"), {1}, {1}).Of(TosaOpinion, {1}), kNoRule);
  const PeersFixture ints("matmul/i8-i8-i32/m=1,n=1,k=4/fill=normal/seed=0", {5});
  EXPECT_EQ(ints.Of(TosaOpinion, {5}), kAccepts);
  EXPECT_EQ(ints.Of(TosaOpinion, {6}), kRejects);
}

}  // namespace
}  // namespace assay
