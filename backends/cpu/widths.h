// SPDX-License-Identifier: Apache-2.0
// One body per vector width, chosen when the plugin is loaded. No width changes a result: lanes are different output
// elements, and multiply and add stay apart. Sanitizers run before such a choice can be made, so not with them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ASSAY_CPU_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ASSAY_CPU_WIDTHS
#endif
