// tests/cli/program.hpp -- runs the program as a user would, and keeps what it printed.
#pragma once
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <carmina/data/generators.hpp>
#include <carmina/data/table.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <support/temp_dir.hpp>
#include <vector>

extern char** environ;

namespace carmina::testing {

struct Outcome {
  int status;  // -1 when a signal ended it
  std::string out, err;
};

inline Outcome run(std::vector<std::string> arguments) {
  const TempDir folder;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, folder.path("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, folder.path("err").c_str(), O_WRONLY | O_CREAT, 0600);
  arguments.insert(arguments.begin(), "carmina");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, CARMINA_PROGRAM, &files, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " CARMINA_PROGRAM);
  int status = 0;
  ::waitpid(process, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.content("out"), folder.content("err")};
}

// Ends with 0 and warns of nothing.
inline std::string run_well(const std::vector<std::string>& arguments) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

// Ends with `status` and exactly one line on standard error, which is returned.
inline std::string run_badly(const std::vector<std::string>& arguments, int status = 1) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with('\n'));
  EXPECT_TRUE(outcome.err.starts_with("carmina: ")) << outcome.err;
  return outcome.err;
}

// The words of a fit with a value for each option that the data would choose otherwise: those of given_numbers(), but
// for scaled inputs. `tune` has lists of alphas in the place of one.
inline std::vector<std::string> with_numbers(std::vector<std::string> words) {
  const auto has = [&](const char* option) { return std::find(words.begin(), words.end(), option) != words.end(); };
  std::vector<std::vector<std::string>> given = {
      {"--kernel", "gaussian"}, {"--length-scale", "median"}, {"--approximation", "fourier"}, {"--components", "1000"}};
  if (!has("--no-scale")) given.push_back({"--scale", "standard"});
  if (words.at(0) == "fit") given.push_back({"--alpha", "1"});
  for (const auto& option : given) {
    if (!has(option[0].c_str())) words.insert(words.end(), option.begin(), option.end());
  }
  return words;
}

// Five inputs and two related targets, as one table: the inputs first.
inline Matrix<double> friedman_table(Index n, std::uint64_t seed) {
  const Dataset data = friedman(n, {.inputs = 5, .outputs = 2, .seed = seed});
  Matrix<double> all(n, 7);
  all << data.X, data.Y;
  return all;
}
inline const std::vector<std::string> friedman_names = {"x1", "x2", "x3", "x4", "x5", "y1", "y2"};

}  // namespace carmina::testing
