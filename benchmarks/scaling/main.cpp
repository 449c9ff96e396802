// scaling/main.cpp -- what all threads reach of the summed rate of as many copies with one thread each, in one run.
//
// Each piece of work is done by one process with all threads, and by as many processes as there are threads, all at
// once, each with one thread on a processor of its own: T copies that take c seconds each do T / c of it in a second,
// one process that takes s does 1 / s. Reached: (1 / s) / (T / c) = c / (T s). Rows are in memory, float, 16 inputs, 4
// outputs; seconds are the least of the repeats.
#include "backends/tiled.hpp"
#include "features/feature_rows.hpp"
#include "features/fourier_map.hpp"
#include "solvers/squared/subset_preconditioner.hpp"

#include <carmina/carmina.hpp>
#include <carmina/core/machine.hpp>

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/processors.hpp"

namespace carmina {
namespace {

constexpr Index d = 16, p = 4;

using Work = std::function<void(const Execution&)>;
using TimedWork = std::function<double(const Execution&)>;  // gives its seconds

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double least(int repeats, const TimedWork& work, int threads) {
  Execution execution;
  execution.device = "cpu";
  execution.threads = threads;
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) best = std::min(best, work(execution));
  return best;
}

// Mean seconds of `count` processes that work at the same time, each bound to a processor, after all have begun.
double mean_of_copies(int count, int repeats, const TimedWork& work) {
  int go[2], out[2];
  if (pipe(go) != 0 || pipe(out) != 0) std::exit(1);
  std::vector<pid_t> children;
  for (int k = 0; k < count; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<unsigned>(k), &set);
      sched_setaffinity(0, sizeof set, &set);
      close(go[1]);
      char byte = 0;
      if (read(go[0], &byte, 1) < 0) _exit(1);  // until the parent closes its end
      const double taken = least(repeats, work, 1);
      if (write(out[1], &taken, sizeof taken) != sizeof taken) _exit(1);
      _exit(0);
    }
    children.push_back(child);
  }
  close(go[0]);
  close(go[1]);
  double sum = 0;
  for (int k = 0; k < count; ++k) {
    double taken = 0;
    if (read(out[0], &taken, sizeof taken) != sizeof taken) std::exit(1);
    sum += taken;
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return sum / count;
}

void compare_timed(const std::string& name, int threads, int repeats, const TimedWork& work) {
  const double copies = mean_of_copies(threads, repeats, work);  // before this process has threads
  const double all = least(repeats, work, threads);
  std::printf("%s\t%d\t%.4f\t%.4f\t%.3f\n", name.c_str(), threads, all, copies, copies / (threads * all));
  std::fflush(stdout);
}

void compare(const std::string& name, int threads, int repeats, const Work& work) {
  compare_timed(name, threads, repeats, [&](const Execution& e) { return seconds([&] { work(e); }); });
}

struct Task {
  Index n, m;
  Matrix<float> X, Y;
  FourierMap<float> map;

  Task(Index rows, Index components, Index first = 0)
      : n(rows), m(components), X(rows, d), Y(rows, p), map(Gaussian(1.5), d, components, 0) {
    const Random random(1, Stream::data);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < d; ++j) {
        X(i, j) =
            static_cast<float>(random.uniform(static_cast<std::uint64_t>(first + i), static_cast<std::uint32_t>(j)));
      }
      for (Index j = 0; j < p; ++j) Y(i, j) = 10 * std::sin(3.14f * X(i, j) * X(i, j + 1)) + 5 * X(i, j + 3);
    }
  }

  std::string named(const char* what) const { return format_text("{}, {} rows, {} components", what, n, m); }

  void with_rows(const Execution& execution, const std::function<void(const FeatureRows&)>& f) const {
    MemoryRows<float> memory(X, Y);
    DataRows<float> rows(memory);
    rows.read_at_once(Index{1} << 20);  // as a fit does
    const auto features = rows_of(map, rows, FeatureStorage::none, execution);
    f(*features);
  }

  void run(int threads, int repeats) const {
    compare(named("a pass of cg"), threads, repeats, [this](const Execution& e) {
      with_rows(e, [&](const FeatureRows& rows) {
        Matrix<double> out;
        rows.normal(Matrix<double>::Ones(m, p), out);
      });
    });
    compare(named("preconditioner: Gram of some rows"), threads, repeats, [this](const Execution& e) {
      with_rows(e, [&](const FeatureRows& rows) {
        static_cast<void>(rows.subset_gram(SubsetPreconditioner::sample_rows(n, m), backend::Reduced::bfloat16));
      });
    });
    compare(named("preconditioner: all of it"), threads, repeats, [this](const Execution& e) {
      with_rows(e, [&](const FeatureRows& rows) {
        const SubsetPreconditioner made(rows, SubsetPreconditioner::sample_rows(n, m), static_cast<double>(n), true, 1,
                                        1, e);
        Matrix<double> R = Matrix<double>::Ones(m, p), Z;
        for (int i = 0; i < 10; ++i) made(R, Z);
      });
    });
    compare(named("whole fit by cg"), threads, 1, [this](const Execution& e) { static_cast<void>(fit("cg", e)); });
  }

  void run_direct(int threads) const {
    compare(named("Gram matrix"), threads, 1, [this](const Execution& e) {
      with_rows(e, [&](const FeatureRows& rows) {
        Moments moments(m, Vector<double>::Zero(p));
        rows.moments(moments);
      });
    });
    compare(named("whole fit, direct"), threads, 1,
            [this](const Execution& e) { static_cast<void>(fit("direct", e)); });
  }

  std::string fit(const char* solver, const Execution& execution) const { return report(solver, execution).solver; }

  SolveReport report(const char* solver, const Execution& execution) const {
    return KernelMachine<float>::fit(X, Y, options(solver, execution)).record().report;
  }

  FitOptions options(const char* solver, const Execution& execution) const {
    FitOptions options;
    options.kernel = Kernel(Gaussian(1.5));
    options.approximation = "fourier";
    options.n_components = m;
    options.alpha = 1;
    options.scale_inputs = false;
    options.solver = solver;
    options.execution = execution;
    return options;
  }
};

void cholesky(Index order, int threads) {
  const Matrix<double> R = Matrix<double>::Random(order, order);
  Matrix<double> A = R + R.transpose();
  A.diagonal().array() += 2 * static_cast<double>(order);
  compare_timed(format_text("Cholesky factor, order {}, double", order), threads, 3, [&A, order](const Execution& e) {
    Matrix<double> L = A;
    return seconds([&] { backend::cholesky(order, L.data(), order, e); });
  });
}

// What `auto` takes beside each solver by name: seconds, and those of auto over the least.
void choices(int threads) {
  std::printf("rows\tcomponents\toutputs\tthreads\tauto took\tauto, s\tdirect, s\tcg, s\tauto to the least\n");
  for (const Index n : {10'000, 50'000, 200'000}) {
    for (const Index m : {256, 1024, 2048, 4096}) {
      if (n * m > Index{200'000} * 2048) continue;
      const Task task(n, m);
      for (const int t : {threads / 4, threads}) {
        if (t == 0) continue;
        Execution execution;
        execution.device = "cpu";
        execution.threads = t;
        std::string taken;
        const double by_auto = seconds([&] { taken = task.fit("auto", execution); });
        const double direct = seconds([&] { static_cast<void>(task.fit("direct", execution)); });
        const double cg = seconds([&] { static_cast<void>(task.fit("cg", execution)); });
        const double same = taken == "cg" ? cg : direct;  // by_auto is a second sample of it
        std::printf("%td\t%td\t%td\t%d\t%s\t%.3f\t%.3f\t%.3f\t%.2f\n", n, m, p, t, taken.c_str(), by_auto, direct, cg,
                    std::min(same, by_auto) / std::min({direct, cg, by_auto}));
        std::fflush(stdout);
      }
    }
  }
}

// Processes that talk by sockets, each pair by one of its own.
class Sockets {
 public:
  explicit Sockets(int size) : size_(size), ends_(static_cast<std::size_t>(size * size), -1) {
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < a; ++b) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) std::exit(1);
        end(a, b) = pair[0];
        end(b, a) = pair[1];
      }
    }
  }
  Communicator of(int rank) {
    return Communicator({rank, size_,
                         [this, rank](int to, const void* data, std::size_t bytes) {
                           for (auto at = static_cast<const char*>(data); bytes > 0;) {
                             const ssize_t sent = write(end(rank, to), at, bytes);
                             if (sent <= 0) std::exit(1);
                             at += sent;
                             bytes -= static_cast<std::size_t>(sent);
                           }
                         },
                         [this, rank](int from, void* data, std::size_t bytes) {
                           for (auto at = static_cast<char*>(data); bytes > 0;) {
                             const ssize_t got = read(end(rank, from), at, bytes);
                             if (got <= 0) std::exit(1);
                             at += got;
                             bytes -= static_cast<std::size_t>(got);
                           }
                         }});
  }

 private:
  int& end(int own, int other) { return ends_[static_cast<std::size_t>(own * size_ + other)]; }

  int size_;
  std::vector<int> ends_;
};

// As many processes as there are processors, with n rows each and one thread: all fit their rows alone at once, then
// one table together.
void ranks(Index n, Index m, const char* solver, int count) {
  const auto fit_in_process = [&](const Communicator* processes, int rank) {
    const Task task(n, m, rank * n);
    Execution execution;
    execution.device = "cpu";
    execution.threads = 1;
    const FitOptions options = task.options(solver, execution);
    if (processes) processes->barrier();
    return seconds([&] {
      MemoryRows<float> rows(task.X, task.Y);
      if (!processes) return static_cast<void>(KernelMachine<float>::fit(rows, options));
      static_cast<void>(KernelMachine<float>::fit(rows, options, *processes));
    });
  };
  Sockets sockets(count);
  double taken[2];
  for (const bool together : {false, true}) {
    int out[2];
    if (pipe(out) != 0) std::exit(1);
    std::vector<pid_t> children;
    for (int rank = 0; rank < count; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(rank), &set);
        sched_setaffinity(0, sizeof set, &set);
        const Communicator processes = sockets.of(rank);
        const double mine = fit_in_process(together ? &processes : nullptr, rank);
        _exit(write(out[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
      }
      children.push_back(child);
    }
    double sum = 0;
    for (int rank = 0; rank < count; ++rank) {
      double mine = 0;
      if (read(out[0], &mine, sizeof mine) != sizeof mine) std::exit(1);
      sum += mine;
    }
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    taken[together] = sum / count;
  }
  std::printf("%s, %td rows a process, %td components\t%d\t%.3f\t%.3f\t%.3f\n", solver, n, m, count, taken[1], taken[0],
              taken[0] / taken[1]);
  std::fflush(stdout);
}

// Seconds of the phases of a fit by one thread and by all.
void phases(Index n, Index m, const char* solver, int threads) {
  const Task task(n, m);
  for (const int t : {1, threads}) {
    Execution execution;
    execution.device = "cpu";
    execution.threads = t;
    const SolveReport report = task.report(solver, execution);
    std::printf("%s, %td iterations\t%d", task.named(solver).c_str(), report.iterations, t);
    for (const auto& [phase, taken] : report.seconds) std::printf("\t%s %.4f", phase.c_str(), taken);
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace carmina

// carmina_scaling ranks ROWS COMPONENTS SOLVER, carmina_scaling phases ROWS COMPONENTS SOLVER, carmina_scaling choices,
// or carmina_scaling [ROWS COMPONENTS]...: pairs of sizes; without any 1,000,000 x 2048 and 200,000 x 8192.
int main(int count, char** words) {
  using carmina::Index;
  constexpr Index largest_direct = 200'000;  // rows of direct fits: one thread takes ten seconds for them
  {
    const carmina::Machine machine = carmina::describe_machine();
    std::printf("machine\t%s\t%d threads\t%s\n", machine.processor.c_str(), carmina::usable_processors(),
                machine.instructions.c_str());
  }
  if (count > 1 && std::string(words[1]) == "choices") {
    carmina::choices(carmina::usable_processors());
    return 0;
  }
  if (count == 5 && std::string(words[1]) == "ranks") {
    std::printf("fit\tprocesses\ttogether, s\teach alone, all at once, s\treached\n");
    carmina::ranks(std::atoll(words[2]), std::atoll(words[3]), words[4], carmina::usable_processors());
    return 0;
  }
  if (count == 5 && std::string(words[1]) == "phases") {
    carmina::phases(std::atoll(words[2]), std::atoll(words[3]), words[4], carmina::usable_processors());
    return 0;
  }
  std::vector<std::pair<Index, Index>> sizes;
  for (int i = 1; i + 1 < count; i += 2) sizes.emplace_back(std::atoll(words[i]), std::atoll(words[i + 1]));
  if (sizes.empty()) sizes = {{1'000'000, 2048}, {200'000, 8192}};
  const int threads = carmina::usable_processors();
  std::printf("work\tthreads\tall threads, s\tone thread beside the others, s\treached\n");
  for (const auto& [n, m] : sizes) {
    carmina::Task(n, m).run(threads, 2);
    if (m <= 2048) carmina::Task(std::min(n, largest_direct), m).run_direct(threads);
  }
  carmina::cholesky(2048, threads);
  carmina::cholesky(4096, threads);
}
