// tests/laws/loss_laws.cpp -- what every loss must satisfy; a new loss joins by being in the variant Loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/losses/loss.hpp>
#include "losses/row_functions.hpp"

#include <cmath>
#include <limits>

#include "support/alternatives.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using Row = Vector<double>;
using testing::message_of;

// Other parameters than the default ones.
template <class L>
std::vector<L> more() {
  if constexpr (std::same_as<L, Pinball>) {
    return {Pinball({0.1}), Pinball({0.1, 0.5, 0.8})};
  } else if constexpr (requires { L(1.0); }) {
    return {L(0.7), L(2.0)};
  } else {
    return {};
  }
}

// A loss on rows as functions of vectors.
template <class L>
struct OnRows {
  L loss;
  Index p;

  double value(const Row& f, const Row& y) const { return row_value(loss, f.data(), y.data(), p); }
  Row gradient(const Row& f, const Row& y) const {
    Row out(p);
    row_gradient(loss, f.data(), y.data(), p, out.data());
    return out;
  }
  Row prox(const Row& z, const Row& y, double rho) const {
    Row out(p);
    row_prox(loss, z.data(), y.data(), rho, p, out.data());
    return out;
  }
  // Of the envelope: (z - prox) / rho; rho = 0: of the loss.
  Row smoothed_gradient(const Row& z, const Row& y, double rho) const {
    return rho > 0 ? Row((z - prox(z, y, rho)) / rho) : gradient(z, y);
  }
  double conjugate(const Row& u, const Row& y) const { return row_conjugate(loss, u.data(), y.data(), p); }
  Row into_domain(Row u, const Row& y) const {
    row_into_domain(loss, u.data(), y.data(), p);
    return u;
  }
  Matrix<double> curvature(const Row& v, const Row& y, double rho) const {
    Row diagonal(p), direction(p);
    double along = 0;
    row_curvature(loss, v.data(), y.data(), rho, p, diagonal.data(), direction.data(), along);
    EXPECT_NEAR(direction.norm(), along == 0 ? direction.norm() : 1, 1e-14);
    return Matrix<double>(diagonal.asDiagonal()) + along * direction * direction.transpose();
  }
};

// Rows of numbers, a different one at each call; targets that the loss takes.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, 5) {}
  Row row(Index p, double scale) {
    Row r(p);
    for (Index j = 0; j < p; ++j) r[j] = scale * random_.normal(count_, static_cast<std::uint32_t>(j));
    ++count_;
    return r;
  }
  template <class L>
  Row targets(const L& loss, Index p) {
    Row y = row(p, 1);
    if constexpr (WholeRowLoss<L>) {
      if (p > 1) {
        Index one = 0;
        y.maxCoeff(&one);
        return Row::Unit(p, one);
      }
    }
    if (loss.expected_target(0.37)) y = y.unaryExpr([](double t) { return t < 0 ? -1.0 : 1.0; });
    return y;
  }

 private:
  Random random_;
  std::uint64_t count_ = 0;
};

template <class L>
class LossLaws : public ::testing::Test {
 protected:
  // body(loss on rows, draws) for every sample of the loss, with one and three outputs.
  template <class Body>
  void for_all(const Body& body) {
    std::vector<L> samples = more<L>();
    samples.push_back(L());
    for (const L& loss : samples) {
      for (const Index p : {1, 3}) {
        if constexpr (std::same_as<L, Pinball>) {
          if (loss.levels.size() > 1 && static_cast<Index>(loss.levels.size()) != p) continue;
        }
        Draws draws(static_cast<std::uint64_t>(p));
        body(OnRows<L>{loss, p}, draws);
      }
    }
  }
};
using AllLosses = testing::Alternatives<Loss>::Types;
TYPED_TEST_SUITE(LossLaws, AllLosses);

constexpr double step = 1e-6;
constexpr int points = 300;

TYPED_TEST(LossLaws, IsKnownByNameAndParameters) {
  this->for_all([](const auto& on, Draws&) {
    const Loss loss = on.loss;
    EXPECT_EQ(loss_name(loss), TypeParam::name);
    EXPECT_EQ(make_loss(loss_name(loss), loss_parameters(loss)), loss);
    EXPECT_EQ(smooth(loss), TypeParam::smooth);
  });
  EXPECT_EQ(make_loss(TypeParam::name), Loss(TypeParam()));
}

// The logistic loss is zero far along the target alone.
TYPED_TEST(LossLaws, IsZeroAtTheTargetAndNeverNegative) {
  this->for_all([](const auto& on, Draws& draws) {
    for (int k = 0; k < points; ++k) {
      const Row y = draws.targets(on.loss, on.p);
      EXPECT_EQ(on.value((WholeRowLoss<TypeParam> ? 1e4 : 1.0) * y, y), 0);
      EXPECT_GE(on.value(draws.row(on.p, 2), y), 0);
    }
  });
}

// Central differences, but where the gradient jumps between the two points.
TYPED_TEST(LossLaws, GradientIsTheSlopeOfTheValue) {
  this->for_all([](const auto& on, Draws& draws) {
    int kinks = 0;
    for (int k = 0; k < points; ++k) {
      const Row y = draws.targets(on.loss, on.p), f = draws.row(on.p, 2), g = on.gradient(f, y);
      for (Index j = 0; j < on.p; ++j) {
        const Row e = step * Row::Unit(on.p, j);
        if ((on.gradient(f + e, y) - on.gradient(f - e, y)).cwiseAbs().maxCoeff() > 1e-3) {
          ++kinks;
        } else {
          EXPECT_NEAR(g[j], (on.value(f + e, y) - on.value(f - e, y)) / (2 * step), 1e-5);
        }
      }
    }
    EXPECT_LT(kinks, points / 50);
  });
}

TYPED_TEST(LossLaws, ProxBeatsTenThousandRandomPoints) {
  this->for_all([](const auto& on, Draws& draws) {
    for (const double rho : {0.05, 0.6, 3.0}) {
      for (int k = 0; k < 20; ++k) {
        const Row y = draws.targets(on.loss, on.p), z = draws.row(on.p, 2), x = on.prox(z, y, rho);
        const auto objective = [&](const Row& f) { return on.value(f, y) + (f - z).squaredNorm() / (2 * rho); };
        const double least = objective(x) - 1e-13 * (1 + objective(x));
        for (int trial = 0; trial < 500; ++trial) {  // nearer and nearer
          ASSERT_LE(least, objective(x + draws.row(on.p, std::pow(2.0, -(trial % 20))))) << rho;
        }
        ASSERT_LE(least, objective(y));
        ASSERT_LE(least, objective(z));
      }
    }
  });
}

TYPED_TEST(LossLaws, ProxMovesAlongASubgradient) {
  this->for_all([](const auto& on, Draws& draws) {
    for (int k = 0; k < points; ++k) {
      const double rho = 0.1 + k % 7;
      const Row y = draws.targets(on.loss, on.p), z = draws.row(on.p, 3), x = on.prox(z, y, rho), g = (z - x) / rho;
      EXPECT_LT((on.into_domain(g, y) - g).norm(), 1e-13);
      for (int trial = 0; trial < 20; ++trial) {
        const Row f = draws.row(on.p, 2);
        EXPECT_GE(on.value(f, y), on.value(x, y) + g.dot(f - x) - 1e-13);
      }
    }
  });
}

// l(f) + l*(u) >= u.f, with equality at a subgradient; that of the prox takes every value in the domain.
TYPED_TEST(LossLaws, ConjugateClosesTheDualityGap) {
  this->for_all([](const auto& on, Draws& draws) {
    for (int k = 0; k < points; ++k) {
      const Row y = draws.targets(on.loss, on.p), f = draws.row(on.p, 2);
      const Row u = on.into_domain(draws.row(on.p, 1), y);
      EXPECT_GE(on.value(f, y) + on.conjugate(u, y), u.dot(f) - 1e-13);
      const Row g = on.gradient(f, y);
      EXPECT_NEAR(on.value(f, y) + on.conjugate(g, y), g.dot(f), 1e-12);
      const double rho = 0.2 + k % 5;
      const Row x = on.prox(f, y, rho), between = (f - x) / rho;
      EXPECT_NEAR(on.value(x, y) + on.conjugate(between, y), between.dot(x), 1e-12);
    }
  });
}

TYPED_TEST(LossLaws, ProjectionIsTheNearestPointOfTheDomain) {
  this->for_all([](const auto& on, Draws& draws) {
    for (int k = 0; k < points; ++k) {
      const Row y = draws.targets(on.loss, on.p), u = draws.row(on.p, 3), inside = on.into_domain(u, y);
      if constexpr (TypeParam::radial) {
        EXPECT_LE(inside.norm(), on.loss.radius() * (1 + 1e-15));
      } else if constexpr (WholeRowLoss<TypeParam>) {
        if (on.p == 1) {
          EXPECT_GE(-inside[0] * y[0], 0);
          EXPECT_LE(-inside[0] * y[0], 1);
        } else {
          EXPECT_GE((inside + y).minCoeff(), 0);
          EXPECT_NEAR((inside + y).sum(), 1, 1e-15);
        }
      } else {
        for (Index j = 0; j < on.p; ++j) {
          EXPECT_GE(inside[j], on.loss.low(y[j], j));
          EXPECT_LE(inside[j], on.loss.high(y[j], j));
        }
      }
      EXPECT_LT((on.into_domain(inside, y) - inside).norm(), 1e-15);
      // Nearest: the way out makes no acute angle with the way to any other point of the domain.
      const Row other = on.into_domain(draws.row(on.p, 2), y);
      EXPECT_LE((u - inside).dot(other - inside), 1e-13);
    }
  });
}

// D of the envelope (rho > 0), so also the derivative I - rho D of the prox, and of a smooth loss itself (rho = 0).
TYPED_TEST(LossLaws, CurvatureIsTheSlopeOfTheGradient) {
  this->for_all([](const auto& on, Draws& draws) {
    for (const double rho : {0.0, 0.3, 1.7}) {
      if (rho == 0 && !TypeParam::smooth) continue;
      int kinks = 0;
      for (int k = 0; k < points; ++k) {
        const Row y = draws.targets(on.loss, on.p), v = draws.row(on.p, 2);
        const Matrix<double> D = on.curvature(v, y, rho);
        for (Index j = 0; j < on.p; ++j) {
          const Row e = step * Row::Unit(on.p, j);
          if ((on.curvature(v + e, y, rho) - on.curvature(v - e, y, rho)).cwiseAbs().maxCoeff() > 1e-2) {
            ++kinks;
            continue;
          }
          const Row by_differences =
              (on.smoothed_gradient(v + e, y, rho) - on.smoothed_gradient(v - e, y, rho)) / (2 * step);
          EXPECT_LT((D.col(j) - by_differences).cwiseAbs().maxCoeff(), 1e-4) << rho;
        }
      }
      EXPECT_LT(kinks, points / 50);
    }
  });
}

// At n = 0 there is no direction; D must still be a curvature, between 0 and 1/rho.
TYPED_TEST(LossLaws, CurvatureIsSoundAtTheTarget) {
  this->for_all([](const auto& on, Draws& draws) {
    const Row y = draws.targets(on.loss, on.p);
    for (const double rho : {0.0, 0.5}) {
      if (rho == 0 && !TypeParam::smooth) continue;
      const Matrix<double> D = on.curvature(y, y, rho);
      EXPECT_TRUE(D.allFinite());
      EXPECT_GE(D.diagonal().minCoeff(), 0);
      EXPECT_LE(D.diagonal().maxCoeff(), rho > 0 ? 1 / rho : 1);
    }
    EXPECT_TRUE(on.gradient(y, y).allFinite());
    if (!WholeRowLoss<TypeParam>) {
      EXPECT_EQ(on.prox(y, y, 0.5), y);
    }
  });
}

// The loss of a row that lacks its second target is the loss of the two others; what it lacks has no slope, no
// curvature and no dual variable, and a prox leaves it where it is. A loss of whole rows takes a row without any of its
// targets, which is then ignored, and none that has a part of them.
TYPED_TEST(LossLaws, OfMissingTargetsIsThatOfTheOthers) {
  this->for_all([](const auto& on, Draws& draws) {
    if (on.p != 3) return;
    auto fewer = on;
    fewer.p = 2;
    if constexpr (std::same_as<TypeParam, Pinball>) {
      if (on.loss.levels.size() == 3) fewer.loss = Pinball({on.loss.levels[0], on.loss.levels[2]});
    }
    const std::vector<Index> there = {0, 2};
    for (int k = 0; k < points; ++k) {
      Row y = draws.targets(on.loss, 3);
      if constexpr (WholeRowLoss<TypeParam>) {
        const auto check = [&] { check_targets(Loss(on.loss), y.data(), 3, [] { return "row 1"; }); };
        EXPECT_NO_THROW(check());
        y[1] = std::numeric_limits<double>::quiet_NaN();
        EXPECT_THAT(message_of(check), ::testing::HasSubstr("row 1: with loss 'logistic' a row must have all of its 3 "
                                                            "targets or none, found 1 of them missing"));
        y.setConstant(std::numeric_limits<double>::quiet_NaN());
        EXPECT_NO_THROW(check());
        continue;
      }
      const Row f = draws.row(3, 2), u = draws.row(3, 1), y2 = y(there), f2 = f(there), u2 = u(there);
      y[1] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_EQ(on.value(f, y), fewer.value(f2, y2));
      EXPECT_EQ(on.gradient(f, y)(there), fewer.gradient(f2, y2));
      EXPECT_EQ(on.gradient(f, y)[1], 0);
      EXPECT_EQ(on.prox(f, y, 0.3)(there), fewer.prox(f2, y2, 0.3));
      EXPECT_EQ(on.prox(f, y, 0.3)[1], f[1]);
      const Row v = on.into_domain(u, y);
      EXPECT_EQ(v(there), fewer.into_domain(u2, y2));
      EXPECT_EQ(v[1], 0);
      EXPECT_EQ(on.conjugate(v, y), fewer.conjugate(v(there), y2));
      for (const double rho : {0.0, 0.5}) {
        if (rho == 0 && !TypeParam::smooth) continue;
        const Matrix<double> D = on.curvature(f, y, rho), expected = fewer.curvature(f2, y2, rho);
        EXPECT_EQ(D(there, there), expected);
        EXPECT_EQ(D.row(1).norm(), 0);
      }
    }
  });
}

}  // namespace
}  // namespace carmina
