// SPDX-License-Identifier: Apache-2.0
// The user's wish to end a long command: it then writes what it has. Ctrl-C, SIGTERM, and SIGHUP, which the end of a
// terminal or of a remote session sends, unless the command was started to outlive it (nohup).
#pragma once

namespace assay::cli {

// From now on. A second Ctrl-C or SIGTERM ends the process at once.
void WatchForInterrupts();
bool Interrupted();
bool WatchAndAsk();  // Interrupted(), and watches from its first call on

}  // namespace assay::cli
