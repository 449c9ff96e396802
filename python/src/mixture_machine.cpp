// mixture_machine.cpp -- learnt spectral mixtures: fit, predict, draws, to and from files and bytes.
#include "mixture_machine.hpp"

#include <algorithm>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/tune.hpp>
#include "models/mixture/empirical_spectrum.hpp"
#include "solvers/evidence/fourier_evidence.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "fit_rows.hpp"
#include "interpreter_lock.hpp"
#include "model_state.hpp"
#include "processes.hpp"
#include "running.hpp"
#include "solve_report.hpp"

namespace carmina::python {
namespace {

using Options = SpectralMixtureOptions;

ModelFile to_file(const MixtureMachine& self) { return with_estimator(self.machine.to_file(), self); }

// body(rows, options) with X, Y and the weights in the precision of X; on_step(start, step, value) after each step,
// None: not at all.
template <class Body>
auto with_options(nb::handle X, nb::handle Y, nb::handle weights, Options options, int threads,
                  std::size_t memory_budget, nb::handle on_step, const Body& body) {
  options.execution = make_execution(threads, memory_budget, nb::none());
  if (!on_step.is_none()) {
    options.on_step = [on_step](Index start, Index step, double value) {
      const Locked locked;
      on_step(start, step, value);
    };
  }
  return in_precision_of(X, [&]<class T>(T) {
    return with_rows<T>("fit", X, Y, weights, options.execution,
                        [&](RowSource<T>& rows) { return body(rows, options); });
  });
}

MixtureMachine fit(nb::handle X, nb::handle Y, nb::handle weights, const Options& options, int threads,
                   std::size_t memory_budget, nb::handle on_step, nb::handle communicator) {
  const Communicator* processes = communicator_of(communicator);
  const auto fit_rows = [&]<class T>(RowSource<T>& rows, const Options& o) {
    return MixtureMachine{processes ? SpectralMixtureMachine::fit(std::vector<RowSource<T>*>{&rows}, o, *processes)
                                    : SpectralMixtureMachine::fit(rows, o),
                          {}};
  };
  return with_options(X, Y, weights, options, threads, memory_budget, on_step, fit_rows);
}

// (machine, trials, message)
nb::tuple tune(nb::handle X, nb::handle Y, nb::handle weights, const Options& options, const std::vector<Index>& counts,
               int threads, std::size_t memory_budget, nb::handle on_step) {
  MixtureTuneResult result = with_options(X, Y, weights, options, threads, memory_budget, on_step,
                                          [&](auto& rows, const Options& o) { return tune_mixture(rows, o, counts); });
  nb::list trials;
  for (const MixtureTrial& trial : result.trials) {
    nb::dict entry;
    entry["n_mixtures"] = trial.n_mixtures;
    entry["evidence"] = trial.evidence;
    entry["iterations"] = trial.iterations;
    entry["converged"] = trial.converged;
    trials.append(entry);
  }
  return nb::make_tuple(MixtureMachine{std::move(result.machine), {}}, trials, result.message);
}

// body(first, rows) for blocks of X in double: float32 is never copied as a whole.
template <class Body>
void in_blocks(nb::handle X, int threads, const Body& body) {
  constexpr Index rows_at_once = 8192;
  in_precision_of(X, [&](auto precision) {
    using T = decltype(precision);
    const Rows<T> rows(X, "predict: X");
    run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
      for (Index first = 0; first < rows.rows(); first += rows_at_once) {
        const Index count = std::min(rows_at_once, rows.rows() - first);
        body(first, rows.view().middleRows(first, count).template cast<double>(), execution);
      }
    });
  });
}

Index row_count(nb::handle X) { return nb::cast<Index>(numpy().attr("shape")(X)[nb::int_(0)]); }

nb::object predict(const MixtureMachine& self, nb::handle X, int threads) {
  Matrix<double> out(row_count(X), self.machine.dim_out());
  in_blocks(X, threads, [&](Index first, ConstView<double> rows, const Execution& execution) {
    out.middleRows(first, rows.rows()) = self.machine.predict(rows, execution);
  });
  return nb::cast(to_numpy(std::move(out)));
}

// (mean, covariance) of a new observation
nb::tuple predict_observation(const MixtureMachine& self, nb::handle X, int threads) {
  const Index n = row_count(X), p = self.machine.dim_out();
  Matrix<double> mean(n, p), covariance(n, p * p);
  in_blocks(X, threads, [&](Index first, ConstView<double> rows, const Execution& execution) {
    const auto part = self.machine.predict_observation(rows, execution);
    mean.middleRows(first, rows.rows()) = part.mean;
    covariance.middleRows(first, rows.rows()) = part.covariance;
  });
  return nb::make_tuple(to_numpy(std::move(mean)), to_numpy(std::move(covariance)));
}

// What the fit was asked, by the names of the estimator's parameters, and what it saw.
nb::dict record(const MixtureMachine& self) {
  const FitRecord& record = self.machine.record();
  const Options& o = self.machine.options();
  const auto count = [](Index value) { return value > 0 ? nb::object(nb::int_(value)) : nb::none(); };
  nb::dict result;
  result["n_mixtures"] = o.n_mixtures;
  result["n_components"] = o.n_components > 0 ? nb::object(nb::int_(o.n_components)) : nb::object(nb::str("auto"));
  result["trend"] = trend_name(o.trend);
  result["periods"] = o.periods.empty() ? nb::none() : nb::cast(o.periods);
  result["inference"] = inference_name(o.inference);
  result["parameterization"] = parameterization_name(o.parameterization);
  result["allocation"] = allocation_name(o.allocation);
  result["kl_copies"] = kl_copies_name(o.kl_copies);
  result["n_starts"] = o.n_starts;
  result["solver"] = o.solver;
  result["learning_rate"] = o.learning_rate;
  result["max_iter"] = o.max_iter;
  result["tol"] = o.tol;
  result["n_step_draws"] = o.step_draws;
  result["n_draws"] = o.n_draws;
  result["n_inducing"] = count(o.n_inducing);
  const auto* given = std::get_if<LearntFactors>(&o.coupling);
  const LearntFactors factors = given ? *given : LearntFactors{};
  // The estimator's word for `none`.
  result["outputs"] = std::holds_alternative<Independent>(o.coupling) ? "independent" : coupling_name(o.coupling);
  result["rank"] = count(factors.rank);
  result["phases"] = factors.phases;
  result["family"] = family_name(o.family);
  result["fit_intercept"] = o.fit_intercept;
  result["learning_rows"] = count(o.learning_rows);
  result["random_state"] = record.seed;
  result["rows"] = record.rows;
  result["input_names"] = record.input_names;
  result["target_names"] = record.target_names;
  return result;
}

nb::list sample(const MixtureMachine& self, nb::handle X, Index draws, std::uint64_t seed, int threads) {
  const Rows<double> rows(X, "sample: X");
  auto all = run(make_execution(threads, 0, nb::none()),
                 [&](const Execution& execution) { return self.machine.sample(rows.view(), draws, seed, execution); });
  nb::list out;
  for (auto& one : all) out.append(to_numpy(std::move(one)));
  return out;
}

double nmll(const MixtureMachine& self, nb::handle X, nb::handle Y, int threads) {
  const Rows<double> x(X, "nmll: X"), y(Y, "nmll: Y");
  return run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
    return self.machine.negative_mean_log_likelihood(x.view(), y.view(), execution);
  });
}

// (W, real, imaginary) of each set of spectral points; W in radians.
nb::list points(const MixtureMachine& self) {
  nb::list out;
  for (const auto& one : self.machine.points()) {
    out.append(nb::make_tuple(to_numpy(Matrix<double>(one.W)), to_numpy(Matrix<double>(one.real)),
                              to_numpy(Matrix<double>(one.imaginary))));
  }
  return out;
}

template <class E, class Parse, class Name>
auto by_name(E Options::* member, Parse parse, Name name) {
  return std::pair{[=](const Options& o) { return name(o.*member); },
                   [=](Options& o, const std::string& text) { o.*member = parse(text); }};
}

void bind_options(nb::module_& m) {
  nb::class_<Options> options(m, "SpectralMixtureOptions");
  options.def(nb::init<>())
      .def_rw("n_mixtures", &Options::n_mixtures)
      .def_rw("n_components", &Options::n_components, "0: chosen")
      .def_rw("periods", &Options::periods)
      .def_rw("solver", &Options::solver)
      .def_rw("max_iter", &Options::max_iter)
      .def_rw("tol", &Options::tol)
      .def_rw("learning_rate", &Options::learning_rate)
      .def_rw("step_draws", &Options::step_draws)
      .def_rw("n_draws", &Options::n_draws)
      .def_rw("n_starts", &Options::n_starts)
      .def_rw("n_inducing", &Options::n_inducing)
      .def_rw("fit_intercept", &Options::fit_intercept)
      .def_rw("learning_rows", &Options::learning_rows)
      .def_rw("input_names", &Options::input_names)
      .def_rw("target_names", &Options::target_names)
      .def_rw("seed", &Options::seed)
      .def_prop_rw(
          "checkpoint", [](const Options& o) { return o.checkpoint.path; },
          [](Options& o, const std::string& path) { o.checkpoint.path = path; })
      .def_prop_rw(
          "checkpoint_seconds", [](const Options& o) { return o.checkpoint.seconds; },
          [](Options& o, double seconds) { o.checkpoint.seconds = seconds; })
      .def_prop_rw(
          "checkpoint_each", [](const Options& o) { return o.checkpoint.each; },
          [](Options& o, bool each) { o.checkpoint.each = each; })
      .def_prop_ro(
          "takes_missing_targets",
          [](const Options& o) { return o.inference == Inference::fourier || o.inference == Inference::automatic; })
      .def_prop_ro(
          "spectral_points",
          [](const Options& o) -> std::optional<Index> {
            if (o.inference != Inference::fourier && o.inference != Inference::automatic) return std::nullopt;
            return o.features() / 2;
          },
          "Of which each component needs one; None where there are none.")
      .def(
          "start_from",
          [](Options& o, nb::handle weights, nb::handle means, nb::handle scales) {
            o.start = Mixture{to_matrix(as_array<double>(weights).attr("reshape")(-1, 1), "start: weights").col(0),
                              to_matrix(means, "start: means"),
                              to_matrix(scales, "start: scales"),
                              {}};
            o.n_mixtures = o.start->size();
          },
          nb::arg("weights"), nb::arg("means"), nb::arg("scales"))
      .def(
          "couple",
          [](Options& o, const std::string& outputs, Index rank, bool phases) {
            o.coupling = parse_coupling(outputs);
            if (auto* factors = std::get_if<LearntFactors>(&o.coupling)) *factors = {rank, phases};
          },
          nb::arg("outputs"), nb::arg("rank"), nb::arg("phases"));
  const auto add = [&](const char* name, const auto& accessors) {
    options.def_prop_rw(name, accessors.first, accessors.second);
  };
  add("inference", by_name(&Options::inference, parse_inference, inference_name));
  add("trend", by_name(&Options::trend, parse_trend, trend_name));
  add("parameterization", by_name(&Options::parameterization, parse_parameterization, parameterization_name));
  add("allocation", by_name(&Options::allocation, parse_allocation, allocation_name));
  add("kl_copies", by_name(&Options::kl_copies, parse_kl_copies, kl_copies_name));
  add("family", by_name(&Options::family, make_mixture_family, family_name));
}

}  // namespace

MixtureMachine mixture_machine_from_file(const ModelFile& file, const std::string& source) {
  MixtureMachine machine{SpectralMixtureMachine::from_file(file, source), estimator_of(file)};
  machine.encoder = get_encoder(file, machine.machine.dim_in(), source);
  return machine;
}

void bind_mixture_machine(nb::module_& m) {
  bind_options(m);
  const auto parameters = [](const MixtureMachine& self) -> const SpectralParameters& {
    return self.machine.parameters();
  };
  nb::class_<MixtureMachine> type(m, "MixtureMachine");
  def_saved<MixtureMachine>(type, [](const MixtureMachine& self, bool) { return to_file(self); });
  type.def_static("fit", &fit, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
                  nb::arg("threads") = 0, nb::arg("memory_budget") = 0, nb::arg("on_step") = nb::none(),
                  nb::arg("communicator") = nb::none())
      .def_static("tune", &tune, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
                  nb::arg("counts"), nb::arg("threads") = 0, nb::arg("memory_budget") = 0,
                  nb::arg("on_step") = nb::none())
      .def("predict", &predict, nb::arg("X"), nb::arg("threads") = 0)
      .def("predict_observation", &predict_observation, nb::arg("X"), nb::arg("threads") = 0)
      .def("sample", &sample, nb::arg("X"), nb::arg("draws"), nb::arg("seed"), nb::arg("threads") = 0)
      .def("nmll", &nmll, nb::arg("X"), nb::arg("Y"), nb::arg("threads") = 0)
      .def("__getstate__", [](const MixtureMachine& self) { return to_bytes(to_file(self)); })
      .def("__setstate__",
           [](MixtureMachine& self, const nb::bytes& bytes) {
             new (&self) MixtureMachine(mixture_machine_from_file(from_bytes(bytes), "pickled model"));
           })
      .def_prop_ro("dim_in", [](const MixtureMachine& self) { return self.machine.dim_in(); })
      .def_prop_ro("dim_out", [](const MixtureMachine& self) { return self.machine.dim_out(); })
      .def_prop_ro("weights",
                   [=](const MixtureMachine& s) { return nb::cast(to_numpy(parameters(s).mixture.weights)); })
      .def_prop_ro(
          "means",
          [=](const MixtureMachine& s) { return nb::cast(to_numpy(Matrix<double>(parameters(s).mixture.means))); })
      .def_prop_ro(
          "scales",
          [=](const MixtureMachine& s) { return nb::cast(to_numpy(Matrix<double>(parameters(s).mixture.scales))); })
      .def_prop_ro("family", [=](const MixtureMachine& s) { return family_name(parameters(s).mixture.family); })
      .def_prop_ro("noise", [=](const MixtureMachine& s) { return nb::cast(to_numpy(parameters(s).noise)); })
      .def_prop_ro("real",
                   [=](const MixtureMachine& s) { return nb::cast(to_numpy(Matrix<double>(parameters(s).real))); })
      .def_prop_ro("imaginary",
                   [=](const MixtureMachine& s) { return nb::cast(to_numpy(Matrix<double>(parameters(s).imaginary))); })
      .def_prop_ro("intercept", [](const MixtureMachine& s) { return nb::cast(to_numpy(s.machine.intercept())); })
      .def_prop_ro("evidence", [](const MixtureMachine& s) { return s.machine.log_marginal_likelihood(); })
      .def_prop_ro("start_evidences", [](const MixtureMachine& s) { return s.machine.start_evidences(); })
      .def_prop_ro("curve", [](const MixtureMachine& s) { return s.machine.curve(); })
      .def_prop_ro("points", &points)
      .def_prop_ro("inference", [](const MixtureMachine& s) { return inference_name(s.machine.inference()); })
      .def_prop_ro("trend", [](const MixtureMachine& s) { return trend_name(s.machine.trend()); })
      .def_prop_ro("record", &record)
      .def_prop_ro("output_names",
                   [](const MixtureMachine& s) { return output_names(s.machine.record(), s.machine.dim_out()); })
      .def_prop_ro("report", [](const MixtureMachine& s) { return to_dict(s.machine.report()); });
  m.def("mixture_solver_names", &mixture_solver_names);
  m.def(
      "periodogram",
      [](nb::handle x, nb::handle y, double highest) {
        const auto column = [](nb::handle values, const char* name) -> Vector<double> {
          return to_matrix(as_array<double>(values).attr("reshape")(-1, 1), name).col(0);
        };
        const Periodogram result = periodogram(column(x, "periodogram: x"), column(y, "periodogram: y"), highest);
        return nb::make_tuple(to_numpy(result.frequencies), to_numpy(result.power));
      },
      nb::arg("x"), nb::arg("y"), nb::arg("highest") = 0.0);
}

}  // namespace carmina::python
