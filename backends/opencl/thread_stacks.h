// SPDX-License-Identifier: Apache-2.0
// Stacks that are large enough for work-groups that a processor's driver runs as loops.
#pragma once

namespace opencl {

// PoCL runs a work-group on one thread and keeps on its stack what the work-items hold across a barrier. It tells VkFFT
// that the second-level cache is local memory, so VkFFT gives a whole line to one work-group: 8.5 MB of stack for a
// line of 1 MiB and up to 15 times a line were seen, where threads have 8 MB by default and end with SIGSEGV. Threads
// that are made after this call have 128 MiB, of which the kernel provides what is touched; so does the calling one, on
// which PoCL's device "basic" runs. Nothing that is larger already is changed. Lines of more than 6 MiB are not offered
// there.
//
// To be called before the first OpenCL call, as a driver starts its threads then: those that are there already keep the
// stack they have. A worker has loaded nothing else that could have started them.
void RaiseThreadStacks();

}  // namespace opencl
