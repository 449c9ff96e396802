// data.cpp -- files read into arrays, and data sets whose truth is known.
#include <carmina/data/generators.hpp>
#include <carmina/data/table.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interpreter_lock.hpp"

namespace carmina::python {
namespace {

// (X, Y, clean)
template <class Generate>
nb::tuple generate(Generate&& make) {
  Dataset data = [&] {
    const Unlocked unlocked;
    return make();
  }();
  return nb::make_tuple(to_numpy(std::move(data.X)), to_numpy(std::move(data.Y)), to_numpy(std::move(data.clean)));
}

FriedmanFunction friedman_function(const std::string& name) {
  if (name == "interaction") return FriedmanFunction::interaction;
  require(name == "additive", "friedman: function must be 'interaction' or 'additive', found '{}'", name);
  return FriedmanFunction::additive;
}

}  // namespace

void bind_data(nb::module_& m) {
  m.def(
      "read_table",
      [](const std::string& path) {
        Table table = [&] {
          const Unlocked unlocked;
          return read_table(path);
        }();
        nb::list names, categories;
        for (const Column& column : table.columns) {
          names.append(column.name);
          categories.append(column.categories);
        }
        return nb::make_tuple(to_numpy(std::move(table.values)), names, categories);
      },
      nb::arg("path"));
  m.def(
      "friedman",
      [](Index n, const std::string& function, Index inputs, Index outputs, double noise, double input_outliers,
         double outlier_center, double outlier_deviation, double target_outliers, double target_outlier_scale,
         std::uint64_t seed) {
        const FriedmanOptions options{.function = friedman_function(function),
                                      .inputs = inputs,
                                      .outputs = outputs,
                                      .noise = noise,
                                      .input_outliers = input_outliers,
                                      .outlier_center = outlier_center,
                                      .outlier_deviation = outlier_deviation,
                                      .target_outliers = target_outliers,
                                      .target_outlier_scale = target_outlier_scale,
                                      .seed = seed};
        return generate([&] { return friedman(n, options); });
      },
      nb::arg("n"), nb::kw_only(), nb::arg("function"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("noise"),
      nb::arg("input_outliers"), nb::arg("outlier_center"), nb::arg("outlier_deviation"), nb::arg("target_outliers"),
      nb::arg("target_outlier_scale"), nb::arg("seed"));
  m.def(
      "vector_field",
      [](const std::string& kind, Index n, double tau, double half_width, double noise, bool grid, std::uint64_t seed) {
        const FieldOptions options{.tau = tau, .half_width = half_width, .noise = noise, .grid = grid, .seed = seed};
        return generate([&] { return vector_field(kind, n, options); });
      },
      nb::arg("kind"), nb::arg("n"), nb::kw_only(), nb::arg("tau"), nb::arg("half_width"), nb::arg("noise"),
      nb::arg("grid"), nb::arg("seed"));
  // (X, Y, clean, tracks)
  m.def(
      "drifters",
      [](Index n_tracks, Index readings, double interval, double extent, double duration, double speed, double size,
         double drift, double noise, std::uint64_t seed) {
        const DrifterOptions options{.readings = readings,
                                     .interval = interval,
                                     .extent = extent,
                                     .duration = duration,
                                     .speed = speed,
                                     .size = size,
                                     .drift = drift,
                                     .noise = noise,
                                     .seed = seed};
        Drifters data = [&] {
          const Unlocked unlocked;
          return drifters(n_tracks, options);
        }();
        return nb::make_tuple(to_numpy(std::move(data.X)), to_numpy(std::move(data.Y)), to_numpy(std::move(data.clean)),
                              data.tracks);
      },
      nb::arg("n_tracks"), nb::kw_only(), nb::arg("readings"), nb::arg("interval"), nb::arg("extent"),
      nb::arg("duration"), nb::arg("speed"), nb::arg("size"), nb::arg("drift"), nb::arg("noise"), nb::arg("seed"));
  // The current (n, 2) and the stream function (n,) at rows of x, y, time.
  m.def(
      "eddies",
      [](nb::handle X, double speed, double size, double drift) {
        const DrifterOptions options{.speed = speed, .size = size, .drift = drift};
        const Matrix<double> rows = to_matrix(X, "drifters: X");
        return nb::make_tuple(to_numpy(eddy_current(rows, options)), to_numpy(eddy_stream_function(rows, options)));
      },
      nb::arg("X"), nb::arg("speed"), nb::arg("size"), nb::arg("drift"));
  // (X, Y, clean, weights, frequencies, noise)
  m.def(
      "sinusoids",
      [](const std::string& kind, Index n, Index components, double step, double highest, double noise,
         bool shared_noise, std::uint64_t seed) {
        const SinusoidOptions options{.components = components,
                                      .step = step,
                                      .highest = highest,
                                      .noise = noise,
                                      .shared_noise = shared_noise,
                                      .seed = seed};
        Sinusoids data = [&] {
          const Unlocked unlocked;
          return sinusoids(kind, n, options);
        }();
        return nb::make_tuple(to_numpy(std::move(data.X)), to_numpy(std::move(data.Y)), to_numpy(std::move(data.clean)),
                              to_numpy(data.weights), to_numpy(data.frequencies), to_numpy(data.noise));
      },
      nb::arg("kind"), nb::arg("n"), nb::kw_only(), nb::arg("components"), nb::arg("step"), nb::arg("highest"),
      nb::arg("noise"), nb::arg("shared_noise"), nb::arg("seed"));
}

}  // namespace carmina::python
