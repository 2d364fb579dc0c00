// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/interpreter_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/core/base/text.h"
#include "harness/core/base/utf8.h"
#include "harness/core/base/whole_file.h"
#include "harness/exec/clean_text.h"

namespace assay {
namespace {

constexpr std::string_view kFault = "Fatal Python error: ";
constexpr std::string_view kThread = "(most recent call first)";
constexpr std::string_view kModules = "Extension modules: ";  // also behind an exception's own traceback
constexpr size_t kMostPlaces = 3, kMostLineBytes = 200, kMostReasonBytes = 400;

struct Place {
  std::string_view file, function;
  size_t line = 0;
};
using Places = std::vector<Place>;  // the innermost first

// Where the last fault begins whose traceback, or list of modules, is there too; npos: there is none.
size_t FindFault(std::string_view printed) {
  size_t last = 0;
  for (const std::string_view mark : {kThread, kModules}) {
    if (const size_t at = printed.rfind(mark); at != printed.npos) last = std::max(last, at);
  }
  return last == 0 ? printed.npos : printed.rfind(kFault, last);
}

// Whether the faulthandler names a signal, which the exit status of the process tells as well.
bool IsSignal(std::string_view reason) {
  constexpr std::string_view kSignals[] = {
      "Aborted",           "Bus error", "Floating point exception", "Floating-point exception", "Illegal instruction",
      "Segmentation fault"};
  return std::ranges::find(kSignals, reason) != std::end(kSignals);
}

// Whether a line after the first one is Python's own. `in_thread`: the line before belongs to a thread's traceback.
bool IsOfFault(std::string_view line, bool& in_thread) {
  if (line.find(kThread) != line.npos) return in_thread = true;
  in_thread = in_thread && line.starts_with("  ");
  return in_thread || line.empty() || line == "..." || line.starts_with("Python runtime state: ") ||
         line.starts_with(kModules);
}

// A path as it is printed: of a crashed process, in ASCII, and not beyond 500 characters.
std::string EscapePath(std::string_view path) {
  constexpr size_t kMostCharacters = 500;
  std::string text;
  for (size_t count = 0; !path.empty(); ++count) {
    if (count == kMostCharacters) return text + "...";
    const Utf8Character c = DecodeUtf8(path);
    const uint32_t code = c.bytes > 0 ? c.code : 0xDC00 + static_cast<unsigned char>(path[0]);  // as Python has bytes
    if (code >= ' ' && code <= '~') {
      text += static_cast<char>(code);
    } else {
      text += code <= 0xFF     ? fmt::format("\\x{:02x}", code)
              : code <= 0xFFFF ? fmt::format("\\u{:04x}", code)
                               : fmt::format("\\U{:08x}", code);
    }
    path.remove_prefix(std::max<size_t>(c.bytes, 1));
  }
  return text;
}

// Parses a line such as `  File "/x/mine.py", line 4 in <module>`.
std::optional<Place> ParsePlace(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  if (!line.starts_with(kFile)) return std::nullopt;
  const size_t file_end = line.rfind(kLine);
  if (file_end == line.npos || file_end < kFile.size()) return std::nullopt;
  const size_t number_at = file_end + kLine.size(), number_end = line.find(kIn, number_at);
  if (number_end == line.npos) return std::nullopt;
  const auto number = ParseNumber<size_t>(line.substr(number_at, number_end - number_at));
  if (!number) return std::nullopt;
  return Place{line.substr(kFile.size(), file_end - kFile.size()), line.substr(number_end + kIn.size()), *number};
}

// Lists the user's own places of each thread, the crashed thread first.
std::vector<Places> ListThreads(std::string_view fault, const std::string& package) {
  std::vector<Places> threads(1);
  Places* thread = nullptr;
  for (const std::string_view line : Split(fault, '\n')) {
    if (line.find(kThread) != line.npos) {
      thread = line.starts_with("Current thread") ? threads.data() : &threads.emplace_back();
      continue;
    }
    const std::optional<Place> place = ParsePlace(line);
    if (!place || thread == nullptr || place->file.starts_with("<frozen importlib")) continue;
    if (place->file.substr(0, place->file.rfind('/')) != package) thread->push_back(*place);
  }
  return threads;
}

std::string SourceLine(const std::string& path, size_t number) {
  const Result<std::string> text = ReadWholeFile(path);
  const std::vector<std::string_view> lines = Split(text ? std::string_view(*text) : std::string_view(), '\n');
  if (number == 0 || number > lines.size()) return "";
  const std::string_view line = Trim(lines[number - 1]);
  return line.empty() ? "" : ": " + CleanText(line, kMostLineBytes);
}

}  // namespace

size_t FindFaultBegin(std::string_view printed) {
  constexpr size_t kMostBytes = 1 << 21;  // a hundred threads, each with a hundred places
  constexpr size_t kBefore = 4096;
  const size_t at = printed.rfind(kFault);
  if (at == printed.npos || printed.size() - at > kMostBytes) return printed.size();
  return at - std::min(at, kBefore);
}

std::string StripTraceback(std::string_view printed) {
  const size_t at = FindFault(printed);
  std::string text(printed.substr(0, at));
  if (at == printed.npos) return text;
  const std::vector<std::string_view> lines = Split(printed.substr(at), '\n');
  if (!IsSignal(lines[0].substr(kFault.size()))) text += CleanText(lines[0], kMostReasonBytes) + "\n";
  bool in_thread = false;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!IsOfFault(lines[i], in_thread)) text += std::string(lines[i]) + "\n";
  }
  return text;
}

std::string PlacesOfFault(std::string_view printed, const InterpretedFiles& files) {
  const size_t at = FindFault(printed);
  if (at == printed.npos) return "";
  const std::string kernels = EscapePath(files.kernels);
  const auto is_kernels = [&](const Place& place) { return place.file == kernels; };
  const auto has_kernels = [&](const Places& places) { return std::ranges::any_of(places, is_kernels); };
  const std::vector<Places> threads = ListThreads(printed.substr(at), EscapePath(files.package));
  // A thread without any place of Python's is a library's own: what Python was at meanwhile has started it, or waits.
  const auto other = std::ranges::find_if(threads, has_kernels);
  Places places = !threads[0].empty() ? threads[0] : other != threads.end() ? *other : Places();
  const auto of_kernels = std::ranges::find_if(places, is_kernels);
  if (of_kernels != places.end() && of_kernels - places.begin() >= static_cast<ptrdiff_t>(kMostPlaces)) {
    places[kMostPlaces - 1] = *of_kernels;
  }
  places.resize(std::min(places.size(), kMostPlaces));
  std::string text;
  for (const Place& place : places) {
    const std::string name =
        is_kernels(place) ? std::filesystem::path(files.kernels).filename().string() : std::string(place.file);
    text += fmt::format("; {} {}:{} in {}{}", text.empty() ? "at" : "from", CleanText(name, kMostLineBytes), place.line,
                        CleanText(place.function, kMostLineBytes),
                        is_kernels(place) ? SourceLine(files.kernels, place.line) : "");
  }
  return text;
}

}  // namespace assay
