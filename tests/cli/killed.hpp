// tests/cli/killed.hpp -- the program, ended by SIGKILL at a moment of one's choice.
#pragma once
#include <chrono>
#include <cstdlib>
#include <thread>

#include "program.hpp"

namespace carmina::testing {

// Moments to kill at: CARMINA_KILLS=200 for a long run.
inline int kills() {
  const char* given = std::getenv("CARMINA_KILLS");
  return given ? std::atoi(given) : 6;
}

// Starts the program, and kills it after so long; false: it had ended before.
inline bool killed_after(std::vector<std::string> arguments, std::chrono::microseconds time) {
  arguments.insert(arguments.begin(), "carmina");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int stream : {1, 2}) ::posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  EXPECT_EQ(::posix_spawn(&process, CARMINA_PROGRAM, &files, nullptr, argv.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&files);
  std::this_thread::sleep_for(time);
  ::kill(process, SIGKILL);
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFSIGNALED(status);
}

// Runs the program to its end; how long that took.
inline std::chrono::microseconds time_of(const std::vector<std::string>& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
}

// Temporary files of ours in a folder.
inline int temporary_files(const TempDir& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    count += entry.path().extension() == ".tmp" ? 1 : 0;
  }
  return count;
}

}  // namespace carmina::testing
