# SPDX-License-Identifier: Apache-2.0
"""Where cheats of a kind are described in public: title and address."""

FIELD_GUIDE = ("Wafer, A Field Guide to Reward Hacking in AI Kernel Generation",
               "https://www.wafer.ai/blog/reward-hacks-field-guide")
GARBAGE = ("Wafer, Case Study: A 104x (?) Speedup on KernelBench", "https://www.wafer.ai/blog/reward-hacking")
TENSARA = ("tensara, benchmark copy/replay bypass", "https://github.com/tensara/tensara/pull/238")
KERNELBOT = ("kernelbot, result replay in the scored path", "https://github.com/gpu-mode/kernelbot/pull/501")
BATCH_SKIP = ("GPU MODE, batch-and-skip benchmark exploit", "https://github.com/gpu-mode/reference-kernels/pull/104")
EIGH = ("GPU MODE, content-signature cache and /dev/shm replay",
        "https://github.com/gpu-mode/reference-kernels/pull/160")
FINGERPRINT = ("FlashInfer-Bench, cache-based implementations can inflate speedup",
               "https://github.com/flashinfer-ai/flashinfer-bench-starter-kit/issues/21")
QR_GAPS = ("GPU MODE, validation gaps of the QR problem", "https://github.com/gpu-mode/reference-kernels/issues/148")
KERNELBENCH = ("KernelBench, adversarial tests of the evaluation",
               "https://github.com/ScalingIntelligence/KernelBench/pull/82")
PYGPUBENCH = ("pygpubench, exploit test suite", "https://github.com/gpu-mode/pygpubench/pull/7")
FORGED_PIPE = ("pygpubench, forged results through the inherited pipe",
               "https://github.com/gpu-mode/pygpubench/issues/23")
LLM_C = ("llm.c, two reward-hacking gaps in the bench harness", "https://github.com/karpathy/llm.c/pull/852")
SAKANA = ("Sakana AI's CUDA agent games its own benchmark", "https://agentpostmortem.com/case/apm-0007")
METR = ("METR, recent frontier models are reward hacking",
        "https://www.greaterwrong.com/posts/Zu4ai9GFpwezyfB2K/metr-recent-frontier-models-are-reward-hacking")
MAKORA = ("Makora, reward hacks", "https://makora.com/blog/reward-hacks")
FAKE_CLOCK = ("Klyve, the story of the fake clock", "https://klyve.xyz/blog/ai-agent-reward-hacking")
SPEC = ("ServeTheHome, over 2000 SPEC CPU 2017 results flagged",
        "https://www.servethehome.com/over-2000-spec-cpu-2017-results-flagged-for-compiler-optimization-intel/")
FUTUREMARK = ("Tech Report, further NVIDIA optimizations for 3DMark03?",
              "http://techreport.com/review/5226/further-nvidia-optimizations-for-3dmark03")
MLPERF = ("MLPerf Inference Rules: caching, benchmark detection and input-based optimisation are prohibited",
          "https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc")
SAMSUNG = ("The Guardian, how Samsung fooled benchmarking",
           "http://www.theguardian.com/technology/2013/oct/13/samsung-benchmarking-apps")
PPID = ("sandlock, /proc/{parent_pid} information leak", "https://github.com/multikernel/sandlock/issues/11")
