// SPDX-License-Identifier: Apache-2.0
// Convolutions whose images, weights, bias or outputs are mixed up along an axis.
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

using enum Strike;
constexpr int kInput = 0, kWeight = 1, kBias = 2;
constexpr int kRow = -2, kColumn = -1;
// Axes that the number of spatial axes moves: of two-dimensional cases.
constexpr int kOuter = -4, kInner = -3;

constexpr IoBug kPlaces[] = {
    {"fault.image-index-ignored", kInput, kOuter, From(1), kFirst},
    {"fault.last-image-reads-previous", kInput, kOuter, Last(), kPrevious},
    IoBug{"fault.later-images-unwritten-in-last-row", kOutput, kRow, Last(), kUnwritten}.And(kOuter, From(1)),
    {"fault.output-channels-beyond-31-wrap", kWeight, kOuter, From(32), kWrapped, When::kAlways, {}, 32},
    {"fault.tail-output-channel-reads-previous-weights", kWeight, kOuter, IfRest(8, 2), kPrevious},
    {"fault.weights-of-channels-swapped", kWeight, kInner, All(), kSwapped},
    {"fault.weights-of-last-channel-repeat-previous", kWeight, kInner, Last(), kPrevious},
    {"fault.output-channels-of-tail-swapped", kOutput, kInner, Tail(4), kSwapped},
    {"fault.output-channel-7-of-8-unwritten", kOutput, kInner, Every(8, 7), kUnwritten},
    {"fault.output-channels-beyond-255-repeat-first", kOutput, kInner, From(256), kFirst},
    IoBug{"fault.rows-of-output-swapped-in-last-channel", kOutput, kRow, All(), kSwapped}.And(kInner, Last()),
    {"fault.tail-columns-zero-in-tail-rows", kOutput, kColumn, Tail(4), kZero, When::kAlways, {}, 0, kRow, Tail(4)},
    {"fault.last-column-repeats-previous", kOutput, kColumn, Last(), kPrevious},
    {"fault.column-index-of-input-in-5-bits", kInput, kColumn, From(32), kWrapped, When::kAlways, {}, 32},
    {"fault.last-row-of-input-reads-previous", kInput, kRow, Last(), kPrevious},
    {"fault.columns-of-input-swapped-in-tail-of-8", kInput, kColumn, Tail(8), kSwapped},
    {"fault.bias-index-in-3-bits", kBias, -1, From(8), kWrapped, When::kAlways, {}, 8},
    {"fault.bias-of-last-channel-repeats-previous", kBias, -1, Last(), kPrevious},
    {"fault.bias-in-f16", kBias, -1, All(), kRounded, When::kAlways, Nearest(kHalf)},
    {"fault.weights-of-12-bits", kWeight, kFlat, All(), kRounded, When::kAlways, NearestBits(12)},
    {"fault.weights-in-fp8", kWeight, kFlat, All(), kRounded, When::kAlways, Nearest(kFp8)},
    {"fault.nan-of-weights-ignored", kWeight, kFlat, All(), kNanToZero},
    {"fault.infinite-weights-clamped", kWeight, kFlat, All(), kInfinityToLargest},
    {"fault.epilogue-of-relu", kOutput, kFlat, All(), kRelu},
};

}  // namespace

std::vector<Entry> ConvHeldPlaces() {
  // Subnormal operands of the suites do not reach the results.
  const std::vector<IoBug> general = BugsOfEveryOperator({"fault.flushing-mode-left-on-for-operands"});
  return Joined({ConvIoBugs(general), ConvIoBugs(kPlaces)});
}

}  // namespace corpus
