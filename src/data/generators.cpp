// data/generators.cpp -- every number is a function of (seed, row, column): a longer data set begins like a
// shorter one, outliers apart.
#include <array>
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>
#include <carmina/data/splits.hpp>
#include <carmina/random/philox.hpp>
#include <cmath>
#include <numbers>

namespace carmina {

namespace {

double friedman_value(FriedmanFunction function, const std::array<double, 5>& x) {
  if (function == FriedmanFunction::interaction) {
    return 10 * std::sin(std::numbers::pi * x[0] * x[1]) + 20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4];
  }
  return 0.1 * std::exp(4 * x[0]) + 4 / (1 + std::exp(-20 * (x[1] - 0.5))) + 3 * x[2] + 2 * x[3] + x[4];
}

void require_count(Index n, const char* where) {
  require(n >= 1, "{}: the number of rows must be positive, found {}", where, n);
}
void require_not_negative(double value, const char* where, const char* what) {
  require(value >= 0 && std::isfinite(value), "{}: {} must be finite and not negative, found {}", where, what, value);
}
void require_fraction(double value, const char* what) {
  require(value >= 0 && value <= 1, "friedman: {} must be between 0 and 1, found {}", what, value);
}

// Columns of a stream: inputs or targets first, then what outliers add to them, then the choice of outlier
// rows.
constexpr std::uint32_t outlier_columns = 1u << 30, choice_column = 1u << 31;

// round(n fraction) rows at random.
std::vector<Index> some_rows(Index n, double fraction, const Random& random) {
  std::vector<Index> rows = shuffled_rows(n, random, choice_column);
  rows.resize(static_cast<std::size_t>(std::llround(fraction * static_cast<double>(n))));
  return rows;
}

void add_noise(Matrix<double>& Y, double deviation, const Random& noise) {
  for (Index i = 0; i < Y.rows(); ++i) {
    for (Index k = 0; k < Y.cols(); ++k) {
      Y(i, k) += deviation * noise.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(k));
    }
  }
}

void check(Index n, const FriedmanOptions& o) {
  require_count(n, "friedman");
  require(o.inputs >= 5, "friedman: at least 5 inputs are needed, found {}", o.inputs);
  require(o.outputs >= 1 && o.outputs <= o.inputs,
          "friedman: the number of outputs must be from 1 to the {} inputs, found {}", o.inputs, o.outputs);
  require_not_negative(o.noise, "friedman", "noise");
  require_fraction(o.input_outliers, "input_outliers");
  require_fraction(o.target_outliers, "target_outliers");
  require(std::isfinite(o.outlier_center), "friedman: outlier_center must be finite, found {}", o.outlier_center);
  require_not_negative(o.outlier_deviation, "friedman", "outlier_deviation");
  require_not_negative(o.target_outlier_scale, "friedman", "target_outlier_scale");
}

}  // namespace

Dataset friedman(Index n, const FriedmanOptions& options) {
  check(n, options);
  const Random random(options.seed, Stream::data), noise(options.seed, Stream::noise);
  Dataset data{Matrix<double>(n, options.inputs), {}, Matrix<double>(n, options.outputs)};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < options.inputs; ++j) {
      data.X(i, j) = random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
    }
  }
  for (Index i : some_rows(n, options.input_outliers, random)) {
    for (Index j = 0; j < options.inputs; ++j) {
      const double z = random.normal(static_cast<std::uint64_t>(i), outlier_columns + static_cast<std::uint32_t>(j));
      data.X(i, j) = options.outlier_center + options.outlier_deviation * z;
    }
  }
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < options.outputs; ++k) {
      std::array<double, 5> seen;
      for (Index j = 0; j < 5; ++j) seen[static_cast<std::size_t>(j)] = data.X(i, (j + k) % options.inputs);
      data.clean(i, k) = friedman_value(options.function, seen);
    }
  }
  data.Y = data.clean;
  add_noise(data.Y, options.noise, noise);
  for (Index i : some_rows(n, options.target_outliers, noise)) {
    for (Index k = 0; k < options.outputs; ++k) {
      const double z = noise.normal(static_cast<std::uint64_t>(i), outlier_columns + static_cast<std::uint32_t>(k));
      data.Y(i, k) += options.target_outlier_scale * z;
    }
  }
  return data;
}

namespace {

// sum_k s_k e_k and its gradient -sum_k s_k (x - c_k) e_k / tau^2, where e_k = exp(-|x - c_k|^2 / (2 tau^2)).
struct Potential {
  double value = 0, along_1 = 0, along_2 = 0;
};

Potential five_gaussians(double x1, double x2, double tau) {
  struct Bump {
    double sign, c1, c2;
  };
  constexpr Bump bumps[] = {{1, 0, 0}, {1, 0, 1}, {1, 0, -1}, {-1, 1, 0}, {-1, -1, 0}};
  Potential h;
  for (const Bump& b : bumps) {
    const double d1 = x1 - b.c1, d2 = x2 - b.c2;
    const double e = b.sign * std::exp(-(d1 * d1 + d2 * d2) / (2 * tau * tau));
    h.value += e;
    h.along_1 -= d1 * e / (tau * tau);
    h.along_2 -= d2 * e / (tau * tau);
  }
  return h;
}

void check_plane(ConstView<double> X, double tau) {
  require(X.cols() == 2, "vector_field: places have 2 coordinates, found {}", X.cols());
  require(tau > 0 && std::isfinite(tau), "vector_field: tau must be positive, found {}", tau);
}

Matrix<double> grid_places(Index n, double half_width) {
  const auto side = static_cast<Index>(std::llround(std::sqrt(static_cast<double>(n))));
  require(side >= 2 && side * side == n, "vector_field: a grid needs a square number of rows from 4 on, found {}", n);
  const auto place = [&](Index k) {
    return half_width * (2 * static_cast<double>(k) / static_cast<double>(side - 1) - 1);
  };
  Matrix<double> X(n, 2);
  for (Index i = 0; i < n; ++i) X.row(i) << place(i % side), place(i / side);
  return X;
}

Matrix<double> random_places(Index n, double half_width, const Random& random) {
  Matrix<double> X(n, 2);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < 2; ++j) {
      X(i, j) = half_width * (2 * random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)) - 1);
    }
  }
  return X;
}

}  // namespace

Vector<double> five_gaussian_potential(ConstView<double> X, double tau) {
  check_plane(X, tau);
  Vector<double> h(X.rows());
  for (Index i = 0; i < X.rows(); ++i) h(i) = five_gaussians(X(i, 0), X(i, 1), tau).value;
  return h;
}

Matrix<double> five_gaussian_field(std::string_view kind, ConstView<double> X, double tau) {
  check_plane(X, tau);
  const bool curl_free = kind == "curl-free";
  require(curl_free || kind == "divergence-free",
          "vector_field: kind must be 'curl-free' or 'divergence-free', found '{}'", kind);
  Matrix<double> field(X.rows(), 2);
  for (Index i = 0; i < X.rows(); ++i) {
    const Potential h = five_gaussians(X(i, 0), X(i, 1), tau);
    if (curl_free) {
      field.row(i) << h.along_1, h.along_2;
    } else {
      field.row(i) << -h.along_2, h.along_1;
    }
  }
  return field;
}

Dataset vector_field(std::string_view kind, Index n, const FieldOptions& options) {
  require_count(n, "vector_field");
  require(options.half_width > 0 && std::isfinite(options.half_width),
          "vector_field: half_width must be positive, found {}", options.half_width);
  require_not_negative(options.noise, "vector_field", "noise");
  Dataset data;
  data.X = options.grid ? grid_places(n, options.half_width)
                        : random_places(n, options.half_width, Random(options.seed, Stream::data));
  data.clean = five_gaussian_field(kind, data.X, options.tau);
  data.Y = data.clean;
  add_noise(data.Y, options.noise, Random(options.seed, Stream::noise));
  return data;
}

}  // namespace carmina
