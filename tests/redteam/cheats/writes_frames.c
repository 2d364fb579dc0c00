/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes replies of its own to whatever descriptors the worker has open: zeros are right, and they took no time.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  static const char kReply[] = "{\"status\":0,\"seconds\":1e-9,\"begin_ns\":0}";
  const uint32_t size = sizeof kReply - 1;
  unsigned char frame[4 + sizeof kReply - 1];
  memcpy(frame, &size, sizeof size);
  memcpy(frame + 4, kReply, sizeof kReply - 1);
  for (int fd = 3; fd < 64; ++fd) {
    if (send(fd, frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
  }
  write_zeros(plan, args);
}
const cheat the_cheat = {.execute = execute};
