// tests/models/memory_plan_test.cpp -- a budget is kept to, or refused before the rows are read, in words that hold.
#include <carmina/core/error.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/given_numbers.hpp>
#include <support/random_matrix.hpp>
#include <support/temp_dir.hpp>

#include <regex>

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::random_matrix;
using testing::TempDir;

template <class T>
struct Task {
  Matrix<T> X = random_matrix(400, 3, 1).cast<T>();
  Matrix<T> Y = Matrix<T>(X.leftCols(2).array().sin().matrix());
  FitOptions options = given_numbers();

  Task(const std::string& approximation, const std::string& solver, Loss loss = Squared{}) {
    options.approximation = approximation;
    options.solver = solver;
    options.loss = std::move(loss);
    options.n_components = 60;
    options.tol = 1e-9;
    options.execution.threads = 2;
  }
  KernelMachine<T> fit(std::size_t budget) {
    options.execution.memory_budget = budget;
    return KernelMachine<T>::fit(X, Y, options);
  }
  // The message, or nothing when it fits.
  std::string refusal(std::size_t budget) {
    try {
      EXPECT_THAT(fit(budget).record().report.memory, HasSubstr(format_bytes(static_cast<double>(budget))));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

// The count behind "at most", without its commas; 0 when there is none.
Index at_most(const std::string& message, const std::string& what) {
  std::smatch found;
  if (!std::regex_search(message, found, std::regex("at most ([0-9,]+) " + what))) return 0;
  return std::stol(std::regex_replace(found[1].str(), std::regex(","), ""));
}

// Rows that count how often they were asked for.
class CountedRows final : public RowSource<double> {
 public:
  explicit CountedRows(RowSource<double>& rows) : rows_(rows) {}
  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return rows_.dim_out(); }
  std::optional<Index> rows() const override { return rows_.rows(); }
  RowBlock<double> next(Index most) override {
    largest = std::max(largest, most);
    ++asked;
    return rows_.next(most);
  }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override { return rows_.held_bytes(rows_at_once); }
  Index asked = 0, largest = 0;

 private:
  RowSource<double>& rows_;
};

}  // namespace

template <class T>
class MemoryPlanOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MemoryPlanOf, Reals);

TYPED_TEST(MemoryPlanOf, ABudgetIsKeptToOrRefused) {
  using T = TypeParam;
  const Loss huber = Huber(1.0);
  std::vector<Task<T>> tasks = {{"fourier", "auto"},
                                {"fourier", "direct"},
                                {"fourier", "cg"},
                                {"fourier", "idr"},
                                {"exact", "auto"},
                                {"exact", "direct"},
                                {"exact", "cg"},
                                {"sub_sample", "auto"},
                                {"sparse_rademacher", "auto"},
                                {"fourier", "auto", huber},
                                {"exact", "auto", huber},
                                {"sub_sample", "auto", huber}};
  for (Task<T>& task : tasks) {
    SCOPED_TRACE(task.options.approximation + " " + task.options.solver);
    const Matrix<T> expected = task.fit(0).predict(task.X);
    bool fitted = false;
    for (const std::size_t budget :
         {1'000, 30'000, 100'000, 300'000, 1'000'000, 3'000'000, 30'000'000, 1'000'000'000}) {
      const std::string refusal = task.refusal(budget);
      if (refusal.empty()) {
        fitted = true;
        const double difference = (task.fit(budget).predict(task.X) - expected).cwiseAbs().maxCoeff();
        EXPECT_LT(difference, (std::is_same_v<T, float> ? 5e-3 : 1e-5)) << budget;
        continue;
      }
      EXPECT_FALSE(fitted) << "refused with more than what was enough: " << refusal;
      EXPECT_THAT(refusal, HasSubstr("the memory budget is " + format_bytes(static_cast<double>(budget))));
      EXPECT_THAT(refusal, ::testing::ContainsRegex("would fit|even the smallest model needs"));
    }
    EXPECT_TRUE(fitted);
  }
}

// What the sentence offers does fit, and not much more does.
TYPED_TEST(MemoryPlanOf, WhatWouldFitFits) {
  using T = TypeParam;
  Task<T> direct("fourier", "direct");
  direct.options.n_components = 2000;
  direct.X = random_matrix(4000, 3, 1).cast<T>();
  direct.Y = Matrix<T>(direct.X.leftCols(2));
  const std::string components = direct.refusal(2'000'000);
  EXPECT_THAT(components, HasSubstr("solver 'cg', or at most "));
  direct.options.n_components = at_most(components, "components") / 2 * 2;
  EXPECT_GT(direct.options.n_components, 100);
  EXPECT_EQ(direct.refusal(2'000'000), "");
  direct.options.n_components = *direct.options.n_components * 21 / 20 / 2 * 2;
  EXPECT_NE(direct.refusal(2'000'000), "");

  Task<T> exact("exact", "direct");
  exact.X = direct.X, exact.Y = direct.Y;
  const std::string rows = exact.refusal(5'000'000);
  EXPECT_THAT(rows, HasSubstr("of it for the kernel matrix of order 4000, and the memory budget is 5 MB"));
  EXPECT_THAT(rows, HasSubstr("approximation 'fourier' with at most "));
  const Index few = at_most(rows, "rows");
  ASSERT_GT(few, 100);
  exact.X = Matrix<T>(direct.X.topRows(few)), exact.Y = Matrix<T>(direct.Y.topRows(few));
  EXPECT_EQ(exact.refusal(5'000'000), "");
  exact.X = Matrix<T>(direct.X.topRows(few * 21 / 20)), exact.Y = Matrix<T>(direct.Y.topRows(few * 21 / 20));
  EXPECT_NE(exact.refusal(5'000'000), "");
}

TEST(MemoryPlan, IsRefusedBeforeTheRowsAreRead) {
  Task<double> task("exact", "direct");
  MemoryRows<double> memory(task.X, task.Y);
  CountedRows rows(memory);
  task.options.execution.memory_budget = 100'000;
  EXPECT_THROW(KernelMachine<double>::fit(rows, task.options), Error);
  EXPECT_EQ(rows.asked, 0);
}

// With less and less memory: sums of all features, a preconditioner of fewer rows, neither.
TEST(MemoryPlan, TakesTheSolverThatFits) {
  Task<double> task("fourier", "auto");
  task.options.n_components = 300;
  task.X = random_matrix(20'000, 3, 1);
  task.Y = task.X.leftCols(1).array().sin().matrix();
  const auto report = [&](std::size_t budget) { return task.fit(budget).record().report; };
  EXPECT_EQ(report(100'000'000).solver, "direct");
  EXPECT_THAT(report(100'000'000).memory, HasSubstr("of 100 MB planned: "));
  const SolveReport small = report(400'000);
  EXPECT_EQ(small.solver, "cg");
  EXPECT_THAT(small.reason, HasSubstr("the memory budget is 400 kB"));
  task.options.solver = "cg";
  EXPECT_LT(report(100'000'000).iterations, small.iterations) << "a preconditioner that is left out in little memory";
}

// Blocks of a file are part of the budget: they become smaller.
TEST(MemoryPlan, CountsTheBlocksOfAFile) {
  Task<double> task("fourier", "cg");
  TempDir folder;
  Matrix<double> table(50'000, 5);
  table << random_matrix(50'000, 3, 1), random_matrix(50'000, 2, 2);
  write_table(folder.path("rows.npy"), {}, table);
  const auto largest_block = [&](std::size_t budget) {
    auto reader = open_table(folder.path("rows.npy"));
    auto roles = choose_columns(reader->columns(), "2", "rows.npy");
    ReadAhead<double> file(TableRows<double>(std::move(reader), std::move(roles), false));
    CountedRows rows(file);
    task.options.execution.memory_budget = budget;
    KernelMachine<double>::fit(rows, task.options);
    return static_cast<double>(rows.largest);
  };
  const double row = 2 * (5 * 8 + 8);  // two buffers
  EXPECT_GE(largest_block(100'000'000), 50'000);
  for (const std::size_t budget : {500'000, 1'000'000, 4'000'000}) {
    EXPECT_LE(largest_block(budget) * row, static_cast<double>(budget));
    EXPECT_GE(largest_block(budget) * row, 0.02 * static_cast<double>(budget));
  }
}

// The list of all pairs of rows does not fit, and is not needed for the median of their distances.
TYPED_TEST(MemoryPlanOf, TheMedianWidthIsTheSameInLittleMemory) {
  using T = TypeParam;
  const auto width = [](const Matrix<T>& X, const T* weights, std::size_t budget) {
    FitOptions options = given_numbers();
    options.n_components = 10;
    options.execution.memory_budget = budget;
    const auto machine = KernelMachine<T>::fit(X, Matrix<T>(X.leftCols(1)), options, weights);
    return length_scale_values(machine.kernel().terms()[0].scalar).at(0);
  };
  for (const Index n : {1, 2, 3, 4, 301, 402}) {
    Matrix<T> X = random_matrix(n, 2, static_cast<unsigned>(n)).cast<T>();
    Vector<T> weights = Vector<T>::Ones(n);
    EXPECT_EQ(width(X, nullptr, 60'000), width(X, nullptr, 0)) << n;
    for (Index i = 0; i < n; ++i) weights[i] = T(0.5) * static_cast<T>(1 + i % 5);
    EXPECT_EQ(width(X, weights.data(), 60'000), width(X, weights.data(), 0)) << n;
    X.topRows(n - n / 5).setOnes();  // more than half of the pairs coincide
    EXPECT_EQ(width(X, nullptr, 60'000), width(X, nullptr, 0)) << n;
  }
}

}  // namespace carmina
