// SPDX-License-Identifier: Apache-2.0
// Who has tensors judged, for messages that say what to write: options of the command line, or a function's arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

enum class Asker : uint8_t { kCommandLine, kProgram };

// "--contract", or "contract".
std::string OptionName(Asker asker, std::string_view option);
// "--contract 'f32acc'", or "contract='f32acc'".
std::string OptionWith(Asker asker, std::string_view option, std::string_view value);
// "--input a=FILE", or "the input 'a'".
std::string OperandWord(Asker asker, bool is_output, std::string_view name);
// Where it stands what operators take: "assay list ops --verbose" everywhere, as a program's user has that one too.
inline constexpr const char* kWhatOperatorsTake = "assay list ops --verbose shows what it takes";

}  // namespace assay
