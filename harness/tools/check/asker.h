// SPDX-License-Identifier: Apache-2.0
// Wording of advice in messages: options of the command line, arguments of a function, or what is left to somebody who
// got the inputs of a case, whose types and attributes are stated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

enum class Asker : uint8_t { kCommandLine, kProgram, kCase };

// "--contract", or "contract".
std::string OptionName(Asker asker, std::string_view option);
// "--contract 'f32acc'", or "contract='f32acc'".
std::string OptionWith(Asker asker, std::string_view option, std::string_view value);
// "--attr causal=0", or "causal=0".
std::string AttributeWith(Asker asker, std::string_view key, std::string_view value);
// "--input a=FILE", or "the input 'a'".
std::string OperandWord(Asker asker, bool is_output, std::string_view name);
// Points to the program's list of operators; users of the library have the program, too.
inline constexpr const char* kWhatOperatorsTake = "assay list ops --verbose shows what it takes";

}  // namespace assay
