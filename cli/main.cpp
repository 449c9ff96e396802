// cli/main.cpp -- the `carmina` program: what its exit status says, and the one line that goes with it.
//
// 0: done. 1: something is wrong with a file or a value. 2: the command line could not be understood. 128 +
// signal: stopped from outside. Nothing is left half written in any of these.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <carmina/core/error.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "commands.hpp"
#include "config_file.hpp"
#include "console.hpp"
#include "options.hpp"
#include "processes.hpp"
#include "standard_input.hpp"
#ifdef CARMINA_WITH_MPI
#include <carmina/mpi.hpp>
#endif

namespace {

using namespace carmina;

// Of several processes the first speaks for all.
int report(int status, const std::string& message) {
  if (!cli::speaks()) return status;
  if (cli::caught_signal() == SIGPIPE) return 128 + SIGPIPE;  // whoever reads has left, and knows
  cli::say(cli::with_standard_input(message));
  return status;
}

std::string called(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? "carmina" : "carmina " + chosen.front()->get_name();
}

int run(int argc, char** argv) {
  CLI::App program("Kernel machines with one or many outputs, on data of any size.", "carmina");
  program.set_version_flag("--version", "carmina " CARMINA_VERSION, "Print the version and exit");
  program.set_help_flag("--help,-h", "Print this help and exit");
  program.footer("'carmina COMMAND --help' tells more. Tables are CSV, ARFF, NPY, LIBSVM or IDX files, also gzipped.");
  cli::add_commands(program, argc > 1 ? argv[1] : "");
  try {
    std::vector<std::string> words = cli::with_config(program, {argv + 1, argv + argc});
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    program.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error, std::cout, std::cerr);
    const bool unknown = argc > 1 && argv[1][0] != '-' && program.get_subcommands().empty();
    if (unknown) return report(2, format_text("there is no command '{}'; see 'carmina --help'", argv[1]));
    return report(2, format_text("{}; see '{} --help'", error.what(), called(program)));
  }
  cli::flush_output();
  return 0;
}

int run_and_report(int argc, char** argv) {
  try {
    cli::catch_signals();
    if (!cli::processes()) return run(argc, argv);
    return cli::processes()->together([&] { return run(argc, argv); });
  } catch (const Cancelled&) {
    return report(128 + cli::caught_signal(), "stopped");
  } catch (const std::bad_alloc&) {
    return report(1, "there is not enough memory");
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}

#ifdef CARMINA_WITH_MPI
int run_among_processes(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    const Communicator all = mpi_communicator(MPI_COMM_WORLD);
    cli::set_processes(&all);
    if (!cli::speaks() && std::freopen("/dev/null", "w", stdout) == nullptr) status = 1;
    status = std::max(status, run_and_report(argc, argv));
    cli::set_processes(nullptr);
  }
  MPI_Finalize();
  return status;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  cli::open_standard_streams();
#ifdef CARMINA_WITH_MPI
  if (started_by_mpi()) return run_among_processes(argc, argv);
#endif
  return run_and_report(argc, argv);
}
