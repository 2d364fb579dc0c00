#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers of texts of benchdnn, ggml and IREE: importers_test.py [CLASS]."""
import unittest

from damage import TEXTS, damage
from imported import Imported
from assay.importers import _dnn_formulas as formulas
from assay.importers import benchdnn, ggml, iree
from assay.importers._cases import Unusable
from assay.importers._formulas import apply


class Benchdnn(Imported):
    def read(self, driver, text):
        return self.outcomes(benchdnn.read(self.write(f"{driver}/shapes_own", text), ""))

    def expect(self, driver, text, *outcomes):
        with self.subTest(text):
            self.assertEqual(self.read(driver, text), list(outcomes))

    def test_products_with_their_types_batches_and_transpositions(self):
        self.expect("matmul", "3x5:5x7", "matmul/f32/m=3,n=7,k=5")
        self.expect("matmul", "--dt=bf16:bf16:f32 --stag=ba --wtag=any\n3x5:5x7_n\"a_name\"",
                    "matmul/bf16-bf16-f32/m=3,n=7,k=5,transa=1")
        self.expect("matmul", "--wtag=abdc\n2x3x4x5:2x3x5x6", "matmul/f32/m=4,n=6,k=5,batch=6,transb=1")
        self.expect("matmul", "2x4x5:1x5x6", "matmul/f32/m=8,n=6,k=5")
        self.expect("matmul", "--bia-dt=f32 --bia_mask=4\n2x4x5:2x5x6", "matmul/f32/m=4,n=6,k=5,batch=2,bias=1")

    def test_names_are_labels(self):
        for word, label in (('3x5:5x7n"a"', "a"), ('3x5:5x7_n"net:conv_1*3"', "net:conv_1*3"), ('3x5:5x7_n\\"b\\"', "b"),
                            ("3x5:5x7", "")):
            found = self.split(benchdnn.read(self.write("matmul/shapes_own", word), ""))[0]
            self.assertEqual([(one.label, one.case.attrs["n"]) for one in found], [(label, 7)], word)

    def test_options_that_count_multiply_and_others_do_not(self):
        path = self.write("matmul/shapes_own", "--dt=f32,f16 --stag=ab,any,ba --strides=8x1:,,9x1: --frob=1\n3x5:5x7\n--reset\n"
                                               "1x2:2x3")
        self.assertEqual(self.outcomes(benchdnn.read(path, "")), [
            "matmul/f32/m=3,n=7,k=5", "matmul/f32/m=3,n=7,k=5,transa=1", "matmul/f16/m=3,n=7,k=5",
            "matmul/f16/m=3,n=7,k=5,transa=1", "matmul/f32/m=1,n=3,k=2"])
        self.assertEqual(self.split(benchdnn.read(path, ""))[1], [("--strides", True), ("--frob", False)])

    def test_what_has_no_counterpart_says_why(self):
        for driver, text, reason in (
                ("eltwise", "--alg=relu --attr-scales=src:per_dim_1\n2x3", "a scale of src that the formula has no place for"),
                ("matmul", "--attr-post-ops=dw:k3s1p1\n3x5:5x7", "no post-op dw here"),
                ("matmul", "--attr-post-ops=frob\n3x5:5x7", "no post-op frob here"),
                ("matmul", "--attr-scales=src:per_sun\n3x5:5x7", "no policy per_sun here"),
                ("matmul", "--attr-scales=src:common\n3x5:5x7", "attr-scales: a common one without its value"),
                ("matmul", "--attr-scales=wei:per_ocic:f32:3x1\n3x5:5x7", "groups that do not divide k"),
                ("matmul", "--attr-new-thing=x\n3x5:5x7", "attr-others: no such scaling or rounding here"),
                ("matmul", "--dt=s4\n3x5:5x7", "no type s4 here"),
                ("matmul", "--dt=f32:f32\n3x5:5x7", "--dt has not one type or 3"),
                ("matmul", "2x3x5:7x5x7", "the shapes of a product do not fit each other"),
                ("matmul", "3x5:6x7", "the shapes of a product do not fit each other"),
                ("matmul", "--encoding=csr:csr\n3x5:5x7", "encoding: sparse tensors"),
                ("matmul", "--dt=f8_e4m3\n3x5:5x7", "results in 8 bits of floating point, whose overflow oneDNN leaves open"),
                ("shuffle", "3x4", "driver shuffle: no such operator"),
                ("elsewhere", "3x5:5x7", "no driver: give --driver NAME, such as matmul, for files that do not say it"),
                ("conv", "--dir=BWD_D --attr-post-ops=relu\nic3oc4ih5kh3", "attributes of a gradient"),
                ("conv", "--cfg=u8s8\nic3oc4ih5kh3", "--cfg has not one type or three"),
                ("deconv", "--dir=BWD_D\nic3oc4ih5oh7kh3ph0", "dir=BWD_D: a gradient"),
                ("pool", "--dir=BWD_D\nic3ih4kh2", "dir=BWD_D: a gradient"),
                ("reduction", "3x4:3x4", "no axis is reduced"),
                ("eltwise", "--alg=clip --alpha=1\n3x4", "alpha above beta of clip"),
                ("eltwise", "--dir=BWD_D --alg=round\n3x4", "no gradient of round here"),
                ("lnorm", "--flags=X\n3x4", "flags=X: there are G, C and H"),
                ("gnorm", "--flags=CH\ng3mb3ic8ih3", "the groups do not divide the channels")):
            self.expect(driver, text, reason)

    def test_attributes_gradients_and_other_types_become_definitions(self):
        self.expect("matmul", "--attr-post-ops=sum:2+relu:0.5+add:f32:per_oc\n3x5:5x7", "dnn_matmul_sumall_relu_add2_f32/f32")
        self.expect("matmul", "--dt=u8:s8:s32\n3x5:5x7", "dnn_matmul_u8_i8_i32/u8-i8-i32")
        self.expect("conv", "--dir=BWD_D\nic3oc4ih5kh3", "dnn_conv2d_bwd_d_f32/f32")
        self.expect("conv", "ic3oc4ih5oh5kh3ph0", "dnn_conv2d_bias_f32/f32")
        self.expect("lnorm", "--flags=G\n3x4", "dnn_lnorm_G_training_f32/f32")
        self.read("matmul", "--attr-post-ops=relu:0.5,relu:2\n3x5:5x7 4x6:6x8")
        self.assertEqual(len({id(one.case.definition) for one in self.found}), 1)
        self.assertEqual([one.case.attrs for one in self.found][1::2], [{"m": m, "n": n, "k": k, "alpha0": "2"} for m, n, k in ((3, 7, 5), (4, 8, 6))])

    def test_definitions_of_other_operands_have_other_names(self):
        self.expect("matmul", "--dt=f32:f32:f32 --attr-scales=src:common:0.5,src:0,src:per_dim_0\n2x3:3x4",
                    "dnn_matmul_s_src_f32/f32", "dnn_matmul_sv_src_f32/f32", "dnn_matmul_sv_src_1_f32/f32")
        self.expect("matmul", "--attr-zero-points=wei:common:1:s32,wei:0:s32\n2x3:3x4", "dnn_matmul_z_wei_f32/f32", "dnn_matmul_zv_wei_f32_f32_i32_f32/f32-f32-i32-f32")
        self.expect("binary", "--attr-scales=src:per_dim_0,src1:0\n2x3:2x3", "dnn_binary_add_d0_d1_sv_src_1_f32/f32", "dnn_binary_add_d0_sv_src1_f32/f32")

    def test_definitions_that_their_words_do_not_tell_apart_have_a_digest(self):
        def made(function, op):
            f = formulas.start([op], "a test's own")
            formulas.store(f, "y", apply(function, formulas.operand(f, "x", "n", "f32")), "n", "f32")
            return formulas.end(f)[0]["op"]
        for op in ("of_test", "of_test" * 20):
            first, *others = (made(function, op) for function in ("exp", "log", "tanh", "exp", "log"))
            self.assertEqual((first, others[0]), tuple(others[2:]))
            self.assertEqual(len({first, *others}), 3)
            self.assertLessEqual(max(map(len, (first, *others))), 90)

    def test_too_many_choices(self):
        many = "--dt=" + ",".join(["f32:f32:" + str(i) for i in range(400)]) + " --bia-mask=" + ",".join(map(str, range(400)))
        self.expect("matmul", many + " 3x5:5x7", "more than 100000 combinations of options")

    def test_convolutions_are_square_where_one_axis_is_stated(self):
        self.expect("conv", "--dir=FWD_D\nmb1ic3ih8oc4oh8kh3ph1_n\"net:conv1\"", "conv/f32/n=1,c=3,o=4,i=8x8,k=3x3,pad=1")
        self.expect("conv", "g2mb3ic4iw9oc6ow4kw3sw2pw0dw0", "conv/f32/n=3,c=4,o=6,i=9,k=3,stride=2,groups=2,bias=1")
        self.expect("conv", "--dir=fwd_d --dt=bf16\nmb1ic2_ih9iw5oc2kh3kw1dh1",
                    "conv/bf16/n=1,c=2,o=2,i=9x5,k=3x1,dilation=2x1")
        self.expect("conv", "--cfg=f16 --dir=FWD_D --mb=5\nic2oc2id5kd2", "conv/f16/n=5,c=2,o=2,i=5x5x5,k=2x2x2")
        # The padding follows from the output where only that is stated.
        self.expect("conv", "--dir=FWD_D\nmb1ic2oc2ih7oh4kh3sh2", "conv/f32/n=1,c=2,o=2,i=7x7,k=3x3,stride=2,pad=1")

    def test_the_other_drivers(self):
        self.expect("ip", "mb7ic3ih2oc5", "matmul/f32/m=7,n=5,k=12,transb=1,bias=1")
        self.expect("ip", "--cfg=bf16bf16f32 --dir=FWD_D\nmb7ic3oc5", "matmul/bf16-bf16-f32/m=7,n=5,k=3,transb=1")
        self.expect("softmax", "--sdt=f16 --ddt=f16 --alg=LOGSOFTMAX\n4x6x5", "softmax/f16/shape=4x6x5,axis=1,log=1")
        self.expect("softmax", "--dir=BWD_D --axis=2\n4x6x5", "softmax_backward/f32/rows=24,n=5")
        self.expect("reduction", "--alg=mul,norm_lp_sum --p=2 --eps=\n5x3x2:1x3x1",
                    "reduce/f32/shape=5x3x2,axes=0+2,kind=prod,keepdims=1/fill=near_one",
                    "reduce/f32/shape=5x3x2,axes=0+2,kind=l2,keepdims=1")
        self.expect("lnorm", "--flags=CH --dt=bf16\n2x3x8", "layer_norm/bf16-f32-f32-bf16/rows=6,n=8")
        self.expect("lnorm", "--flags=CH --dir=BWD_DW\n2x3x8", "layer_norm_backward/f32/rows=6,n=8")
        self.expect("gnorm", "--flags=CH\ng2mb3ic8ih3iw4", "group_norm/f32/b=3,g=2,c=4,n=12")
        self.expect("eltwise", "--alg=gelu_tanh,exp\n3x4", "gelu/f32/n=12,approx=tanh", "exp/f32/n=12")

    def test_batch_files_commands_and_output(self):
        self.write("matmul/shapes_a", "# a comment\n3x5:5x7 # another\n--batch=shapes_b\n")
        self.write("matmul/shapes_b", "--dt=f16 1x2:2x3\n")
        run = self.write("run.txt", "./benchdnn --matmul --dt=bf16 --batch=shapes_a\n2x2:2x2\n"
                                    "--softmax --axis=0, \\\n   1 \\\n --alg=SOFTMAX 4x4\n--batch=absent\n")
        self.assertEqual(self.outcomes(benchdnn.read(run, "")), [
            "matmul/bf16/m=3,n=7,k=5", "matmul/f16/m=1,n=3,k=2", "matmul/f16/m=2,n=2,k=2", "softmax/f32/shape=4x4,axis=0",
            "softmax/f32/shape=4x4", "a batch file that is not there"])
        log = self.write("log.txt", "0:PASSED (3 ms) __REPRO: --matmul --dt=f16 3x5:5x7\nnothing 1x1:1x1\n"
                                    "1:FAILED __REPRO: --matmul 1x2:2x3\n")
        self.assertEqual(self.outcomes(benchdnn.read(log, "")), ["matmul/f16/m=3,n=7,k=5", "matmul/f32/m=1,n=3,k=2"])

    def test_files_that_include_themselves_end(self):
        self.expect("matmul", "--batch=shapes_own\n", "batch files that include each other more than 16 deep")

    def test_unreadable_files_and_unknown_drivers_are_errors(self):
        self.assertRaises(FileNotFoundError, lambda: list(benchdnn.read("/nowhere/at/all", "")))
        for text in (b"3x5:5x7\0", b"3x5:5x7\xff", b"\x1b[1m3x5:5x7"):
            self.assertRaisesRegex(Unusable, "it is no text", self.read, "matmul", text)
        self.assertRaisesRegex(Unusable, "--driver mat: benchdnn has no driver of this name; give matmul",
                               lambda: list(benchdnn.read("x", "mat")))

    def test_numbers_beyond_all_limits_are_reasons(self):
        for driver, words in (("matmul", "99999999999999999999x1:1x1 0x1:1x1 -1x1:1x1 3000000000x1:1x1 1x1 x:x : "
                                         "1x1x1x1x1x1x1x1x1x1:1x1 2147483648x2147483648x2:1x2x2 +1x1:1x1 1_0x1:1x1"),
                              ("conv", "ic3 ic3oc4ih5kh icoc ic99999999999999999999oc1ih1kh1 zz4 ic1oc1ih1kh1ph2147483649 "
                                       "ic1oc1ih2oh2147483648kh2147483648sh2147483648")):
            for word in words.split():
                found = self.split(benchdnn.read(self.write(f"{driver}/shapes_own", word), ""))[0]
                self.assertTrue(all(one.reason for one in found), word)


class Ggml(Imported):
    def read(self, line, near_types=False):
        return self.outcomes(ggml.read(self.write("cases.txt", line), near_types))

    def expect(self, line, outcome, near_types=False):
        with self.subTest(line):
            self.assertEqual(self.read(line, near_types), [outcome])

    def expect_beginning(self, line, outcome):
        self.assertTrue(self.read(line)[0].startswith(outcome), line)

    def test_products_have_the_weights_as_transposed_b(self):
        types = "type_a=f32,type_b=f32"
        self.expect(f"MUL_MAT({types},m=16,n=3,k=256,bs=[1,1],nr=[1,1],per=[0,1,2,3],k_v=0,o=1)",
                    "matmul/f32/m=3,n=16,k=256,transb=1")
        self.expect(f"MUL_MAT({types},m=16,n=3,k=8,bs=[2,3],nr=[1,1])", "matmul/f32/m=3,n=16,k=8,batch=6,transb=1")
        self.expect(f"MUL_MAT({types},m=16,n=3,k=8,bs=[1,1],nr=[2,2])", "matmul/f32/m=12,n=16,k=8,transb=1")
        self.expect(f"MUL_MAT({types},m=16,n=3,k=8,bs=[3,1],nr=[2,1])", "ggml_mul_mat_repeated/f32")
        self.expect(f"OUT_PROD({types},m=4,n=5,k=6,bs=[1,1],nr=[1,1],trans_b=0)", "matmul/f32/m=5,n=4,k=6,transa=1")

    def test_mixed_types_become_near_ones_only_when_asked(self):
        line = "MUL_MAT(type_a=f16,type_b=f32,m=16,n=1,k=8,bs=[1,1],nr=[1,1])"
        self.expect(line, "ggml_mul_mat/f16-f32-f32")
        self.expect(line, "matmul/f16-f16-f32/m=1,n=16,k=8,transb=1", near_types=True)
        self.read(line + "\n" + line.replace("f16", "f32"), near_types=True)
        self.assertEqual([one.case.other_types for one in self.found], [True, False])

    def test_attention(self):
        shape = "FLASH_ATTN_EXT(hsk=64,hsv=32,nh=4,nr23=[2,1],kv=96,nb=3,"
        self.expect(shape + "mask=0,sinks=0,max_bias=0.000000,logit_softcap=10.000000,prec=f32,type_K=f32,type_V=f32)",
                    "attention/f32/b=1,h=8,hkv=4,l=3,s=96,d=64,dv=32,softcap=10")
        self.expect(shape + "mask=1,type_K=f16,type_V=f16)",
                    "attention/f16/b=1,h=8,hkv=4,l=3,s=96,d=64,dv=32,mask=add", near_types=True)
        self.expect("FLASH_ATTN_EXT(hs=64,nh=4,nr=2,kv=96,nb=3,mask=0,type_KV=f32)",
                    "attention/f32/b=1,h=8,hkv=4,l=3,s=96,d=64")
        self.expect(shape + "mask=0,type_K=f16,type_V=f16)",
                    "ggml_flash_attn/f32-f16-f16-f32")
        self.expect(shape + "mask=0,sinks=1,type_K=f32,type_V=f32)", "ggml_flash_attn_s/f32")
        self.expect(shape + "mask=1,max_bias=8.0,type_K=q8_0,type_V=f16)",
                    "ggml_flash_attn_mb_q8_0_plain/f32-f16-i8-f16-f16-f32")

    def test_rows_and_reductions(self):
        self.expect("SOFT_MAX(type=f32,ne=[10,5,4,3],mask=0,sinks=0,m_prec=f32,nr23=[2,1],scale=1.000000,max_bias=0.000000)",
                    "softmax/f32/shape=3x8x5x10")
        self.expect("SOFT_MAX(type=f32,ne=[10,5,4,3],mask=1,scale=1.0,max_bias=0.0)", "ggml_soft_max_m/f32")
        self.expect("SOFT_MAX_BACK(type=f32,ne=[10,5,4,3],scale=1.0,max_bias=0.0)", "softmax_backward/f32/rows=60,n=10")
        self.expect("SUM(type=f32,ne=[10,5,4,3])", "reduce/f32/shape=3x4x5x10,axes=0+1+2+3,keepdims=1")
        self.expect("SUM_ROWS(type=f32,ne=[10,5,4,3],permute=1,slice=1)", "reduce/f32/shape=2x5x2x10,axes=3,keepdims=1")
        self.expect("ARGMAX(type=f32,ne=[32,10,1,1])", "reduce/f32-i64/shape=1x1x10x32,axes=3,kind=argmax")
        self.expect("ARGSORT(type=f32,ne=[16,10,10,1],order=1)", "sort/f32/rows=100,n=16,descending=1,tie=any")
        self.expect("TOP_K(type=f32,ne=[16,10,1,1],k=3)", "top_k/f32/rows=10,k=3,n=16,tie=any")
        self.expect("CUMSUM(type=f32,ne=[10,5,4,1])", "cumsum/f32/rows=20,n=10")
        self.expect("SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,swapped=0)", "silu_and_mul/f32/rows=8,n=64")
        self.expect("SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,split)", "ggml_swiglu_split/f32")
        self.expect("GET_ROWS(type=f32,n=256,m=5,r=4,be1=1,be2=1,v=0)", "gather/f32-i32-f32/v=5,n=4,d=256")
        self.expect("ROPE(type=f32,ne_a=[64,8,3,1],n_dims=64,mode=2,n_ctx=512,fs=1.0,ef=0.0,af=1.0,ff=0,v=0)",
                    "rope/f32/b=1,l=3,h=8,d=64")

    def test_convolutions(self):
        self.expect("CONV_2D(ne_input=[9,7,2,3],ne_kernel=[3,2,2,4],type_kernel=f32,stride0=1,stride1=2,padding0=1,padding1=0,"
                    "dilation0=1,dilation1=1,cwhn=0)", "conv/f32/n=3,c=2,o=4,i=7x9,k=2x3,stride=2x1,pad=0x1")
        self.expect("CONV_2D_DW(ne_input=[17,34,9,1],ne_kernel=[3,3,1,9],type_kernel=f32,stride=1,padding=0,dilation=1,cwhn=0)",
                    "conv/f32/n=1,c=9,o=9,i=34x17,k=3x3,groups=9")
        self.expect("CONV_3D(N=1,IC=2,ID=5,IH=6,IW=7,OC=3,KD=1,KH=2,KW=3,s0=1,s1=1,s2=1,p0=0,p1=0,p2=0,d0=1,d1=1,d2=1,"
                    "type_kernel=f32)", "conv/f32/n=1,c=2,o=3,i=5x6x7,k=1x2x3")

    def test_finds_cases_in_what_stands_around(self):
        self.assertEqual(self.read("Backend 1/1: CPU\n  Device memory: 24105 MB (24105 MB free)\n"
                                   "  EXP(type=f16,ne_a=[128,2,2,2],v=0): \033[1;32mOK\033[0m\r\n"
                                   "[SOFT_MAX] NMSE = 0.1 > 0.0   SUM(type=f32,ne=[10,5,4,3]): FAIL\n"
                                   "  TRI(type=f16,ne=[5,7,11,13],tri_type=0): OK\n"),
                         ["exp/f16/n=1024", "reduce/f32/shape=3x4x5x10,axes=0+1+2+3,keepdims=1", "no operator TRI here"])
        self.assertTrue(self.found[2].where.endswith("cases.txt:5"))

    def test_what_is_not_known_is_no_case(self):
        self.expect("SUM(type=f32,ne=[10,5,4,3],twist=1)", "twist: a variable that is not known here")
        self.expect_beginning("MUL_MAT(type_a=iq2_xxs,type_b=f32,m=16,n=1,k=256,bs=[1,1],nr=[1,1])", "types in blocks")
        self.expect("MUL_MAT(type_a=q4_0,type_b=f32,m=16,n=1,k=48,bs=[1,1],nr=[1,1])", "a row of 48 elements, which are no whole blocks")
        for op, count in (("ADD", 0), ("MUL", 2147483647)):
            self.expect(f"{op}(type=f32,ne=[6,5,4,3],nr=[1,2,1,2],nf={count})", "nf is not from 1 to 64")
        self.expect("ACC(type=f32,ne_a=[16,7,2,3],ne_b=[16,6,2,3])", "no stride_dim: versions that do not state it add b at other places")
        for line in ("SUM(=)", "SUM(type=f32,ne=[)", "SUM(type=f32,ne=[])", "SUM(type=f32,ne=[0,1,1,1])",
                     "SUM(type=f32,ne=[99999999999999999999,1,1,1])", "SUM(type=f32,ne=[2147483648,2147483648,4,4])",
                     "SUM(type=f32,ne=10)", "SUM_ROWS(type=f32,ne=[10,1,1,1],permute=0,slice=1)",
                     "SOFT_MAX(type=f32,ne=[4,4,2147483648,1],nr23=[2147483648,1])",
                     "SOFT_MAX(type=f32,ne=[4,4,4,4],scale=1e999)", "SOFT_MAX(type=f32,ne=[4,4,4,4],scale=one)",
                     "MUL_MAT(type_a=f32,type_b=f32,m=-1,n=1,k=1,bs=[1,1],nr=[1,1])"):
            found = self.split(ggml.read(self.write("cases.txt", line), False))[0]
            self.assertTrue(len(found) == 1 and found[0].reason, line)

    def test_cases_that_differ_in_extents_share_a_definition(self):
        self.read("\n".join(f"RMS_NORM(type=f32,ne=[{n},5,4,3],v=0,eps=0.000001,inplace=0)" for n in (64, 96)))
        first, second = (one.case for one in self.found)
        self.assertIs(first.definition, second.definition)
        self.assertEqual([one.attrs for one in (first, second)], [{"rows": 60, "n": n, "eps": "1e-06"} for n in (64, 96)])

    def test_lines_that_are_cut_off_are_counted(self):
        cut = "the line ends within the case"
        for line in ("SUM(type=f32,ne=[10,5,4", "SUM(type=f32,", "  SUM(type", "SUM(", "PAD(type=f32,ne=[10"):
            self.expect(line, cut)
        for line in ("Backend 1/2: CPU (some words", "NOTE(see below", "2 of 3 OK (", "SUM"):
            self.assertEqual(self.read(line), [], line)
        self.assertEqual(self.read("SUM(type=f32,ne=[10,5,4,3])\nMEAN(type=f32,ne=[10"),
                         ["reduce/f32/shape=3x4x5x10,axes=0+1+2+3,keepdims=1", cut])


def call(name, description, body=""):
    return f'util.func @{name}() attributes {{\n  iree.reflection = {{description = "{description}"}}\n}} {{\n{body}  util.return\n}}\n'


class Iree(Imported):
    def read(self, *calls):
        begin = "builtin.module @calls attributes {\n} {\nutil.func private @module.matmul_1x1xf32(%lhs: !hal.buffer_view)\n"
        return self.outcomes(iree.read(self.write("calls.mlir", begin + "".join(calls))))

    def test_calls_of_products_and_attention(self):
        self.assertEqual(self.read(
            call("matmul_accumulate_DYNxDYNxf16_times_DYNxDYNxf16_into_DYNxDYNxf32_6_13_3_acc_0", "Matmul shape (MxKxN): 6x13x3",
                 "  %acc_dim0 = arith.constant 6 : i64\n  %transpose_rhs = arith.constant 1 : i32\n"),
            call("matmul_1x10xi8_times_10x10xi8_into_1x10xi32_1_10_10_1", "Matmul shape (MxKxN): 1x10x10",
                 "  %transpose_rhs = arith.constant 0 : i32\n"),
            call("call_batch_matmul_2x8x4xf32_times_2x4x8xf32_into_2x8x8xf32_2x8x4x8_0",
                 "Batch matmul shape (BxMxKxN): 2x8x4x8"),
            call("attention_2_4_8_6_5_dtype_f16_f16_f16_f16_masked_2_4_8_6_5_8_1.0_0",
                 "Attention shape (BATCHxMxK1xK2xN): 2x4x8x6x8x5 (causal masked)", "  %scale = arith.constant 1.0 : f32\n")), [
            "matmul/f16-f16-f32/m=6,n=3,k=13,transb=1,beta=1", "matmul/i8-i8-i32/m=1,n=10,k=10",
            "matmul/f32/m=8,n=8,k=4,batch=2", "attention/f16/b=2,h=1,l=4,s=6,d=8,dv=5,causal=1,align=tl,scale=1"])

    def test_what_has_no_counterpart_says_why(self):
        plain = "matmul_8x8xf32_times_8x8xf32_into_8x8xf32_8_8_8_0"
        self.assertEqual(self.read(
            call("matmul_8x8xf8E4M3FNUZ_times_8x8xf8E4M3FNUZ_into_8x8xf32_8_8_8_0", "Matmul shape (MxKxN): 8x8x8"),
            call(plain, "Matmul shape (MxKxN): 8x8"), call(plain, "Matmul shape (MxKxN): 8x99999999999999x8"),
            call(plain, "Matmul shape (MxKxN): 8x8x8", "  %lhs_scale_dim0 = arith.constant 8 : i64\n"),
            call(plain, "Conv2d shape (NHWC): 8x8x8x8"), call("matmul", "Matmul shape (MxKxN): 8x8x8"),
            "util.func @bare() {\n"), [
            "no type f8E4M3FNUZ here", "its description has another number of extents than it names",
            "an extent is not from 1 to 2^31", "operands in blocks with scales", "no operator for 'Conv2d' here",
            "no type matmul here", "a function without description"])


class Damaged(Imported):
    """Files that somebody has cut, repeated and overwritten: each case is one, or has a reason."""

    READERS = {"benchdnn": lambda path, _: benchdnn.read(path, ""), "ggml": ggml.read, "iree": lambda path, _: iree.read(path)}

    def test_texts_of_each_format(self):
        mapped = unmapped = 0
        for seed in range(400):
            for name, text in TEXTS.items():
                try:
                    found = self.split(self.READERS[name](self.write(name, damage(text, seed)), seed % 2 == 0))[0]
                except Unusable as refused:
                    self.assertIn("it is no text", str(refused))
                    continue
                for one in found:
                    self.assertTrue((one.case is None) == (one.reason != ""), (seed, one))
                mapped += sum(one.case is not None for one in found)
                unmapped += sum(one.case is None for one in found)
        self.assertGreater(mapped, 1000)  # else this would be no test of what comes behind the first check
        self.assertGreater(unmapped, 1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
