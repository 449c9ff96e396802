// fuzz/command_line.cpp -- words as `carmina` gets them, in a folder of its own with a table, a model and nothing else.
#include "fuzz/input_file.hpp"
#include "fuzz/small_models.hpp"
#include "fuzz/targets.hpp"

#include <CLI/CLI.hpp>
#include <carmina/core/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "../cli/commands.hpp"

namespace carmina::fuzz {
namespace {

// What is printed goes nowhere, and is not part of what is looked at.
class Silence {
 public:
  Silence() : kept_(::dup(STDOUT_FILENO)), nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    std::fflush(stdout);
    ::dup2(nowhere_, STDOUT_FILENO);
  }
  ~Silence() {
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
    ::close(nowhere_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int kept_, nowhere_;
};

const std::string& folder() {
  static const std::string& made = [&]() -> const std::string& {
    const std::string& path = InputFile::folder();
    std::ofstream(path + "rows.csv") << "a,b,y\n1,2,3\n2,1,4\n3,3,5\n1,0,2\n0.5,2,1\n";
    for (const auto& [name, file] : small_models()) {
      if (name == "variances" || name == "spectral_mixture_fourier" || name == "logistic") {
        write_model_file(path + name, file);
      }
    }
    return path;
  }();
  return made;
}

// Words that are none of these files name no file at all, and `fit` and `tune` find no table: what is looked at is how
// options are taken, not fits.
std::vector<std::string> words_of(Bytes bytes) {
  std::vector<std::string> words = {"carmina"};
  std::string_view text = text_of(bytes);
  while (!text.empty() && words.size() < 40) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const bool fits = std::any_of(words.begin(), words.end(), [](const auto& w) { return w == "fit" || w == "tune"; });
  for (std::string& word : words) {
    std::replace(word.begin(), word.end(), '/', '_');
    std::replace(word.begin(), word.end(), '\0', '_');
    // A path such as "..", or a table to fit.
    if (word.starts_with('.') || (fits && word == "rows.csv")) word = "absent.csv";
  }
  return words;
}

// The program for a command, or for a word that is none. Making its options takes twenty times as long as parsing
// words.
CLI::App& program_for(const std::string& word) {
  static std::map<std::string, std::unique_ptr<CLI::App>> made;
  constexpr std::string_view commands[] = {"fit", "tune", "predict", "evaluate", "info", "convert"};
  const bool known = std::find(std::begin(commands), std::end(commands), word) != std::end(commands);
  std::unique_ptr<CLI::App>& program = made[known ? word : ""];
  if (!program) {
    program = std::make_unique<CLI::App>("", "carmina");
    cli::add_commands(*program, word);
  }
  return *program;
}

void run(const std::vector<std::string>& words) {
  CLI::App& program = program_for(words.size() > 1 ? words[1] : "");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    program.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ParseError& error) {
    if (words.size() % 8 == 0) program.help("", CLI::AppFormatMode::All);
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a message is empty");  // the program makes one line of it
  }
}

}  // namespace

void run_command_line(Bytes bytes) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder());
  {
    const Silence silence;
    run(words_of(bytes));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().filename();
    expect(!name.ends_with(".tmp"), "a temporary file is left");
  }
  std::filesystem::current_path(before);
}

}  // namespace carmina::fuzz
