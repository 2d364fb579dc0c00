// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/loaded_libraries.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kMaps =
    "55d0c0a00000-55d0c0a10000 r-xp 00000000 fe:00 1 /usr/bin/assay\n"
    "7f0000000000-7f0000001000 r--p 00000000 fe:00 2 /usr/lib/libdnnl.so.2.6\n"
    "7f0000001000-7f0000002000 r-xp 00001000 fe:00 2 /usr/lib/libdnnl.so.2.6\n"
    "7f0000003000-7f0000004000 r--p 00000000 fe:00 3 /opt/with blank/libdata.so\n"
    "7f0000004000-7f0000005000 r-xp 00000000 fe:00 4 /opt/with blank/libown.so (deleted)\n"
    "7f0000006000-7f0000007000 r-xp 00000000 00:00 0 \n"
    "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n";

TEST(LoadedLibraries, AreTheMappedFilesWithExecutableCode) {
  EXPECT_THAT(LibrariesInMaps(kMaps), ElementsAre("/opt/with blank/libown.so", "/usr/lib/libdnnl.so.2.6"));
}

TEST(LoadedLibraries, OfThisProcessAreNoneBeyondItsOwn) {
  EXPECT_THAT(LibrariesLoadedBy(::getpid()), IsEmpty());
}

TEST(LoadedLibraries, AreUnnamedUnlessTheVersionNamesTheirProduct) {
  const LibraryPaths loaded = LibrariesInMaps(kMaps);
  EXPECT_EQ(FindUnnamedLibraries(loaded, ""), "libdnnl.so.2.6 (oneDNN)");
  EXPECT_EQ(FindUnnamedLibraries(loaded, "our own 1.0"), "libdnnl.so.2.6 (oneDNN)");
  EXPECT_EQ(FindUnnamedLibraries(loaded, "oneDNN 2.6.3"), "");
  EXPECT_EQ(FindUnnamedLibraries({"/usr/lib/libc.so.6"}, ""), "");
  EXPECT_EQ(FindUnnamedLibraries({"/x/libcublas.so.12", "/x/libcudnn_ops.so.9"}, "CUDA 13.0"), "");
  EXPECT_EQ(FindUnnamedLibraries({"/x/libcublas.so.12", "/x/libopenblas.so.0"}, "x"),
            "libcublas.so.12 (cuBLAS), libopenblas.so.0 (OpenBLAS)");
}

}  // namespace
}  // namespace assay
