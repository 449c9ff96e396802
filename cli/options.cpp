// cli/options.cpp -- shared options: parsing by looks, ranges by Error.
#include "options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include "core/atomic_file.hpp"

namespace carmina::cli {

namespace {

// What stands behind the number that `text` begins with; nothing when it does not begin with one.
std::optional<std::string_view> behind_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument) return std::nullopt;
  return text.substr(static_cast<std::size_t>(end - text.data()));
}

CLI::Validator accept(const std::string& what, bool (*fits)(std::string_view)) {
  return CLI::Validator(
      [what, fits](std::string& text) {
        return fits(text) ? std::string() : format_text("expected {}, found '{}'", what, text);
      },
      "");
}

// "N", "NUMBER" or "NUMBERS" among what help says of a value, "auto|NUMBER"; empty where there is none of them.
std::string_view kind_of_number(const CLI::Option& option) {
  static constexpr std::string_view kinds[] = {"NUMBER", "NUMBERS", "N"};
  const std::string type = option.get_type_name();
  std::string_view rest = std::string_view(type).substr(0, type.find(':'));  // validators follow
  for (;;) {
    const std::size_t bar = rest.find('|');
    const auto* found = std::find(std::begin(kinds), std::end(kinds), rest.substr(0, bar));
    if (found != std::end(kinds)) return *found;
    if (bar == rest.npos) return {};
    rest.remove_prefix(bar + 1);
  }
}

template <class N>
bool out_of_range(std::string_view text) {
  N value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && code == std::errc::result_out_of_range;
}

// Empty: nothing against it, as far as it is a number at all.
std::string against_number(const std::string& name, std::string_view kind, std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) {
    return format_text("a number has no leading zero, found '{}'", text);
  }
  const bool whole = kind == "N";
  const bool outside = !whole                  ? out_of_range<double>(text)
                       : text.starts_with('-') ? out_of_range<long long>(text)
                                               : out_of_range<unsigned long long>(text);
  require(!outside, "{}: {} is out of range", name, text);
  return {};
}

}  // namespace

void check_numbers(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      const std::string_view kind = kind_of_number(*option);
      if (kind.empty()) continue;
      const std::string name = option->get_name();
      option->check([name, kind](const std::string& text) { return against_number(name, kind, text); }, "");
    }
  }
}

CLI::Validator looks_like_size() {
  return accept("a size such as 500M or 4G", [](std::string_view text) {
    const auto unit = behind_number(text);
    if (!unit) return false;
    for (const char* known : {"", "k", "K", "M", "G", "T"}) {
      if (*unit == known || *unit == std::string(known) + "B") return true;
    }
    return false;
  });
}

CLI::Validator looks_like_number(const std::vector<std::string>& or_words) {
  return CLI::Validator(
      [or_words](std::string& text) {
        const auto rest = behind_number(text);
        const bool word = std::find(or_words.begin(), or_words.end(), text) != or_words.end();
        return word || (rest && rest->empty())
                   ? std::string()
                   : format_text("expected a number or '{}', found '{}'", join_text(or_words, "' or '"), text);
      },
      "");
}

CLI::Validator looks_like_integer() {
  return accept("an integer", [](std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

void Resources::add_threads(CLI::App& command) {
  command.add_option("--threads", threads, "Threads to use [all]")->type_name("N");
}

void Resources::add_memory(CLI::App& command) {
  command.add_option("--memory", memory, format_text("Memory to stay under [{}]", memory))
      ->type_name("SIZE")
      ->check(looks_like_size());
}

void Resources::add_device(CLI::App& command) {
  command
      .add_option(
          "--device", device,
          format_text("Where sums over rows and predictions are computed; auto: a device where there is one and "
                      "the work is worth it [{}]",
                      device))
      ->type_name("auto|cpu|cuda|cuda:N");
  command
      .add_option("--device-library", device_library,
                  "The folder of libcarmina_cuda.so [that of the program, or beside]")
      ->type_name("FOLDER");
}

Execution Resources::execution(ProgressLine& line) const {
  constexpr long long most = 1024;
  require(!threads || (*threads >= 1 && *threads <= most), "--threads must be from 1 to {}, found {}", most,
          threads.value_or(0));
  Execution execution;
  execution.threads = static_cast<int>(threads.value_or(0));
  try {
    execution.memory_budget = parse_bytes(memory);
  } catch (const Error& error) {
    fail("--memory: {}", error.what());
  }
  execution.device = device;
  execution.device_library = device_library;
  execution.progress = [&line](const Progress& at) { line.show(at); };
  execution.should_stop = [] { return caught_signal() != 0; };
  return execution;
}

void Targets::add(CLI::App& command, const std::string& otherwise) {
  command
      .add_option("--targets", columns,
                  "Columns of DATA: names separated by commas, or a count: the last ones" + otherwise)
      ->type_name("NAMES|COUNT");
  command.add_option("--target-file", file, "Instead: a file of targets alone, a row for each of DATA")
      ->type_name("FILE");
}

void Targets::check(bool required) const {
  if (!columns.empty() && !file.empty()) throw CLI::ExcludesError("--targets", "--target-file");
  if (required && columns.empty() && file.empty()) throw CLI::RequiredError("--targets or --target-file");
}

std::string counted(Index count, const std::string& what) {
  return format_text("{} {}{}", count, what, count == 1 ? "" : "s");
}

void check_output(const std::string& path, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code none;  // equivalent() fails when either is absent, and then they differ
    require(!std::filesystem::equivalent(path, input, none), "cannot write '{}': it is also an input", path);
  }
  AtomicFile probe(path);
}

}  // namespace carmina::cli
