// tests/losses/losses_test.cpp -- losses by hand, what their minimisers are, their edges, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/losses/loss.hpp>
#include "losses/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using ::testing::DoubleEq;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Losses, ValuesByHand) {
  const double f[] = {3, 0}, y[] = {0, 4};  // |f - y| = 5
  EXPECT_EQ(row_value(Squared(), f, y, 2), 12.5);
  EXPECT_EQ(row_value(Huber(2), f, y, 2), 8);
  EXPECT_EQ(row_value(Huber(6), f, y, 2), 12.5);
  EXPECT_EQ(row_value(EpsilonInsensitive(1), f, y, 2), 4);
  EXPECT_EQ(row_value(SquaredEpsilonInsensitive(1), f, y, 2), 8);
  EXPECT_EQ(row_value(Absolute(), f, y, 2), 5);
  EXPECT_EQ(row_value(Pinball({0.25}), f, y, 2), 3 * 0.75 + 4 * 0.25);
  EXPECT_EQ(row_value(Pinball({0.5, 0.75}), f, y, 2), 3 * 0.5 + 4 * 0.75);
  const double signs[] = {1, -1};
  EXPECT_EQ(row_value(Hinge(), f, signs, 2), 1);
}

TEST(Losses, ProxByHand) {
  const double z[] = {3, 0}, y[] = {0, 4};  // y + v/5 (3, -4)
  double out[2];
  const auto at = [&](double v) { return ::testing::ElementsAre(DoubleEq(3 * v / 5), DoubleEq(4 - 4 * v / 5)); };
  row_prox(Absolute(), z, y, 2.5, 2, out);
  EXPECT_THAT(out, at(2.5));
  row_prox(Absolute(), z, y, 6, 2, out);
  EXPECT_THAT(out, at(0));
  row_prox(EpsilonInsensitive(1), z, y, 10, 2, out);
  EXPECT_THAT(out, at(1));
  row_prox(Squared(), z, y, 1, 2, out);
  EXPECT_THAT(out, at(2.5));
  row_prox(EpsilonInsensitive(6), z, y, 1, 2, out);
  EXPECT_THAT(out, ::testing::ElementsAreArray(z));
}

TEST(Losses, ATubeOfNoWidthIsNoTube) {
  const EpsilonInsensitive none(0);
  const SquaredEpsilonInsensitive square_none(0);
  for (const double n : {0.0, 0.3, 0.5, 4.0}) {
    EXPECT_EQ(none.value(n), Absolute().value(n));
    EXPECT_EQ(none.slope(n), Absolute().slope(n));
    EXPECT_EQ(none.shrink(n, 0.5), Absolute().shrink(n, 0.5));
    EXPECT_EQ(none.shrink_slope(n, 0.5), Absolute().shrink_slope(n, 0.5));
    EXPECT_EQ(none.conjugate(n), 0);
    EXPECT_EQ(square_none.value(n), Squared().value(n));
    EXPECT_EQ(square_none.slope(n), Squared().slope(n));
    EXPECT_EQ(square_none.curvature(n), 1);
    EXPECT_EQ(square_none.shrink(n, 0.5), Squared().shrink(n, 0.5));
    EXPECT_EQ(square_none.shrink_slope(n, 0.5), Squared().shrink_slope(n, 0.5));
  }
}

// The constant that minimises the sum over a sample, by trying each of its points: a loss that is linear between
// them has a minimiser among them.
double best_constant(const Loss& loss, const Matrix<double>& sample) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (Index c = 0; c < sample.rows(); ++c) {
    double sum = 0;
    std::visit(
        [&](const auto& l) {
          for (Index i = 0; i < sample.rows(); ++i) sum += row_value(l, &sample(c, 0), &sample(i, 0), 1);
        },
        loss);
    if (sum < least) {
      least = sum;
      best = sample(c, 0);
    }
  }
  return best;
}

TEST(Losses, PinballAndAbsoluteFindQuantiles) {
  const Matrix<double> sample = testing::random_matrix(201, 1, 3);
  std::vector<double> sorted(sample.data(), sample.data() + sample.size());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(best_constant(Pinball({0.1}), sample), sorted[20]);  // 0.1 * 201 = 20.1 points lie below it
  EXPECT_EQ(best_constant(Pinball({0.8}), sample), sorted[160]);
  EXPECT_EQ(best_constant(Pinball(), sample), sorted[100]);
  EXPECT_EQ(best_constant(Absolute(), sample), sorted[100]);
}

TEST(Losses, ProxStaysWhereNothingCosts) {
  const double y[] = {0.1}, z[] = {0.1 + 0.2}, margin[] = {1.5}, sign[] = {1};
  double out[1];
  row_prox(EpsilonInsensitive(0.3), z, y, 2, 1, out);
  EXPECT_EQ(out[0], z[0]);
  row_prox(Hinge(), margin, sign, 2, 1, out);
  EXPECT_EQ(out[0], margin[0]);
}

TEST(Losses, KnowsWhichOutputsAndTargetsTheyTake) {
  EXPECT_NO_THROW(check_outputs(Pinball({0.3}), 5));
  EXPECT_NO_THROW(check_outputs(Pinball({0.3, 0.7}), 2));
  EXPECT_NO_THROW(check_outputs(Huber(), 7));
  EXPECT_THAT([] { check_outputs(Pinball({0.3, 0.7}), 3); },
              ThrowsMessage<Error>("Pinball: levels must be one number or one for each of 3 outputs, found 2"));
  EXPECT_EQ(expected_target(Hinge(), 1), nullptr);
  EXPECT_EQ(expected_target(Hinge(), -1), nullptr);
  EXPECT_STREQ(expected_target(Hinge(), 0), "-1 or 1");
  EXPECT_STREQ(expected_target(Hinge(), std::nan("")), "-1 or 1");
  EXPECT_EQ(expected_target(Absolute(), 0.3), nullptr);
  const auto place = [] { return "fit: row 3"; };
  EXPECT_NO_THROW(check_target(Hinge(), -1, place));
  try {
    check_target(Hinge(), 0.5, place);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "fit: row 3: with loss 'hinge' a target must be -1 or 1, found 0.5");
  }
}

TEST(Losses, LogisticByHand) {
  const Logistic loss;
  const double f[] = {0.3}, plus[] = {1}, minus[] = {-1};
  EXPECT_DOUBLE_EQ(row_value(loss, f, plus, 1), std::log(1 + std::exp(-0.3)));
  EXPECT_DOUBLE_EQ(row_value(loss, f, minus, 1), std::log(1 + std::exp(0.3)));
  const double scores[] = {1, 2, 4}, second[] = {0, 1, 0};
  const double sum = std::exp(1) + std::exp(2) + std::exp(4);
  EXPECT_DOUBLE_EQ(row_value(loss, scores, second, 3), std::log(sum) - 2);
  double g[3], s[3];
  row_gradient(loss, scores, second, 3, g);
  softmax(scores, 3, s);
  EXPECT_DOUBLE_EQ(s[0], std::exp(1) / sum);
  EXPECT_THAT(g, ::testing::ElementsAre(DoubleEq(s[0]), DoubleEq(s[1] - 1), DoubleEq(s[2])));
  EXPECT_DOUBLE_EQ(row_part(loss, scores, second, 3, 1), std::log(sum) - 2);
  EXPECT_EQ(row_part(loss, scores, second, 3, 0), 0);
}

// Two outputs are one, their difference, with the classes 0 and 1.
TEST(Losses, LogisticOfTwoOutputsIsThatOfTheirDifference) {
  const Logistic loss;
  for (const double f : {-700.0, -3.0, 0.0, 0.5, 40.0, 800.0}) {
    const double two[] = {0.25, f + 0.25}, first[] = {1, 0}, second[] = {0, 1}, plus[] = {1}, minus[] = {-1};
    EXPECT_DOUBLE_EQ(row_value(loss, two, second, 2), row_value(loss, &f, plus, 1)) << f;
    EXPECT_DOUBLE_EQ(row_value(loss, two, first, 2), row_value(loss, &f, minus, 1)) << f;
    double g[2], h[1];
    row_gradient(loss, two, second, 2, g);
    row_gradient(loss, &f, plus, 1, h);
    EXPECT_DOUBLE_EQ(g[1], h[0]) << f;
    EXPECT_DOUBLE_EQ(g[0], -h[0]) << f;
  }
}

// Rows that are fitted well or badly beyond all measure: nothing overflows, nothing cancels.
TEST(Losses, LogisticFarOut) {
  const Logistic loss;
  const double far[] = {900, 0, -900}, own[] = {1, 0, 0}, other[] = {0, 0, 1};
  EXPECT_EQ(row_value(loss, far, own, 3), 0);
  EXPECT_EQ(row_value(loss, far, other, 3), 1800);
  const double near[] = {40, 0, 0};
  double g[3];
  row_gradient(loss, near, own, 3, g);
  EXPECT_DOUBLE_EQ(g[0], -2 * std::exp(-40));
  EXPECT_DOUBLE_EQ(row_conjugate(loss, g, own, 3), 2 * std::exp(-40) * (-40 - 1));
}

TEST(Losses, LogisticSaysWhichRowsItTakes) {
  const auto place = [] { return "fit: row 3"; };
  const auto says = [&](std::vector<double> y) -> std::string {
    try {
      check_targets(Logistic(), y.data(), static_cast<Index>(y.size()), place);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(says({1}), "");
  EXPECT_EQ(says({-1}), "");
  EXPECT_EQ(says({0, 1, 0}), "");
  EXPECT_EQ(says({0}), "fit: row 3: with loss 'logistic' a target must be -1 or 1, found 0");
  EXPECT_EQ(says({0, 1, 1}),
            "fit: row 3: with loss 'logistic' the targets of a row must be 0 but for a single 1, found 0 1 1");
  EXPECT_EQ(says({0, 0}),
            "fit: row 3: with loss 'logistic' the targets of a row must be 0 but for a single 1, found 0 0");
  EXPECT_EQ(says({1, -1}),
            "fit: row 3: with loss 'logistic' the targets of a row must be 0 but for a single 1, found 1 -1");
  EXPECT_NE(says({0.5, 0.5}), "");
}

TEST(Losses, AreEqualByKindAndParameters) {
  EXPECT_EQ(Huber(0.5), Huber(0.5));
  EXPECT_NE(Huber(0.5), Huber(0.6));
  EXPECT_NE(Pinball({0.5}), Pinball({0.5, 0.5}));
  EXPECT_NE(Loss(EpsilonInsensitive(0.1)), Loss(SquaredEpsilonInsensitive(0.1)));
}

TEST(Losses, RefuseBadParameters) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double kappa : {0.0, -1.0, infinite, std::nan("")}) EXPECT_THROW(Huber{kappa}, Error) << kappa;
  for (const double epsilon : {-0.1, infinite, std::nan("")}) {
    EXPECT_THROW(EpsilonInsensitive{epsilon}, Error) << epsilon;
    EXPECT_THROW(SquaredEpsilonInsensitive{epsilon}, Error) << epsilon;
  }
  for (const double level : {0.0, 1.0, -0.5, std::nan("")}) EXPECT_THROW(Pinball({0.5, level}), Error) << level;
  EXPECT_THROW(Pinball(std::vector<double>{}), Error);
  EXPECT_THAT([] { Huber(-1); }, ThrowsMessage<Error>("Huber: kappa must be positive and finite, found -1"));
}

TEST(Losses, NamesThatThereAreNot) {
  EXPECT_THAT([] { make_loss("hubert"); },
              ThrowsMessage<Error>("there is no loss named 'hubert'; known: squared, huber, epsilon_insensitive, "
                                   "squared_epsilon_insensitive, pinball, absolute, hinge, logistic"));
  EXPECT_THAT([] { make_loss("huber", {{"epsilon", {0.1}}}); },
              ThrowsMessage<Error>("the huber loss has no parameter 'epsilon'; it has kappa"));
  EXPECT_THAT([] { make_loss("squared", {{"kappa", {0.1}}}); },
              ThrowsMessage<Error>("the squared loss has no parameter 'kappa'"));
  EXPECT_THAT([] { make_loss("huber", {{"kappa", {0.1, 0.2}}}); },
              ThrowsMessage<Error>("the huber loss: kappa must be one number, found 2"));
  EXPECT_THAT([] { make_loss("pinball", {{"levels", {}}}); }, ThrowsMessage<Error>(HasSubstr("found none")));
  EXPECT_EQ(make_loss("pinball", {{"levels", {0.2, 0.4}}}), Loss(Pinball({0.2, 0.4})));
}

}  // namespace
}  // namespace carmina
