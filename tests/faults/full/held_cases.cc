// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/full/held_cases.h"

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
    "matmul/f32/m=127,n=5,k=10/fill=normal/seed=0",
    "matmul/i8-i8-i32/m=19,n=1,k=1,batch=8/fill=extremes/seed=0",
    "matmul/i8-i8-i32/m=7,n=24,k=1,batch=8,transa=1,epilogue=rounded/fill=edges/seed=0",
};

const std::vector<std::string> kReduce = {
    "reduce/f32/shape=37x129,axes=1/fill=normal/seed=0",
    "reduce/bf16/shape=37x129,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=mean/fill=normal/seed=0",
    "reduce/f32/shape=37x129,axes=1,kind=l2/fill=normal/seed=0",
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
    "reduce/f16/shape=3x95,axes=0+1,kind=mean/fill=normal/seed=0",
    "reduce/bf16-i64/shape=2x31x29,axes=1,kind=argmin/fill=extremes/seed=0",
    "reduce/f32-i64/shape=3x127x9,axes=0+1,kind=argmin/fill=edges/seed=0",
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

const std::vector<std::string> kAttention = {
    "attention/f32/b=1,h=2,l=24,d=32/fill=uniform/seed=0",
    "attention/f32/b=1,h=2,l=24,d=32/fill=outlier/seed=0",
    "attention/f32/b=1,h=2,l=24,d=32/fill=special/seed=0",
    "attention/f32/b=1,h=2,l=24,d=32,scale=0.0625,softcap=50/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=9,s=5,d=16,causal=1,masked_rows=nan/fill=normal/seed=0",
    "attention/f32/b=2,h=2,l=17,s=33,d=20,dv=12/fill=normal/seed=0",
    "attention/f16/b=2,h=2,l=17,s=33,d=20,dv=12/fill=normal/seed=0",
    "attention/f64/b=2,h=2,l=17,s=33,d=20,dv=12/fill=normal/seed=0",
    "attention/f32/b=2,h=3,l=24,d=32,mask=add,mask_per_head=1/fill=normal/seed=0",
    "attention/f32/b=2,h=3,l=24,d=32,mask=bool/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=33,s=65,d=17,dv=9,window=8/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=33,s=65,d=17,dv=9,causal=1,window=8/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=33,s=65,d=17,dv=9,causal=1/fill=normal/seed=0",
    "attention/f32/b=1,h=4,hkv=2,l=40,d=32,causal=1/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=48,d=32/fill=subnormal/seed=0",
    "attention/f32/b=1,h=2,l=48,d=32/fill=lognormal/seed=0",
    "attention/f32/b=1,h=2,l=1,s=300,d=64,causal=1/fill=normal/seed=0",
    "attention/bf16/b=1,h=2,hkv=1,l=64,s=128,d=256,causal=1,window=48,scale=0.0625,softcap=50/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=128,d=64,mask=bool/fill=normal/seed=0",
    "attention/f32/b=1,h=4,l=197,d=64/fill=normal/seed=0",
    "attention/f32/b=1,h=4,hkv=1,l=1,s=4096,d=128,causal=1/fill=normal/seed=0",
    "attention/f32/b=1,h=8,hkv=2,l=256,d=128,causal=1/fill=normal/seed=0",
    "attention/f32/b=1,h=1,l=1,s=7,d=8/fill=normal/seed=0",
    "attention/f32/b=3,h=1,l=17,s=19,d=1,scale=1,mask=bool/fill=normal/seed=0",
    "attention/f32/b=2,h=4,hkv=2,l=17,s=33,d=20,dv=12,causal=1/fill=normal/seed=0",
};

const std::vector<std::string> kConv = {
    "conv/f32/n=1,c=4,o=4,i=10x10,k=1x1,stride=3/fill=normal/seed=0",
    "conv/f32/n=1,c=4,o=4,i=7x7,k=7x7/fill=normal/seed=0",
    "conv/f32/n=1,c=4,o=4,i=9x9,k=2x2,stride=3/fill=normal/seed=0",
    "conv/f32/n=1,c=4,o=8,i=6x5,k=3x3,pad=1/fill=special/seed=0",
    "conv/f32/n=1,c=5,o=7,i=40,k=5,pad=2/fill=normal/seed=0",
    "conv/f32/n=2,c=6,o=4,i=11x9,k=3x2,stride=2x3,pad=2x1,dilation=2x1,groups=2,bias=1/fill=normal/seed=0",
    "conv/f16/n=2,c=6,o=4,i=11x9,k=3x2,stride=2x3,pad=2x1,dilation=2x1,groups=2,bias=1/fill=normal/seed=0",
    "conv/f32/n=2,c=6,o=10,i=13x11,k=3x3,pad=1/fill=normal/seed=0",
    "conv/f64/n=2,c=6,o=10,i=13x11,k=3x3,pad=1/fill=normal/seed=0",
    "conv/i8-i8-i32/n=2,c=6,o=10,i=13x11,k=3x3,pad=1/fill=normal/seed=0",
    "conv/i8-i8-i32/n=1,c=16,o=8,i=9x9,k=3x3,stride=2,pad=1/fill=uniform/seed=0",
    "conv/f32/n=1,c=12,o=12,i=9x9,k=3x3,pad=1,groups=12/fill=normal/seed=0",
    "conv/f32/n=1,c=8,o=8,i=14x14,k=3x3,pad=2,groups=2/fill=normal/seed=0",
    "conv/f32/n=1,c=16,o=8,i=12x12,k=3x3,pad=1/fill=special/seed=0",
    "conv/f32/n=1,c=16,o=8,i=12x12,k=3x3,pad=1/fill=subnormal/seed=0",
    "conv/f16/n=1,c=16,o=8,i=12x12,k=3x3,pad=1/fill=lognormal/seed=0",
    "conv/f32/n=1,c=3,o=5,i=5x9x7,k=3x3x3,pad=1/fill=normal/seed=0",
    "conv/f32/n=1,c=64,o=24,i=7x7,k=1x1/fill=normal/seed=0",
    "conv/bf16/n=1,c=512,o=128,i=7x7,k=1x1/fill=normal/seed=0",
    "conv/f32/n=1,c=160,o=160,i=7x7,k=3x3,pad=1,groups=160/fill=normal/seed=0",
    "conv/f32/n=1,c=32,o=32,i=33x33,k=3x3,pad=6,dilation=6/fill=normal/seed=0",
    "conv/i8-i8-i32/n=1,c=256,o=64,i=28x28,k=1x1,stride=2/fill=uniform/seed=0",
    "conv/f32/n=1,c=320,o=4,i=64x64,k=3x3,pad=1,bias=1/fill=normal/seed=0",
    "conv/f32/n=1,c=80,o=384,i=300,k=3,pad=1,bias=1/fill=normal/seed=0",
    "conv/f16/n=1,c=2048,o=512,i=7x7,k=1x1/fill=normal/seed=0",
    "conv/bf16/n=1,c=3,o=768,i=224x224,k=16x16,stride=16,bias=1/fill=normal/seed=0",
    "conv/f32/n=1,c=31,o=17,i=15,k=1/fill=normal/seed=0",
    "conv/f32/n=1,c=1,o=2,i=1x128,k=7x7,stride=2,pad=3/fill=normal/seed=0",
    "conv/i8-i8-i32/n=1,c=255,o=1,i=1x1,k=1x3,pad=3,dilation=2/fill=extremes/seed=0",
};

const std::vector<std::string> kFft = {
    "fft/c64/kind=c2c,n=64/fill=near_one/seed=0",
    "fft/c64/kind=c2c,n=31,dir=inv,norm=ortho/fill=near_one/seed=0",
    "fft/c64/kind=c2c,n=75,dir=inv,norm=ortho/fill=near_one/seed=0",
    "fft/c64/kind=c2c,n=101/fill=near_one/seed=0",
    "fft/f32-c64/kind=r2c,n=75,batch=4/fill=normal/seed=0",
    "fft/c64-f32/kind=c2r,n=9x7,batch=2,dir=inv,norm=backward/fill=normal/seed=0",
    "fft/f32-c64/kind=r2c,n=9x7,batch=2/fill=normal/seed=0",
    "fft/f32-c64/kind=r2c,n=14x14,batch=16,norm=ortho/fill=normal/seed=0",
    "fft/c64-f32/kind=c2r,n=14x14,batch=16,dir=inv,norm=ortho/fill=normal/seed=0",
    "fft/f64-c128/kind=r2c,n=360/fill=normal/seed=0",
    "fft/c64/kind=c2c,n=64,batch=4/fill=special/seed=0",
    "fft/c64/kind=c2c,n=256,batch=8/fill=subnormal/seed=0",
    "fft/c64/kind=c2c,n=256,batch=8/fill=special/seed=0",
    "fft/c64/kind=c2c,n=256,batch=8/fill=outlier/seed=0",
    "fft/c64/kind=c2c,n=360/fill=near_one/seed=0",
    "fft/c64/kind=c2c,n=1000,dir=inv,norm=ortho/fill=near_one/seed=0",
    "fft/c128/kind=c2c,n=1024/fill=normal/seed=0",
    "fft/c64-f32/kind=c2r,n=400,batch=20,dir=inv,norm=backward/fill=normal/seed=0",
    "fft/c64/kind=c2c,n=64x48/fill=near_one/seed=0",
    "fft/c64/kind=c2c,n=4096/fill=near_one/seed=0",
    "fft/f32-c64/kind=r2c,n=400,batch=100/fill=near_one/seed=0",
    "fft/c128/kind=c2c,n=65536/fill=normal/seed=0",
    "fft/c128/kind=c2c,n=32x32x32/fill=normal/seed=0",
};

const std::map<std::string, const std::vector<std::string>*> kOf = {
    {"matmul", &kMatmul},       {"reduce", &kReduce}, {"softmax", &kSoftmax},
    {"attention", &kAttention}, {"conv", &kConv},     {"fft", &kFft},
};

}  // namespace

const std::vector<std::string>& HeldCasesOf(const std::string& op) {
  return *kOf.at(op);
}

}  // namespace assay
