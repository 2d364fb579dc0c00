// SPDX-License-Identifier: Apache-2.0
#include <assay/assay.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cfenv>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

extern "C" int32_t JudgeInC(const float* a, const float* b, const float* y, int64_t n, assay_verdict** verdict);

namespace {

using ::testing::HasSubstr;

// A matrix product of small integers, whose right result is exact: 2x3 times 3x2.
struct Product {
  std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 2, -1, 2, 3, 4}, y{8, 18, 17, 42};
  int64_t a_shape[2] = {2, 3}, b_shape[2] = {3, 2}, y_shape[2] = {2, 2};
  assay_array a_array = Array("a", a.data(), a_shape), b_array = Array("b", b.data(), b_shape),
              y_array = Array("y", y.data(), y_shape);
  const assay_array* inputs[2] = {&a_array, &b_array};
  const assay_array* outputs[1] = {&y_array};
  assay_question question{};

  Product() {
    question.struct_size = sizeof question;
    question.op = "matmul";
    question.n_inputs = 2, question.inputs = inputs;
    question.n_outputs = 1, question.outputs = outputs;
  }
  Product(const Product&) = delete;

  static assay_array Array(const char* name, const void* data, const int64_t* shape) {
    assay_array array{};
    array.struct_size = sizeof array;
    array.name = name, array.data = data, array.shape = shape, array.rank = 2;
    array.type_code = ASSAY_FLOAT, array.bits = 32, array.lanes = 1;
    return array;
  }

  // The verdict's name; of what fails, "usage: ..." and the like.
  std::string Judge(std::string* text = nullptr) const {
    assay_verdict* verdict = nullptr;
    const int32_t code = assay_judge(&question, &verdict);
    if (code != ASSAY_RESULT_OK) {
      EXPECT_EQ(verdict, nullptr);
      const char* names[] = {"", "usage", "no memory", "failed"};
      return std::string(names[code]) + ": " + assay_last_error();
    }
    const std::string name = assay_verdict_name(verdict);
    EXPECT_EQ(assay_verdict_passed(verdict), name == "pass" ? 1 : 0);
    if (text != nullptr) *text = assay_verdict_text(verdict);
    assay_verdict_free(verdict);
    return name;
  }
};

TEST(CApi, JudgesARightAndAWrongResult) {
  Product product;
  EXPECT_EQ(product.Judge(), "pass");
  product.y[3] = 42.001F;
  std::string text;
  EXPECT_EQ(product.Judge(&text), "mismatch");
  EXPECT_THAT(text, HasSubstr("worst element [1,1] got 42.0009995, golden 42"));
  EXPECT_THAT(text, HasSubstr("(the default; contract states another)"));
}

TEST(CApi, ArraysWithoutElementsNeedNoData) {
  Product product;
  product.a_array.data = nullptr, product.a_shape[0] = 0;
  product.y_array.data = nullptr, product.y_shape[0] = 0;
  std::string text;
  EXPECT_EQ(product.Judge(&text), "pass");
  EXPECT_THAT(text, HasSubstr("matmul f32 m=0,n=2,k=3, 0 elements"));
  EXPECT_THAT(text, HasSubstr("the result has 0 elements"));
  product.question.sample = 100;  // by which arrays are read in place
  EXPECT_EQ(product.Judge(), "pass");
  const int64_t uncounted[2] = {0, 1LL << 62};
  product.a_array.shape = uncounted;
  EXPECT_THAT(product.Judge(), HasSubstr("a: its shape=0x4611686018427387904 has more elements than can be counted"));
}

TEST(CApi, SumsOfNothingAreZero) {
  Product product;
  product.a_array.data = product.b_array.data = nullptr;
  product.a_shape[1] = product.b_shape[0] = 0;
  EXPECT_EQ(product.Judge(), "mismatch");
  product.y = {0, 0, -0.0F, 0};
  product.y_array.data = product.y.data();
  EXPECT_EQ(product.Judge(), "pass");
}

TEST(CApi, TheHeaderIsC) {
  const std::vector<float> a{1, 2, 3, 4}, b{1, 0, 0, 1};
  assay_verdict* verdict = nullptr;
  ASSERT_EQ(JudgeInC(a.data(), b.data(), a.data(), 2, &verdict), ASSAY_RESULT_OK) << assay_last_error();
  EXPECT_STREQ(assay_verdict_class(verdict), "bit_exact");
  EXPECT_STREQ(assay_verdict_reason(verdict), "");
  EXPECT_THAT(assay_verdict_record(verdict), HasSubstr("\"case_id\":\"matmul/f32/m=2,n=2,k=2/fill=user/seed=0\""));
  assay_verdict_free(verdict);
}

TEST(CApi, StridesMayBeAnything) {
  Product product;
  const int64_t transposed[2] = {1, 2}, backwards[2] = {2, -1}, repeated[2] = {0, 1};
  std::vector<float> columns{8, 17, 18, 42}, reversed{18, 8, 42, 17};
  product.y_array.data = columns.data(), product.y_array.strides = transposed;
  EXPECT_EQ(product.Judge(), "pass");
  product.y_array.data = reversed.data() + 1, product.y_array.strides = backwards;
  EXPECT_EQ(product.Judge(), "pass");
  product.y_array.data = product.y.data(), product.y_array.strides = repeated;
  EXPECT_EQ(product.Judge(), "mismatch");  // the first row twice
  std::vector<char> bytes(17);
  std::memcpy(bytes.data() + 1, product.y.data(), 16);
  product.y_array.data = bytes.data() + 1, product.y_array.strides = nullptr;  // not aligned
  EXPECT_EQ(product.Judge(), "pass");
}

TEST(CApi, ArraysWithoutNamesTakeTheOperatorsOrder) {
  Product product;
  product.a_array.name = product.b_array.name = product.y_array.name = nullptr;
  EXPECT_EQ(product.Judge(), "pass");
  product.b_array.name = "a";
  std::swap(product.inputs[0], product.inputs[1]);
  std::swap(product.a_array.name, product.b_array.name);  // b has none, and comes first: the name that is left is its
  EXPECT_EQ(product.Judge(), "pass");
  const assay_array* five[5] = {product.inputs[0], product.inputs[0], product.inputs[0], product.inputs[0],
                                product.inputs[0]};
  product.question.n_inputs = 5, product.question.inputs = five;
  EXPECT_THAT(product.Judge(), HasSubstr("matmul has 4 inputs, and 5 were given: a, b, c, bias"));
}

TEST(CApi, BitsAreWhatTheTypeSays) {
  const std::vector<uint16_t> one_two_three_four{0x3f80, 0x4000, 0x4040, 0x4080}, unit{0x3f80, 0, 0, 0x3f80};
  Product product;
  product.a_shape[1] = product.b_shape[0] = 2;
  for (assay_array* array : {&product.a_array, &product.b_array, &product.y_array}) {
    array->data = array == &product.b_array ? unit.data() : one_two_three_four.data();
    array->type_code = ASSAY_BFLOAT, array->bits = 16;
  }
  EXPECT_EQ(product.Judge(), "pass");
  product.y_array.type_code = ASSAY_UINT;
  EXPECT_THAT(product.Judge(), HasSubstr("usage: matmul: y: elements of type uint16 have no meaning of their own"));
  product.y_array.type = "bf16";
  EXPECT_EQ(product.Judge(), "pass");
  product.y_array.type = "f33";
  EXPECT_THAT(product.Judge(), HasSubstr("usage: matmul: y: "));
  const std::vector<float> wide{1, 2, 3, 4}, between{1, 2, 3, 4.001F};
  product.y_array = Product::Array("y", wide.data(), product.y_shape);
  EXPECT_EQ(product.Judge(), "pass");  // of inputs in bf16 and an output in f32, which the operator has
  product.y_array.type = "bf16";
  EXPECT_EQ(product.Judge(), "pass");
  product.y_array.data = between.data();
  EXPECT_THAT(product.Judge(), HasSubstr("bf16 does not hold its element [1,1] = 4.00"));
}

// A header that is newer than the library has members more. What it does not set changes nothing; what it sets must not
// be ignored.
TEST(CApi, MembersOfANewerHeaderAreZeroOrRefused) {
  Product product;
  struct Newer {
    assay_question known;
    const char* more;
  } newer{product.question, nullptr};
  newer.known.struct_size = sizeof newer;
  assay_verdict* verdict = nullptr;
  ASSERT_EQ(assay_judge(&newer.known, &verdict), ASSAY_RESULT_OK) << assay_last_error();
  EXPECT_EQ(assay_verdict_passed(verdict), 1);
  EXPECT_EQ(assay_verdict_passed_strictly(verdict), 1);
  assay_verdict_free(verdict);
  newer.more = "";
  EXPECT_EQ(assay_judge(&newer.known, &verdict), ASSAY_RESULT_USAGE);
  EXPECT_THAT(assay_last_error(), HasSubstr("question: a member is set that this library"));
}

// Each case spoils a question and names words of the error message.
TEST(CApi, BadQuestionsAreUsageErrors) {
  struct Bad {
    std::function<void(Product&)> spoil;
    const char* words;
  };
  static const int64_t negative[2] = {-1, 3}, empty[2] = {0, 3}, huge[2] = {1LL << 62, 1LL << 62}, other[2] = {3, 2};
  static const char* no_name[] = {nullptr, "1"};
  static const char* unknown[] = {"trans", "1"};
  static const char* nonsense[] = {"transa", "maybe"};
  const Bad all[] = {
      {[](Product& p) { p.question.op = "matmull"; }, "did you mean 'matmul'?"},
      {[](Product& p) { p.question.op = nullptr; }, "op is NULL"},
      {[](Product& p) { p.question.struct_size = 8; }, "question: struct_size is 8"},
      {[](Product& p) { p.a_array.struct_size = 0; }, "inputs[0]: struct_size is 0"},
      {[](Product& p) { p.a_array.struct_size = 1ULL << 60; }, "inputs[0]: struct_size is 1152921504606846976"},
      {[](Product& p) { p.inputs[1] = nullptr; }, "inputs[1] is NULL"},
      {[](Product& p) { p.question.inputs = nullptr; }, "inputs is NULL"},
      {[](Product& p) { p.question.n_outputs = 0; }, "needs the output 'y', which is missing"},
      {[](Product& p) { p.question.n_inputs = 1; }, "needs the input 'b', which is missing"},
      {[](Product& p) { p.b_array.name = "a"; }, "input gives 'a' twice"},
      {[](Product& p) { p.b_array.name = "w"; }, "matmul has no input 'w'"},
      {[](Product& p) { p.b_array.data = nullptr; }, "matmul: b: its data are NULL"},
      {[](Product& p) { p.b_array.shape = nullptr; }, "b: its shape is NULL"},
      {[](Product& p) { p.a_array.rank = -1; }, "a: it has -1 axes"},
      {[](Product& p) { p.a_array.rank = 1000; }, "a: it has 1000 axes"},
      {[](Product& p) { p.a_array.shape = negative; }, "an axis of -1 elements"},
      {[](Product& p) { p.a_array.shape = empty; }, "matmul"},
      {[](Product& p) { p.a_array.shape = other; }, "matmul"},
      {[](Product& p) { p.a_array.bits = 80; }, "elements of type float80 are not judged"},
      {[](Product& p) { p.a_array.lanes = 4; }, "it has 4 lanes"},
      {[](Product& p) {
         p.y_array.bits = 64, p.y_array.shape = p.y_shape;
         p.a_array.type = "bf16";
       },
       "bf16"},
      {[](Product& p) { p.question.n_attrs = 1; }, "attrs is NULL"},
      {[](Product& p) { p.question.n_attrs = 1, p.question.attrs = no_name; }, "attribute 0 has no name"},
      {[](Product& p) { p.question.n_attrs = 1, p.question.attrs = unknown; }, "did you mean 'transa'?"},
      {[](Product& p) { p.question.n_attrs = 1, p.question.attrs = nonsense; }, "transa"},
      {[](Product& p) { p.question.contract = "acc=f99"; }, "contract: "},
      {[](Product& p) { p.question.require = "acc=f99"; }, "require: "},
      {[](Product& p) { p.question.tier = "best"; }, "tier 'best' is not"},
  };
  for (const Bad& bad : all) {
    Product product;
    bad.spoil(product);
    EXPECT_THAT(product.Judge(), testing::AllOf(testing::StartsWith("usage: "), HasSubstr(bad.words)));
  }
  Product product;
  product.a_array.shape = huge;
  EXPECT_THAT(product.Judge(), testing::AllOf(testing::StartsWith("failed: "), HasSubstr("do not fit")));
  EXPECT_EQ(assay_judge(&product.question, nullptr), ASSAY_RESULT_USAGE);
  assay_verdict* verdict = nullptr;
  EXPECT_EQ(assay_judge(nullptr, &verdict), ASSAY_RESULT_USAGE);
  assay_verdict_free(nullptr);
  EXPECT_EQ(assay_verdict_passed(nullptr), 0);
  EXPECT_EQ(assay_verdict_passed_strictly(nullptr), 0);
}

TEST(CApi, ContractsAndRequirementsAreThoseOfCheck) {
  Product product;
  product.y[0] = 8.01F;
  EXPECT_EQ(product.Judge(), "mismatch");
  product.question.contract = "bf16acc";
  EXPECT_NE(product.Judge(), "mismatch");
  product.y[0] = 8;
  product.question.require = "f32acc";
  std::string text;
  EXPECT_EQ(product.Judge(&text), "below_contract");
  EXPECT_THAT(text, HasSubstr("but contract declares acc=bf16 and the case requires acc=f32"));
}

TEST(CApi, TheCallersFloatEnvironmentDoesNotMatterAndIsKept) {
  constexpr unsigned kFlushBoth = 0x8040;
  Product product;
  product.a[0] = std::numeric_limits<float>::denorm_min();  // with b = 1: it goes into y[0] as it is
  product.b = {1, 0, 0, 1, 0, 0};
  product.y = {product.a[0], 2, 4, 5};
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushBoth);
  std::fesetround(FE_UPWARD);
  const std::string verdict = product.Judge();
  const int rounding = std::fegetround();
  const unsigned after = _mm_getcsr();
  std::fesetround(FE_TONEAREST);
  _mm_setcsr(before);
  EXPECT_EQ(verdict, "pass");
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(after & kFlushBoth, kFlushBoth);
}

TEST(CApi, ThreadsMayJudgeAtTheSameTimeAndHaveTheirOwnErrors) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      Product product;
      const std::string name = "nothing" + std::to_string(t);
      for (int i = 0; i < 20; ++i) {
        product.question.op = "matmul";
        EXPECT_EQ(product.Judge(), "pass");
        product.question.op = name.c_str();
        EXPECT_THAT(product.Judge(), HasSubstr(name));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CApi, AChildOfTheProcessMayJudge) {
  Product product;
  EXPECT_EQ(product.Judge(), "pass");
  const pid_t child = fork();
  if (child == 0) _exit(product.Judge() == "pass" ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
