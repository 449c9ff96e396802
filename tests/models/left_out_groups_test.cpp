// tests/models/left_out_groups_test.cpp -- groups left out in closed form beside fits without them; what stretches say.
#include "models/choose/left_out_groups.hpp"
#include "models/choose/field_errors.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>
#include <carmina/data/splits.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <support/given_numbers.hpp>
#include <support/random_matrix.hpp>

namespace carmina::left_out_groups_test {
namespace {

using carmina::testing::random_matrix;

std::vector<Index> turns(Index n, Index groups) {
  std::vector<Index> found;
  for (Index i = 0; i < n; ++i) found.push_back(7 + i % groups);
  return found;
}

// Predictions for the rows of a group by a fit to the others.
Matrix<double> without_group(const Matrix<double>& X, const Matrix<double>& Y, const Vector<double>& weights,
                             const Kernel& kernel, double alpha, bool intercept, const std::vector<Index>& group) {
  Vector<double> w = weights;
  for (const Index i : group) w[i] = 0;
  FitOptions options = given_numbers();
  options.kernel = kernel;
  options.approximation = "exact";
  options.alpha = alpha;
  options.fit_intercept = intercept;
  return KernelMachine<double>::fit(X, Y, options, w.data()).predict(X(group, Eigen::all));
}

TEST(LeftOutGroups, AreMissedAsByFitsWithoutThem) {
  for (const bool intercept : {true, false}) {
    const Index n = 18;
    ChoiceRows rows{random_matrix(n, 2, 1), random_matrix(n, 2, 2), Vector<double>::Ones(n), intercept};
    for (Index i = 0; i < n; ++i) rows.weights[i] = 0.5 * static_cast<double>(1 + i % 4);
    rows.groups = turns(n, 5);
    const Gaussian kernel(LengthScale(0.9));
    const ExactErrors found = exact_errors(rows, kernel, 0.2, Execution{});
    double sum = 0;
    for (const auto& group : members_of(rows.groups)) {
      const Matrix<double> predicted =
          without_group(rows.Z, rows.Y, rows.weights, Kernel(kernel), 0.2, intercept, group);
      const Matrix<double> e = rows.Y(group, Eigen::all) - predicted;
      EXPECT_LT((found.residuals(group, Eigen::all) - e).cwiseAbs().maxCoeff(), 1e-9);
      for (std::size_t k = 0; k < group.size(); ++k) {
        sum += rows.weights[group[k]] * e.row(static_cast<Index>(k)).squaredNorm() / 2;
      }
    }
    EXPECT_NEAR(found.error, sum / rows.weights.sum(), 1e-9);
  }
}

TEST(LeftOutGroups, OfOneRowEachAreRows) {
  ChoiceRows rows{random_matrix(15, 2, 1), random_matrix(15, 1, 2), Vector<double>::Ones(15), true};
  const Gaussian kernel(LengthScale(0.9));
  const ExactErrors each = exact_errors(rows, kernel, 0.1, Execution{});
  rows.groups = turns(15, 15);
  const ExactErrors groups = exact_errors(rows, kernel, 0.1, Execution{});
  EXPECT_LT((each.residuals - groups.residuals).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_LT((each.coefficients - groups.coefficients).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_NEAR(each.error, groups.error, 1e-10);
}

// Vector fields: entries of all outputs of the rows of a group go together.
TEST(LeftOutGroups, OfFieldsAreMissedAsByFitsWithoutThem) {
  for (const bool intercept : {true, false}) {
    const Dataset field = vector_field("curl-free", 20, {.noise = 0.1});
    const Kernel kernel = CurlFree(Gaussian(LengthScale(0.5))) + 0.5 * DivergenceFree(Gaussian(LengthScale(0.7)));
    HeldRows<double> held{field.X, field.Y, Vector<double>::LinSpaced(20, 0.5, 2), {}};
    FitOptions options = given_numbers();
    options.fit_intercept = intercept;
    options.transform = InputTransform{};
    const std::vector<Index> groups = turns(20, 4);
    const FieldSystem<double> system(held, kernel, options);
    const Vector<double> squares = system.squares(0.3, groups);
    for (const auto& group : members_of(groups)) {
      const Matrix<double> e =
          field.Y(group, Eigen::all) - without_group(field.X, field.Y, held.weights, kernel, 0.3, intercept, group);
      for (std::size_t k = 0; k < group.size(); ++k) {
        EXPECT_NEAR(squares[group[k]], e.row(static_cast<Index>(k)).squaredNorm(), 1e-9);
      }
    }
    EXPECT_NEAR(system.error(0.3, groups), squares.dot(held.weights) / (2 * held.weights.sum()), 1e-12);
    // A target that is missing is no entry.
    held.Y(3, 1) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isfinite(FieldSystem<double>(held, kernel, options).error(0.3, groups)));
  }
}

TEST(LeftOutGroups, AreThoseOfTheOptions) {
  FitOptions options;
  EXPECT_TRUE(groups_of({0, 1, 2}, 3, options).empty());
  options.contiguous = true;
  EXPECT_EQ(groups_of({0, 9, 10, 99}, 100, options), (std::vector<Index>{0, 0, 1, 9}));
  EXPECT_EQ(groups_of({0, 1, 2}, 3, options), (std::vector<Index>{0, 1, 2}));
  options.contiguous = false;
  options.groups = {4, 4, 1, 1, 4};
  EXPECT_EQ(groups_of({1, 2, 4}, 5, options), (std::vector<Index>{4, 1, 4}));
  const auto says = [&](const std::vector<Index>& numbers, Index rows) -> std::string {
    try {
      groups_of(numbers, rows, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(says({0, 1}, 6), "fit: groups must have a number for each of the 6 rows, found 5");
  EXPECT_EQ(says({0, 1}, 5), "fit: to be left out in turn, rows must be of at least 2 groups, found 1");
}

// Errors of the squared loss, by rows left out with their groups, of a Gaussian kernel.
std::optional<double> ratio_of(const Matrix<double>& X, const Matrix<double>& Y, double width, double alpha) {
  ChoiceRows rows{X, Y, Vector<double>::Ones(X.rows()), true};
  return ratio_of_stretches(X.rows(), rows.weights, [&](const std::vector<Index>& groups) {
    rows.groups = groups;
    return exact_errors(rows, Gaussian(LengthScale(width)), alpha, Execution{}).squares;
  });
}

TEST(Stretches, OfTracksAreMissedByFarMore) {
  const Drifters data = drifters(30, {.readings = 20, .size = 2.5, .seed = 1});
  const Matrix<double> Y = data.Y / std::sqrt(data.Y.squaredNorm() / static_cast<double>(data.Y.size()));
  const auto tracks = ratio_of(data.X, Y, 1.0, 0.05);
  ASSERT_TRUE(tracks);
  EXPECT_GT(*tracks, 2);
  EXPECT_NE(stretches_text(tracks), "");
  // The same rows in another order say nothing of the kind.
  const std::vector<Index> order = shuffled_rows(data.X.rows(), Random(5, Stream::split));
  const auto shuffled = ratio_of(data.X(order, Eigen::all), Y(order, Eigen::all), 1.0, 0.05);
  ASSERT_TRUE(shuffled);
  EXPECT_NEAR(*shuffled, 1, 0.2);
  EXPECT_EQ(stretches_text(shuffled), "");
}

// Shuffled tables whatever they are: 40 of them, with few rows, many inputs and heavy tails.
TEST(Stretches, OfShuffledTablesAreAsGoodAsRowsAtRandom) {
  double largest = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const Index n : {60, 300}) {
      Matrix<double> Y = friedman(n, {.seed = seed}).Y;
      const Matrix<double> X = friedman(n, {.seed = seed}).X;
      largest = std::max(largest, ratio_of(X, Y, 1.0, 0.1).value());
      for (Index i = 0; i < n; ++i) Y(i, 0) = std::exp(Y(i, 0) / 4);  // a few rows have most of the squares
      largest = std::max(largest, ratio_of(X, Y, 1.0, 0.1).value());
    }
  }
  EXPECT_LT(largest, 1.3);
}

TEST(Stretches, OfFewRowsSayNothing) {
  EXPECT_FALSE(ratio_of(random_matrix(49, 2, 1), random_matrix(49, 1, 2), 1.0, 0.1));
  EXPECT_EQ(stretches_text(std::nullopt), "");
}

// A width that is right between the readings of a track is wrong between tracks: choices by tracks predict others
// better.
TEST(Groups, ChooseForPlacesBetweenTracks) {
  const Drifters seen = drifters(40, {.readings = 25, .size = 2.5, .seed = 2});
  const Drifters other = drifters(200, {.readings = 1, .duration = 12, .size = 2.5, .seed = 50});
  FitOptions options;
  options.approximation = "exact";
  const auto error = [&](const FitOptions& with) {
    const auto machine = KernelMachine<double>::fit(seen.X, seen.Y, with);
    return std::sqrt((machine.predict(other.X) - other.clean).array().square().mean());
  };
  FitOptions by_track = options, by_stretch = options;
  by_track.groups = seen.tracks;
  by_stretch.contiguous = true;
  const double rows = error(options), tracks = error(by_track), stretches = error(by_stretch);
  EXPECT_LT(tracks, 1.02 * rows);
  EXPECT_LT(stretches, 1.02 * rows);
  const auto text = [&](const FitOptions& with) {
    return KernelMachine<double>::fit(seen.X, seen.Y, with).record().report.text;
  };
  EXPECT_NE(text(options).find("stretches of consecutive rows are missed by"), std::string::npos);
  EXPECT_EQ(text(by_track).find("stretches of consecutive"), std::string::npos);
}

TEST(Groups, SayWhatTheyAreNotFor) {
  const auto says = [](auto change) -> std::string {
    FitOptions options;
    options.contiguous = true;
    change(options);
    try {
      options.check();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(says([](auto& o) { o.groups = {1}; }),
            "groups are left out in the place of contiguous stretches, not both");
  EXPECT_EQ(says([](auto& o) { o.alpha_by = AlphaScore::gcv; }),
            "groups and contiguous stretches are left out where alpha is 'auto' or a number, found 'gcv'");
  EXPECT_EQ(says([](auto& o) { o.by_evidence = true; }),
            "groups and contiguous stretches are left out where alpha is 'auto' or a number, found 'evidence'");
}

}  // namespace
}  // namespace carmina::left_out_groups_test
