# SPDX-License-Identifier: Apache-2.0
"""Files of other projects that somebody has cut, repeated and overwritten."""
import random

TEXTS = {
    "benchdnn": b"--matmul --dt=f32,f16:f16:f32 --stag=ab,ba --bia-dt=undef,f32 --bia_mask=2\n3x5:5x7_n\"a\"\n2x3x4:2x4x5\n"
                b"--conv --dir=FWD_D --mb=2\ng2ic4ih9oc6oh5kh3sh2ph1dh0n\"b\"\n--reduction --alg=sum,mul\n5x3x2:1x3x1\n"
                b"--lnorm --flags=CH\n2x3x8\n--gnorm --flags=CH\ng2mb3ic8ih3iw4\n--eltwise --alg=exp\n3x4\n--ip\nmb7ic3ih2oc5\n"
                b"--softmax --axis=0,1\n4x6\n",
    "ggml": b"MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=256,bs=[2,1],nr=[1,1],per=[0,1,2,3])\n"
            b"FLASH_ATTN_EXT(hsk=64,hsv=32,nh=4,nr23=[2,1],kv=96,nb=3,mask=1,max_bias=0.0,logit_softcap=1.5,type_K=f32,"
            b"type_V=f32)\nSOFT_MAX(type=f32,ne=[10,5,4,3],mask=0,nr23=[2,1],scale=1.0)\n"
            b"SUM_ROWS(type=f32,ne=[10,5,4,3],permute=1,slice=1)\n"
            b"CONV_2D(ne_input=[9,7,2,3],ne_kernel=[3,2,2,4],type_kernel=f32,stride0=1,stride1=2,padding0=1)\n"
            b"SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,swapped=0)\nTOP_K(type=f32,ne=[16,10,1,1],k=4)\n"
            b"ROPE(type=f32,ne_a=[64,8,3,1],n_dims=64,mode=2)\nGET_ROWS(type=f32,n=256,m=5,r=4,be1=1,be2=1,v=0)\n",
    "iree": b"util.func @matmul_1x10xf32_times_10x10xf32_into_1x10xf32_1_10_10_1() attributes {\n"
            b"  iree.reflection = {description = \"Matmul shape (MxKxN): 1x10x10\"}\n  %transpose_rhs = arith.constant 1 : i32\n"
            b"func.func @attention_2_4_8_6_5_dtype_f16_f16_f16_f16_0() attributes {\n"
            b"  iree.reflection = {description = \"Attention shape (BATCHxMxK1xK2xN): 2x4x8x6x8x5\"}\n"
            b"  %scale = arith.constant 1.0 : f32\n"}

PIECES = [b"99999999999999999999", b"2147483648", b"-1", b"0", b"x", b":", b",", b"[", b"]", b"(", b")", b"=", b"\\\n", b"#",
          b"--dt=", b"nan", b"1e999", b"\xff"]


def damage(data, seed):
    """Cuts, repeats and overwrites pieces at random."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        end = min(at + chance.randint(0, 40), len(data))
        number = str(chance.getrandbits(64) >> chance.randint(0, 63)).encode()
        data = chance.choice([data[:at] + data[end:], data[:end] + data[at:], data[:at] + chance.choice(PIECES) + data[at:],
                              data[:at] + bytes([chance.choice([chance.randint(0, 255), chance.randint(48, 57)])]) + data[at + 1:],
                              data[:at] + number + data[end:]])
    return data
