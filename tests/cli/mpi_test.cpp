// tests/cli/mpi_test.cpp -- the program under mpirun: the same models, predictions and scores for any number of
// processes, and what ends one of them ends all. Only where the program was built with MPI.
#ifdef CARMINA_MPIRUN
#include <signal.h>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "program.hpp"

namespace carmina::mpi_test {
namespace {

using testing::friedman_names;
using testing::friedman_table;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::with_numbers;

struct Ended {
  int status;
  std::string out, err;
};

std::string quoted(const std::string& word) { return "'" + word + "'"; }

// On a machine with fewer processors than processes.
std::string command_of(int processes, const std::vector<std::string>& words) {
  std::string command = "OMPI_MCA_btl_base_warn_component_unused=0 '" CARMINA_MPIRUN
                        "' --allow-run-as-root --oversubscribe"
                        " --bind-to none -n " +
                        std::to_string(processes) + " '" CARMINA_PROGRAM "'";
  for (const std::string& word : words) command += " " + quoted(word);
  return command;
}

Ended run(int processes, std::vector<std::string> words) {
  const TempDir folder;
  words.insert(words.end(), {"--threads", "1"});
  const std::string command =
      command_of(processes, words) + " > " + folder.path("out") + " 2> " + folder.path("err") + " < /dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.content("out"), folder.content("err")};
}

void run_well(int processes, const std::vector<std::string>& words) {
  const Ended ended = run(processes, words);
  EXPECT_EQ(ended.status, 0) << ended.err;
}

// The rows of a table in files of these lengths.
void write_parts(const TempDir& dir, const Matrix<double>& table, const std::vector<Index>& lengths,
                 const std::string& ending) {
  Index first = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    write_table(dir.path("part-" + std::to_string(k + 8) + ending), friedman_names,
                table.middleRows(first, lengths[k]));
    first += lengths[k];
  }
}

const std::vector<Index> lengths = {211, 5, 400, 284};

std::vector<std::string> fit_of(const std::string& data, const std::string& model, std::vector<std::string> more) {
  if (!more.empty() && more[0] == "fit") more.erase(more.begin());
  more.insert(more.begin(), {"fit", data, "--targets", "2", "--model", model});
  return more;
}

TEST(Mpi, ModelsAreTheSameForAnyNumber) {
  const TempDir dir;
  const Matrix<double> table = friedman_table(900, 1);
  write_parts(dir, table, lengths, ".npy");
  write_table(dir.path("whole.csv"), friedman_names, table);
  const std::vector<std::vector<std::string>> kinds = {
      with_numbers({"fit", "--components", "40"}),
      with_numbers({"fit", "--components", "40", "--solver", "cg"}),
      with_numbers({"fit", "--components", "40", "--loss", "huber", "--kappa", "0.5"}),
      with_numbers({"fit", "--components", "30", "--approximation", "sub_sample"}),
      {"fit", "--components", "40", "--approximation", "fourier"},
  };
  for (const std::vector<std::string>& kind : kinds) {
    std::optional<KernelMachine<double>> first;
    for (const auto& [data, processes] : {std::pair<std::string, int>(dir.path("part-*.npy"), 1),
                                          {dir.path("part-*.npy"), 2},
                                          {dir.path("whole.csv"), 3},
                                          {dir.path("part-*.npy"), 5}}) {
      const std::string model = dir.path("model.safetensors");
      std::filesystem::remove(model);
      run_well(processes, fit_of(data, model, kind));
      const auto machine = std::get<KernelMachine<double>>(load_kernel_machine(model));
      if (!first) first = machine;
      EXPECT_EQ(machine.coefficients(), first->coefficients()) << processes << " " << kind[2];
      EXPECT_EQ(machine.intercept(), first->intercept());
      EXPECT_EQ(machine.record().noise, first->record().noise);
      EXPECT_EQ(machine.record().rows, 900);
    }
  }
}

TEST(Mpi, SpectralMixtures) {
  const TempDir dir;
  write_parts(dir, friedman_table(900, 1), lengths, ".csv");
  std::vector<double> evidences;
  for (const int processes : {1, 3}) {
    run_well(processes, fit_of(dir.path("part-*.csv"), dir.path("model.safetensors"),
                               {"--kernel", "spectral_mixture", "--components", "20", "--mixtures", "2", "--max-iter",
                                "5", "--learning-rows", "300"}));
    evidences.push_back(SpectralMixtureMachine::load(dir.path("model.safetensors")).log_marginal_likelihood());
  }
  EXPECT_EQ(evidences[0], evidences[1]);
}

TEST(Mpi, PredictionsAndScoresAreThoseOfOne) {
  const TempDir dir;
  const Matrix<double> table = friedman_table(900, 2);
  write_parts(dir, table, lengths, ".csv");
  const std::string model = dir.path("model.safetensors"), data = dir.path("part-*.csv");
  run_well(1, fit_of(data, model, with_numbers({"fit", "--components", "40", "--variances"})));
  for (const int processes : {2, 3, 5}) {
    for (const std::string ending : {".csv", ".npy"}) {
      run_well(1, {"predict", model, data, "--out", dir.path("one" + ending), "--std"});
      run_well(processes, {"predict", model, data, "--out", dir.path("many" + ending), "--std"});
      EXPECT_EQ(dir.content("many" + ending), dir.content("one" + ending));
      EXPECT_GT(dir.content("one" + ending).size(), 900u);
    }
    const Ended one = run(1, {"evaluate", model, data}), many = run(processes, {"evaluate", model, data});
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_EQ(many.out, one.out);
    EXPECT_THAT(many.out, HasSubstr("900 rows"));
  }
}

TEST(Mpi, ABadFileEndsAllWithOneSentence) {
  const TempDir dir;
  write_parts(dir, friedman_table(900, 1), lengths, ".csv");
  {
    std::ofstream last(dir.path("part-11.csv"), std::ios::app);
    last << "1,2,3,4,5,6,seven\n";
  }
  const Ended ended = run(3, fit_of(dir.path("part-*.csv"), dir.path("model.safetensors"), {}));
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("part-11.csv:286"));
  EXPECT_EQ(ended.err.find("carmina: "), ended.err.rfind("carmina: ")) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(dir.path("model.safetensors")));

  EXPECT_THAT(run(2, fit_of(dir.path("none-*.csv"), dir.path("m"), {})).err, HasSubstr("no file of such a name"));
  EXPECT_THAT(run(2, fit_of(dir.path("part-8.csv"), dir.path("m"), {"--approximation", "exact"})).err,
              HasSubstr("several processes do not share"));
  EXPECT_THAT(run(2, {"tune", dir.path("part-8.csv"), "--targets", "2", "--model", dir.path("m")}).err,
              HasSubstr("tune is for one process"));
}

// The processes that have this text among their words.
std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string words((std::istreambuf_iterator<char>(file)), {});
    if (words.starts_with(CARMINA_PROGRAM) && words.find(text) != std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return found;
}

// None of the others waits for it.
TEST(Mpi, AKilledProcessEndsAll) {
  const TempDir dir;
  write_parts(dir, friedman_table(900, 1), lengths, ".npy");
  const std::string model = dir.path("model.safetensors");
  Ended ended{};
  std::thread fit([&] {
    ended = run(3, fit_of(dir.path("part-*.npy"), model,
                          with_numbers({"fit", "--components", "2000", "--solver", "cg", "--max-iter", "1000000",
                                        "--tol", "1e-300", "--no-scale"})));
  });
  std::vector<pid_t> all;
  for (int tries = 0; all.size() < 3 && tries < 600; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    all = processes_with(model);
  }
  ASSERT_EQ(all.size(), 3u);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::kill(all[1], SIGKILL);
  fit.join();
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("signal 9"));  // as mpirun says it
  EXPECT_TRUE(processes_with(model).empty());
  EXPECT_FALSE(std::filesystem::exists(model));
}

}  // namespace
}  // namespace carmina::mpi_test
#endif
