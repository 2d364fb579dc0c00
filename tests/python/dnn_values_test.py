#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions that benchdnn's problems become, on results of an evaluation in NumPy that knows nothing of them: right ones pass,
faulty ones do not. dnn_values_test.py [CLASS]; dnn_values_test.py --file FILE COUNT SEED draws problems of a file of benchdnn's."""
import unittest

import numpy as np

import imported_values as values
from dnn_reference import evaluate
from imported import Imported
from assay.importers import benchdnn
from assay.importers._cases import Option

_INT8 = "--dt=u8:s8:{} --attr-scales=src:common:0.25+wei:per_oc+dst:common:4 --attr-zero-points=src:common:1+dst:common:2"
_ELTWISE = ("abs clip:-0.5:0.5 clip_v2:-0.5:0.5 elu:0.5 exp gelu_erf gelu_tanh hardsigmoid:0.25:0.5 hardswish:0.25:0.5 linear:2:1 logistic "
            "mish relu:0.1 round soft_relu:2 square swish:0.5 tanh pow:2:2").split()
_PLAIN = "abs clip clip_v2 elu exp gelu_erf gelu_tanh hardsigmoid hardswish linear log logistic mish pow relu round soft_relu sqrt square swish tanh".split()
_FROM_DST = "exp_dst logistic_dst sqrt_dst tanh_dst elu_dst relu_dst clip_v2_dst".split()
LINES = [
    *(f"--matmul --attr-post-ops={op}\n6x16:16x7" for op in _ELTWISE),
    "--matmul --attr-post-ops=sum:2+relu+add:f32:per_oc\n6x16:16x7", "--matmul --attr-post-ops=prelu:per_oc+mul:f32:per_tensor\n6x16:16x7",
    "--matmul --dt=f16 --bia-dt=f32 --bia_mask=1 --attr-post-ops=add:bf16:13:abcd+sub:f32\n2x3x4x16:2x3x16x5", "--matmul --dt=f32:bf16:f32\n3x4x16:1x16x5",
    f"--matmul {_INT8.format('s8')} --attr-post-ops=sum:1.5:2\n6x16:16x7", f"--matmul {_INT8.format('u8')} --bia-dt=s32\n6x16:16x7",
    f"--matmul {_INT8.format('s32')}\n6x16:16x7", "--matmul --dt=f32:s8:f32 --attr-scales=wei:per_ocic:bf16:4x1 --attr-zero-points=wei:per_ocic:s8:4x1\n6x16:16x7",
    "--matmul --dt=f32:s8:f32 --attr-scales=wei:per_ocic:bf16:1x1 --attr-zero-points=wei:common:-1:s8\n2x6x16:2x16x7", "--matmul\n2x1x6x16:1x3x16x7",
    "--matmul --attr-scales=src:0+wei:per_dim_0\n6x16:16x7", "--ip --dir=FWD_B --attr-post-ops=sum:0.5+mul:s32:per_oc+relu:0.5\nmb5ic3ih2oc4", f"--ip {_INT8.format('u8')}\nmb5ic8oc4", "--ip --dir=BWD_D\nmb5ic3ih2oc4",
    "--ip --dir=BWD_WB --dt=bf16:f32:bf16\nmb5ic3ih2oc4",
    "--conv --dir=FWD_B --attr-post-ops=sum:1.5+relu+add:f32:per_oc\nmb2ic4ih6oc6oh4kh3ph0", "--conv --dir=FWD_D\nmb2g2ic4ih6iw5oc6oh6ow3kh3kw2sw2ph2pw0dh1",
    f"--conv --dir=FWD_B {_INT8.format('u8')}\nmb2g2ic4ih6oc6oh6kh3ph1", f"--conv --dir=FWD_D {_INT8.format('f32')} --attr-post-ops=prelu:per_oc\nmb2ic4iw6oc6ow6kw3pw1",
    "--conv --dir=FWD_I --dt=s8:s8:s8 --attr-zero-points=src:per_dim_1+dst:common:1\nmb2ic8iw5oc4ow5kw1pw0",
    "--conv --dir=BWD_D\nmb2g2ic4ih7oc6oh4kh3sh2ph1n\"uneven\"", "--conv --dir=BWD_WB\nmb2ic4ih7iw5oc6oh4ow3kh3kw3sh2sw2ph1pw1", "--conv --dir=BWD_W --dt=bf16:f32:bf16\nmb2g2ic4id3oc4od3kd3pd1",
    "--conv --dir=BWD_D\nmb1ic2id4ih3iw3oc3od2oh3ow3kd3kh1kw2sd2ph0pd1pw0",
    "--deconv --dir=FWD_B --attr-post-ops=relu\nmb2g2ic4ih4oc6oh8kh3sh2ph1", "--deconv --dir=FWD_D --dt=bf16:bf16:f32\nmb2ic3iw4oc2ow9kw3sw2pw0dw1",
    "--softmax --axis=1 --sdt=f32 --ddt=u8 --attr-scales=src:common:128\n3x9x4", "--softmax --axis=2 --attr-post-ops=mul:f32:per_tensor+add:bf16:per_oc\n2x3x12",
    "--softmax --alg=logsoftmax --axis=0 --ddt=bf16 --attr-post-ops=linear:0.5:2\n9x4", "--softmax --dir=BWD_D --axis=1\n3x9x4", "--softmax --dir=BWD_D --alg=logsoftmax --axis=0\n9x4",
    *(f"--reduction --alg={alg} --p={p} --eps=0.5\n3x8x4:3x1x4" for alg, p in (("norm_lp_max", 1), ("norm_lp_sum", 2), ("norm_lp_power_p_max", 2), ("norm_lp_power_p_sum", 1))),
    "--reduction --alg=max --sdt=s8 --ddt=s32\n3x8x4:1x8x1", "--reduction --alg=mean --attr-post-ops=sum+linear:2:1+add:f32:per_oc\n3x8x4:1x8x1",
    "--reduction --alg=mul --sdt=bf16 --ddt=f32\n3x4x4:3x1x1", "--reduction --alg=mean --sdt=u8 --ddt=u8\n3x8x4:3x1x4",
    *(f"--lnorm --flags={flags}\n5x2x16" for flags in ("", "G", "C", "GH")), "--lnorm --flags=CH --dir=FWD_I --dt=f32:s8 --attr-scales=src:common:64+dst:common:0.5\n5x16",
    *(f"--lnorm --dir={direction} --flags={flags}\n5x16" for direction, flags in (("BWD_D", ""), ("BWD_DW", "C"), ("BWD_DW", "GCH"))),
    *(f"--gnorm --dir=FWD_D --flags={flags}\ng2mb2ic6ih4iw3" for flags in ("", "G", "H")), "--gnorm --flags=GCH --dir=FWD_I --attr-scales=src:common:64\ng2mb2ic6ih4",
    *(f"--eltwise --alg={alg} --alpha=0.25 --beta=0.5\n3x40" for alg in _PLAIN if alg not in ("exp", "log", "tanh", "gelu_erf", "gelu_tanh")),
    *(f"--eltwise --dir=BWD_D --alg={alg} --alpha=0.25 --beta=0.5\n3x40" for alg in (*_PLAIN, *_FROM_DST) if alg != "round"),
    *(f"--eltwise --alg={alg} --alpha=0.25 --dt={dt}\n3x40" for alg, dt in (("tanh", "f8_e4m3"), ("relu", "f8_e5m2"), ("swish", "f8_e4m3"), ("elu", "f8_e5m2"))),
    "--eltwise --alg=relu --attr-post-ops=add:f32+mul:f32:per_oc\n3x5x4", "--eltwise --alg=linear --alpha=2 --beta=1 --dt=s8\n3x40",
    *(f"--pool --alg={alg}\nmb2ic3ih7iw6oh4ow5kh3kw2sh2ph1pw0" for alg in ("max", "avg_np", "avg_p")), "--pool --alg=max --dt=f8_e4m3\nmb2ic3iw8ow4kw2sw2pw0", "--pool --alg=avg_p --dt=u8 --attr-post-ops=add:f32:per_oc\nmb2ic3iw8ow4kw2sw2pw0",
    *(f"--binary --alg={alg}\n3x5x4:3x1x4" for alg in "add sub mul div max min eq ne ge gt le lt".split()),
    "--binary --alg=mul --sdt=s8:u8 --ddt=s8 --attr-scales=src:common:0.5+src1:common:0.25 --attr-post-ops=sum:0.5\n3x5:1x5", "--binary --alg=add --attr-post-ops=relu:0.1\n1x5x4:3x5",
    "--binary --alg=add --attr-scales=src1:per_dim_1\n2x3x4:1x3x4", "--binary --alg=mul --attr-scales=src:per_dim_01+src1:6\n2x3x4:2x1x4",
    "--prelu\n3x5x4:1x5x1", "--prelu --dir=BWD_DW\n3x5x4:1x5x1", "--prelu --sdt=bf16:f32\n3x5:3x5"]


def found_in(path):
    return [one for one in benchdnn.read(path, "") if not isinstance(one, Option) and one.case and one.case.definition]


def results_of(found, change=lambda inputs: inputs, text=None):
    case = values.case_of(found.case)
    with np.errstate(all="ignore"):
        return case, values.outputs_of(case, evaluate(text or found.text, change(values.inputs_of(case)), case.attrs))


class Judged(Imported):
    def test_right_results_pass_and_one_wrong_element_does_not(self):
        for line in LINES:
            with self.subTest(line):
                found = found_in(self.write("lines", f"--reset {line}"))
                self.assertEqual(len(found), 1)
                values.expect_judged(self, *results_of(found[0]))


class Faulty(Imported):
    def refuse(self, line, change=lambda inputs: inputs, replaced=()):
        with self.subTest(line, replaced=replaced):
            found = found_in(self.write("lines", line))[0]
            text = found.text
            for one, other in replaced:
                self.assertIn(one, text)
                text = text.replace(one, other)
            case, wrong = results_of(found, change, text)
            self.assertFalse(values.verdict_alone(case, wrong).passed, case.id)

    def test_parts_that_are_forgotten_or_taken_for_others(self):
        for op in _ELTWISE:
            self.refuse(f"--matmul --attr-post-ops={op}\n6x16:16x7", replaced=[(f"--attr-post-ops={op}", "")])
        line = "--matmul --attr-post-ops=sum:2+relu:0.5+add:f32:per_oc --bia-dt=f32\n6x16:16x7"
        for replaced in (("sum:2+", "linear:1:0+"), ("sum:2", "sum:1"), ("relu:0.5", "relu"), ("--bia-dt=f32", "")):
            self.refuse(line, replaced=[replaced])
        self.refuse(line, lambda inputs: inputs | {"add2": np.roll(inputs["add2"], 1, -1)})
        self.refuse("--conv --dir=FWD_B --attr-post-ops=sum:1.5+relu\nmb2ic4ih6oc6oh6kh3ph1", lambda inputs: {name: x for name, x in inputs.items() if name != "bias"})

    def test_scales_and_zero_points_of_others(self):
        groups = "--matmul --dt=f32:s8:f32 --attr-scales=wei:per_ocic:bf16:4x1 --attr-zero-points=wei:per_ocic:s8:4x1\n6x16:16x7"
        for name in ("scale_wei", "zero_wei"):
            for axis in (0, 1):
                self.refuse(groups, lambda inputs: inputs | {name: np.roll(inputs[name], 1, axis)})
        line = f"--conv --dir=FWD_D {_INT8.format('f32')}\nmb2g2ic4ih6oc6oh6kh3ph1"
        self.refuse(line, lambda inputs: inputs | {"scale_wei": np.roll(inputs["scale_wei"], 1, 1)})
        for replaced in (("src:common:1+dst", "src:common:0+dst"), ("dst:common:2", "dst:common:0"), ("dst:common:4", "dst:common:2")):
            self.refuse(line, replaced=[replaced])
        line = "--binary --alg=add --attr-scales=src1:per_dim_1\n2x3x3:1x3x3"
        self.assertIn({"name": "scale_src1", "axes": ["d1"], "role": "weight"}, found_in(self.write("lines", line))[0].case.definition["inputs"])
        self.refuse(line, lambda inputs: inputs | {"scale_src1": np.roll(inputs["scale_src1"], 1)})
        self.refuse(line, replaced=[("src1:per_dim_1", "src1:per_dim_2")])

    def test_gradients_and_paddings_of_others(self):
        self.refuse("--conv --dir=BWD_D\nmb2ic4ih7oc6oh4kh3sh2ph1", replaced=[("ph1", "ph0")])
        self.refuse("--conv --dir=BWD_W\nmb2ic4ih7oc6oh4kh3sh2ph1", replaced=[("ph1", "ph0")])
        self.refuse("--conv --dir=FWD_D\nmb2ic4ih6oc6oh4kh3sh2ph0", replaced=[("ph0", "ph1")])
        self.refuse("--lnorm --dir=BWD_DW --flags=GCH\n5x16", replaced=[("flags=GCH", "flags=CH")])
        self.refuse("--lnorm --flags=C\n5x16", lambda inputs: inputs | {"gamma": np.ones_like(inputs["gamma"])})
        self.refuse("--pool --alg=avg_p\nmb2ic3ih7oh4kh3sh2ph1", replaced=[("avg_p", "avg_np")])


if __name__ == "__main__":
    values.main(found_in, results_of)
