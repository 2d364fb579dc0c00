// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "golden/golden.h"

namespace assay {
namespace {

TEST(DerivedPlanes, AreSharedWhileHeldAndNotByCopies) {
  Golden golden{.value = {1, 2}};
  int made = 0;
  const auto get = [&](const Golden& of) { return of.derived.Get("sums", [&] { return ++made, Plane(2, true); }); };
  const std::shared_ptr<const Plane> first = get(golden), second = get(golden);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  const Golden copy = golden;
  EXPECT_NE(get(copy), first);
  EXPECT_EQ(made, 2);
  Golden other;
  auto held = get(other);
  held.reset();
  EXPECT_EQ(get(other)->size(), 2);
  EXPECT_EQ(made, 4);  // nobody held it
}

}  // namespace
}  // namespace assay
