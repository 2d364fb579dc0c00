#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions that ggml's cases become, on results of an evaluation in NumPy that knows nothing of them: right ones pass, faulty ones
do not. ggml_values_test.py [CLASS]; ggml_values_test.py --file CASES COUNT SEED draws cases of what test-backend-ops prints."""
import unittest

import numpy as np

import imported_values as values
from ggml_reference import evaluate
from imported import Imported
from assay.importers import ggml

_MUL = "MUL_MAT(type_a={},type_b=f32,m=6,n=3,k=256,bs=[{}],nr=[{}],per=[0,1,2,3],k_v=0,o=1)"
_ATTENTION = ("FLASH_ATTN_EXT(hsk={hsk},hsv=32,nh=2,nr23=[3,2],kv=40,nb=3,mask={mask},sinks={sinks},max_bias={bias},logit_softcap={cap},"
              "prec=f32,type_K={k},type_V={v},permute=[0,1,2,3],kv_view=1,v_is_view_of_k={shared})")
_ROPE = "ROPE{}(type={},ne_a=[16,3,5,2],n_dims={},mode={},n_ctx=64,fs=1.0,ef=0.0,af=1.0,ff=0,v=0,inplace=0,n_offs={})"
_SOFT_MAX = "SOFT_MAX(type=f32,ne=[30,4,2,3],mask={},sinks={},m_prec={},nr23=[3,2],scale=0.25,max_bias={},inplace=0)"
_CONV = "CONV_2D(ne_input=[9,8,3,2],ne_kernel=[3,2,3,4],type_kernel=f16,stride0=2,stride1=1,padding0=1,padding1=2,dilation0=1,dilation1=2,cwhn=0)"


def _attention(hsk=32, mask=1, sinks=0, bias=0, cap=0, k="f16", v="f16", shared=0):
    return _ATTENTION.format(**locals())


BLOCKS = "q1_0 q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl nvfp4 q2_K q3_K q4_K q5_K q6_K tq2_0 iq4_xs".split()
LINES = [
    *(_MUL.format(kind, "1,1", "1,1") for kind in ("f16", "bf16", *BLOCKS)), *(_MUL.format(kind, "2,3", "2,2") for kind in ("f16", "f32", "q4_0", "q4_K")),
    *(f"GET_ROWS(type={kind},n=256,m=5,r=4,be1=1,be2=1,v=0)" for kind in BLOCKS),
    *(f"OUT_PROD(type_a={kind},type_b=f32,m=256,n=3,k=5,bs=[2,1],nr=[{nr}],trans_b={t})" for kind, nr, t in (
        ("f16", "1,1", 0), ("q8_0", "2,2", 0), ("q4_K", "1,1", 1))),
    *(f"MUL_MAT_ID(type_a={kind},type_b=f32,n_mats=4,n_used=2,b={b},m=5,n=6,k=256)" for kind, b in (("f16", 0), ("f32", 1), ("q4_0", 0), ("q6_K", 1))),
    _attention(), _attention(sinks=1, bias=8, k="bf16", v="bf16"), _attention(cap=10, k="f32", v="f32"), _attention(mask=0, sinks=1),
    _attention(k="q8_0", v="q4_0", sinks=1), _attention(hsk=72, k="q4_1", v="q4_1", bias=8), _attention(hsk=64, shared=1, k="q8_0", v="q8_0"),
    _attention(hsk=48, shared=1),
    *(_SOFT_MAX.format(*one) for one in ((0, 0, "f32", 0), (1, 0, "f16", 0), (1, 1, "f32", 8), (0, 1, "f32", 0))),
    "SOFT_MAX_BACK(type=f32,ne=[16,4,1,1],scale=0.1,max_bias=0.0)",
    *(_ROPE.format(*one) for one in (("", "f32", 16, 0, 0), ("", "f16", 8, 0, 4), ("", "f32", 10, 2, 2), ("_BACK", "f32", 16, 2, 0), ("_BACK", "f16", 16, 24, 0),
                                     ("", "f32", 12, 40, 0))),
    _CONV, "CONV_2D_DW(ne_input=[9,7,4,2],ne_kernel=[3,3,1,4],type_kernel=f16,stride=2,padding=1,dilation=1,cwhn=0)",
    "CONV_3D(N=2,IC=2,ID=4,IH=5,IW=6,OC=3,KD=2,KH=3,KW=2,s0=1,s1=2,s2=1,p0=1,p1=0,p2=1,d0=2,d1=1,d2=1,type_kernel=f16)",
    "CONV_TRANSPOSE_1D(ne_input=[7,3,1,1],ne_kernel=[4,2,3,1],s0=3,p0=0,d0=1)", "CONV_TRANSPOSE_2D(kernel_type=f16,ne_input=[5,4,3,2],ne_kernel=[3,2,4,3],stride=2)",
    "COL2IM_1D(type=f32,K=4,OC=3,T_in=7,s0=2,p0=1)",
    "IM2COL(type_input=f32,type_kernel=f16,dst_type=f16,ne_input=[9,8,3,2],ne_kernel=[3,2,3,4],s0=2,s1=1,p0=1,p1=0,d0=1,d1=2,is_2D=1)",
    "IM2COL(type_input=f32,type_kernel=f32,dst_type=f32,ne_input=[20,2,2,1],ne_kernel=[3,2,4,1],s0=3,s1=0,p0=1,p1=0,d0=2,d1=0,is_2D=0)",
    "IM2COL_3D(type_input=f32,type_kernel=f32,dst_type=f32,ne_input=[6,5,4,6],ne_kernel=[3,2,2,9],IC=3,s0=1,s1=2,s2=1,p0=1,p1=0,p2=1,d0=1,d1=1,d2=2,v=0)",
    *(f"POOL_1D(pool_type={kind},type_input=f32,ne_input=[11,3,2,1],k0=3,s0=2,p0=2)" for kind in ("avg", "max")),
    *(f"POOL_2D(pool_type={kind},type_input=f32,ne_input=[10,9,3,1],k0=3,k1=2,s0=2,s1=1,p0=1,p1=1)" for kind in ("avg", "max")),
    "CPY(type_src=f32,type_dst=f16,ne_src=[6,5,4,3],permute_src=[0,2,1,3],permute_dst=[0,0,0,0],_src_transpose=0)",
    "CPY(type_src=f32,type_dst=f32,ne_src=[6,5,4,3],permute_src=[1,0,2,3],permute_dst=[0,0,0,0],_src_transpose=1)",
    "CPY(type_src=q5_1,type_dst=f32,ne_src=[64,2,3,4],permute_src=[0,3,1,2],permute_dst=[0,0,0,0],_src_transpose=0)",
    "DUP(type=i16,ne=[10,8,3,1],permute=[1,2,0,3])", "CONT(type=f32,ne=[6,5,4,3],use_view_slice=0,permute=[0,0,0,0])",
    "CONCAT(type=i32,ne_a=[5,4,3,2],ne_b_d=7,dim=1,v=1)", "REPEAT(type=f32,ne=[5,4,3,2],nr=[1,2,3,1])", "REPEAT_BACK(type=f32,ne=[5,4,3,2],nr=[2,1,2,3],v=0)",
    *(f"{op}(type=f32,ne=[6,5,4,3],nr=[1,2,1,2],nf={nf},perm1=0,src_overlap=0)" for op, nf in (("ADD", 1), ("SUB", 1), ("MUL", 3), ("DIV", 1))),
    *(f"{op}(type=f32,ne_a=[64,2,2,2],v=0)" for op in "ABS SGN NEG STEP ELU RELU SIGMOID SILU EXPM1 GELU_QUICK HARDSIGMOID HARDSWISH SOFTPLUS FLOOR CEIL TRUNC ROUND".split()),
    *(f"{op}(type=f16,ne=[64,2,2,2])" for op in "SQR SQRT SIN COS".split()),
    *(f"{op}(type=f32,ne_a=[32,3,2,1],v=0,{form})" for op, form in (("REGLU", "split"), ("GEGLU", "swapped=0"), ("GEGLU_ERF", "swapped=1"),
                                                                    ("GEGLU_QUICK", "swapped=0"), ("SWIGLU", "split"))),
    "SWIGLU_OAI(type=f32,ne_a=[32,3,2,1],v=0,alpha=1.702,limit=0.5)", "LEAKY_RELU(type=f32,ne_a=[10,5,4,3],negative_slope=0.1)",
    "CLAMP(type=f32,ne=[10,5,4,3],min=-0.5,max=0.5)", "SCALE(type=f32,ne=[10,10,10,1],scale=2.0,bias=1.0,inplace=0)",
    *(f"{op}(type=f32,ne=[64,5,4,1],v=0,eps=0.01)" for op in ("NORM", "RMS_NORM", "L2_NORM")), "GROUP_NORM(type=f32,ne=[6,5,8,2],num_groups=4,eps=0.000001)",
    "RMS_NORM_BACK(type=f32,ne=[64,5,1,1],eps=0.01)", "SILU_BACK(type=f32,ne=[64,5,4,3],eps=0.000001)", "CROSS_ENTROPY_LOSS(type=f32,ne=[10,5,1,1])",
    "ADD_ID(type_a=f32,type_b=f32,n_embd=16,n_experts=4,n_experts_used=2,n_token=5)", "ACC(type=f32,ne_a=[16,7,2,3],ne_b=[16,6,2,3],stride_dim=-1)",
    "PAD(type=f32,ne_a=[6,5,4,3],lp0=1,rp0=2,lp1=0,rp1=3,lp2=1,rp2=0,lp3=0,rp3=1,tfrm=0,circular=0)", "SSM_CONV(type=f32,ne_a=[8,6,2,1],ne_b=[4,6,1,1])"]


def found_in(path):
    return [one for one in ggml.read(path, False) if one.case and one.case.definition]


def results_of(found, change=lambda inputs: inputs, text=None):
    case = values.case_of(found.case)
    with np.errstate(all="ignore"):
        return case, values.outputs_of(case, evaluate(text or found.text, change(values.inputs_of(case))))


class Judged(Imported):
    def test_right_results_pass_and_one_wrong_element_does_not(self):
        found = found_in(self.write("cases.txt", "\n".join(LINES)))
        self.assertEqual(len(found), len(LINES))
        for one in found:
            with self.subTest(one.text):
                values.expect_judged(self, *results_of(one))


class Faulty(Imported):
    def refuse(self, line, change=lambda inputs: inputs, text=None):
        with self.subTest(line):
            case, wrong = results_of(found_in(self.write("cases.txt", line))[0], change, text)
            self.assertFalse(values.verdict_alone(case, wrong).passed, case.id)

    def test_parts_that_are_forgotten(self):
        line = _attention(sinks=1, bias=8, cap=10)
        for part, without in (("sinks=1", "sinks=0"), ("mask=1", "mask=0"), ("max_bias=8", "max_bias=0"), ("logit_softcap=10", "logit_softcap=0"),
                              ("hsk=32", "hsk=33")):
            self.refuse(line, text=line.replace(part, without))
        line = _SOFT_MAX.format(1, 1, "f32", 8)
        for part, without in (("sinks=1", "sinks=0"), ("mask=1", "mask=0"), ("max_bias=8", "max_bias=0"), ("scale=0.25", "scale=0.3")):
            self.refuse(line, text=line.replace(part, without))
        self.refuse("SWIGLU_OAI(type=f32,ne_a=[32,3,2,1],v=0,alpha=1.702,limit=0.5)", text="SWIGLU_OAI(alpha=1.702,limit=7)")
        for line in ("NORM", "RMS_NORM"):
            self.refuse(f"{line}(type=f32,ne=[64,5,4,1],v=0,eps=0.01)", text=f"{line}(eps=0)")

    def test_fields_of_blocks_that_are_taken_from_elsewhere(self):
        for kind, field in (("q4_0", "d"), ("q4_1", "m"), ("q8_0", "d"), ("q5_0", "qh"), ("q4_K", "scales"), ("q4_K", "dmin"), ("q6_K", "scales")):
            name = f"a_{field}"
            for line, axis in ((_MUL.format(kind, "1,1", "1,1"), 1), (f"GET_ROWS(type={kind},n=256,m=5,r=4,be1=1,be2=1,v=0)", 0)):
                self.refuse(line, lambda inputs: inputs | {name: np.roll(inputs[name], 1, axis)})

    def test_wrong_places_and_paddings(self):
        self.refuse(_CONV, text=_CONV.replace("padding0=1,padding1=2", "padding0=2,padding1=1").replace("stride0=2,stride1=1", "stride0=1,stride1=2")
                    .replace("dilation0=1,dilation1=2", "dilation0=2,dilation1=1").replace("[9,8,3,2]", "[8,9,3,2]"),
                    change=lambda inputs: {"x": inputs["x"].swapaxes(2, 3), "w": inputs["w"][..., :2].repeat(2, -2)[..., :3, :]})
        self.refuse("MUL_MAT_ID(type_a=f16,type_b=f32,n_mats=4,n_used=2,b=0,m=5,n=6,k=64)", lambda inputs: inputs | {"ids": inputs["ids"][:, ::-1]})
        pool = "POOL_2D(pool_type=avg,type_input=f32,ne_input=[10,9,3,1],k0=3,k1=2,s0=2,s1=1,p0=1,p1=1)"
        self.refuse(pool, text=pool.replace("avg", "max"))


if __name__ == "__main__":
    values.main(found_in, results_of)
