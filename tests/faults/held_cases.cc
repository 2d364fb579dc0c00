// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/held_cases.h"

#include <map>

namespace assay {
namespace {

const std::vector<std::string> kMatmul = {
    "matmul/f32/m=17,n=33,k=65/fill=normal/seed=0",
    "matmul/f32/m=33,n=65,k=97,alpha=-2,beta=0.5,bias=1/fill=normal/seed=0",
    "matmul/bf16/m=33,n=65,k=97,alpha=-2,beta=0.5,bias=1/fill=normal/seed=0",
    "matmul/f32/m=17,n=33,k=64,batch=5/fill=normal/seed=0",
    "matmul/f16/m=24,n=40,k=256/fill=outlier/seed=0",
    "matmul/f16/m=24,n=40,k=256/fill=subnormal/seed=0",
    "matmul/f32/m=24,n=40,k=256/fill=special/seed=0",
    "matmul/f16/m=24,n=40,k=256/fill=special/seed=0",
    "matmul/bf16/m=24,n=40,k=256/fill=special/seed=0",
    "matmul/f32/m=24,n=40,k=256/fill=subnormal/seed=0",
    "matmul/f32/m=24,n=40,k=256/fill=lognormal/seed=0",
    "matmul/f64/m=24,n=40,k=256/fill=cancel-1e6/seed=0",
    "matmul/f64/m=67,n=35,k=129/fill=normal/seed=0",
    "matmul/i8-i8-i32/m=24,n=40,k=256/fill=uniform/seed=0",
    "matmul/i8-i8-i32/m=24,n=40,k=256/fill=ramp/seed=0",
    "matmul/i8-i8-i32/m=16,n=768,k=768/fill=uniform/seed=0",
    "matmul/f32/m=1,n=129,k=127/fill=normal/seed=0",
    "matmul/bf16/m=1,n=130,k=257/fill=normal/seed=0",
    "matmul/f32/m=2,n=3,k=1025/fill=normal/seed=0",
    "matmul/f16/m=67,n=35,k=129/fill=normal/seed=0",
    "matmul/f32/m=128,n=64,k=256/fill=normal/seed=0",
    "matmul/f32/m=4,n=1024,k=4096/fill=normal/seed=0",
    "matmul/f32/m=128,n=64,k=128,batch=12/fill=normal/seed=0",
    "matmul/f32/m=128,n=128,k=64,batch=12,transb=1,alpha=0.125/fill=normal/seed=0",
    "matmul/bf16/m=8,n=1792,k=4096,transb=1/fill=normal/seed=0",
    "matmul/f32/m=197,n=768,k=768,bias=1/fill=normal/seed=0",
};

const std::vector<std::string> kReduce = {
    "reduce/f32/shape=37x129,axes=1/fill=normal/seed=0",
    "reduce/bf16/shape=37x129,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=mean/fill=normal/seed=0",
    "reduce/f16/shape=37x129,axes=1,kind=l2/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=logsumexp/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=max/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=min/fill=normal/seed=0",
    "reduce/f64/shape=37x129,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=64x8,axes=1,kind=prod/fill=near_one/seed=0",
    "reduce/f32/shape=3x65x7,axes=0+2,keepdims=1/fill=normal/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=prod/fill=pow2/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=max/fill=special/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=min/fill=special/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=max,nan=ignore/fill=special/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=min,nan=ignore/fill=special/seed=0",
    "reduce/f32-i64/shape=20x1000,axes=1,kind=argmax/fill=normal/seed=0",
    "reduce/f32/shape=64x1000,axes=1/fill=subnormal/seed=0",
    "reduce/f32/shape=64x1000,axes=1/fill=lognormal/seed=0",
    "reduce/i8-i32/shape=64x1000,axes=1/fill=uniform/seed=0",
    "reduce/f16/shape=128x768,axes=1/fill=outlier/seed=0",
    "reduce/f32/shape=128x768,axes=1,kind=mean/fill=normal/seed=0",
    "reduce/f32/shape=32x4096,axes=1,kind=l2/fill=normal/seed=0",
    "reduce/f32-i64/shape=2x32000,axes=1,kind=argmax/fill=normal/seed=0",
    "reduce/f32-i64/shape=2x128256,axes=1,kind=argmax/fill=normal/seed=0",
    "reduce/f32/shape=4x2048x7x7,axes=2+3,kind=mean,keepdims=1/fill=normal/seed=0",
    "reduce/f32/shape=4x64x56x56,axes=0+2+3,kind=mean/fill=normal/seed=0",
    "reduce/f32/shape=2x128256,axes=1,kind=logsumexp/fill=normal/seed=0",
};

const std::vector<std::string> kSoftmax = {
    "softmax/f32/shape=65x2/fill=normal/seed=0",           "softmax/f32/shape=7x65/fill=normal/seed=0",
    "softmax/f32/shape=7x65,log=1/fill=normal/seed=0",     "softmax/f64/shape=7x65/fill=normal/seed=0",
    "softmax/bf16/shape=7x65/fill=normal/seed=0",          "softmax/f16/shape=16x77/fill=subnormal/seed=0",
    "softmax/f16/shape=16x77/fill=lognormal/seed=0",       "softmax/f32/shape=16x77/fill=special/seed=0",
    "softmax/f32/shape=16x77/fill=outlier/seed=0",         "softmax/f32/shape=2x257/fill=normal/seed=0",
    "softmax/f32/shape=5x129x3,axis=1/fill=normal/seed=0", "softmax/f32/shape=2x128x128/fill=normal/seed=0",
    "softmax/f32/shape=12x197x197/fill=normal/seed=0",     "softmax/f32/shape=2x128256/fill=normal/seed=0",
};

const std::map<std::string, const std::vector<std::string>*> kOf = {
    {"matmul", &kMatmul},
    {"reduce", &kReduce},
    {"softmax", &kSoftmax},
};

}  // namespace

const std::vector<std::string>& HeldCasesOf(const std::string& op) {
  return *kOf.at(op);
}

}  // namespace assay
