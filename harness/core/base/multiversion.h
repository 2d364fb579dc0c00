// SPDX-License-Identifier: Apache-2.0
// ASSAY_MULTIVERSION marks a hot loop that the compiler shall vectorise once per instruction set, chosen when the
// program starts. The loops use IEEE basic operations without contraction, so every version gives the same bits.
// Off under the sanitizers, whose run time is not ready when the choice is made.
#pragma once

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ASSAY_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ASSAY_MULTIVERSION
#endif

#ifdef __FAST_MATH__
#error "assay's arithmetic must be compiled with IEEE semantics: remove -ffast-math"
#endif
