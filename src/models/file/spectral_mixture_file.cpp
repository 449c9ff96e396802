// models/file/spectral_mixture_file.cpp -- a learnt spectral mixture to and from its file: arrays as tensors, the rest
// as one JSON text.
#include "data/cells.hpp"
#include "models/file/fit_record_json.hpp"
#include "models/file/json_fields.hpp"
#include "models/file/tensor_table.hpp"
#include "models/mixture/mixture_state.hpp"
#include "models/mixture/series_learner.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <cmath>

namespace carmina {
namespace {

using Json = nlohmann::json;

void put_if_any(ModelFile& file, const std::string& name, const Matrix<double>& values) {
  if (values.size() > 0) file.put<double>(name, values);
}
Matrix<double> get_if_any(const ModelFile& file, const std::string& name) {
  return file.tensors.contains(name) ? file.get<double>(name) : Matrix<double>();
}
Vector<double> get_vector(const ModelFile& file, const std::string& name) { return file.get<double>(name).col(0); }

// The lower triangle row after row: half the size of the matrix.
Matrix<double> packed(const Matrix<double>& L) {
  const Index n = L.rows();
  Matrix<double> out(n * (n + 1) / 2, 1);
  for (Index i = 0, at = 0; i < n; at += ++i) out.col(0).segment(at, i + 1) = L.row(i).head(i + 1).transpose();
  return out;
}
Matrix<double> unpacked(const Matrix<double>& values, Index n) {
  Matrix<double> L = Matrix<double>::Zero(n, n);
  for (Index i = 0, at = 0; i < n; at += ++i) L.row(i).head(i + 1) = values.col(0).segment(at, i + 1).transpose();
  require((L.diagonal().array() > 0).all(), "a factor has a diagonal that is not positive");
  return L;
}

// What the fit was asked, as far as it is not in the record: what is written as it is.
constexpr auto option_fields = fields(
    JsonField{"n_mixtures", &SpectralMixtureOptions::n_mixtures},
    JsonField{"n_components", &SpectralMixtureOptions::n_components},
    JsonField{"solver", &SpectralMixtureOptions::solver}, JsonField{"max_iter", &SpectralMixtureOptions::max_iter},
    JsonField{"tol", &SpectralMixtureOptions::tol}, JsonField{"learning_rate", &SpectralMixtureOptions::learning_rate},
    JsonField{"step_draws", &SpectralMixtureOptions::step_draws},
    JsonField{"n_draws", &SpectralMixtureOptions::n_draws}, JsonField{"n_starts", &SpectralMixtureOptions::n_starts},
    JsonField{"n_inducing", &SpectralMixtureOptions::n_inducing},
    JsonField{"learning_rows", &SpectralMixtureOptions::learning_rows});

// A process whose kernel is that of the parameters is written as it always was; a series as its members.
bool as_members(const SpectralParameters& at, const MixtureState& state) {
  return state.members.size() > 1 || (!state.members.empty() && !(state.members[0].mixture == at.mixture));
}

void put_series(ModelFile& file, const SpectralParameters& at, const MixtureState& state) {
  if (at.trend.size() > 0) {
    Matrix<double> trend(3, 1);
    trend << at.trend.weights[0], at.trend.means(0, 0), at.trend.scales(0, 0);
    file.put<double>("trend", trend);
  }
  if (state.bands.places.size() > 0) {
    Matrix<double> bands(state.bands.places.size(), 2);
    bands << state.bands.places, state.bands.factors;
    file.put<double>("bands", bands);
  }
  if (!as_members(at, state)) return;
  file.put<double>("shares", Matrix<double>(state.shares));
  for (std::size_t k = 0; k < state.members.size(); ++k) {
    const MixtureMember& member = state.members[k];
    const auto name = [&](const char* array) { return format_text("member.{}.{}", k, array); };
    file.put<double>(name("weights"), Matrix<double>(member.mixture.weights));
    file.put<double>(name("means"), member.mixture.means);
    file.put<double>(name("scales"), member.mixture.scales);
    file.put<double>(name("noise"), Matrix<double>::Constant(1, 1, member.noise));
    file.put<double>(name("coefficients"), member.process.coefficients);
  }
}

void get_series(const ModelFile& file, SpectralParameters& at, MixtureState& state) {
  if (file.tensors.contains("trend")) {
    const Vector<double> trend = get_vector(file, "trend");
    at.trend = {trend.head(1), trend.segment(1, 1), trend.tail(1), at.mixture.family};
    require(at.mixture.dim_in() == 1, "a trend is for one input");
    at.trend.check();
  }
  if (file.tensors.contains("bands")) {
    const Matrix<double> bands = file.get<double>("bands");
    state.bands = {bands.col(0), bands.col(1)};
    bool rising = bands.allFinite() && at.mixture.dim_in() == 1 && (bands.col(1).array() >= 1).all();
    for (Index k = 1; k < bands.rows(); ++k) rising = rising && bands(k, 0) > bands(k - 1, 0);
    require(rising, "'bands' must have ascending places of one input and factors from 1");
  }
  if (!file.tensors.contains("shares")) return;
  state.shares = get_vector(file, "shares");
  require(state.shares.size() > 0 && (state.shares.array() >= 0).all() && std::abs(state.shares.sum() - 1) < 1e-6,
          "'shares' must be parts of 1");
  const Matrix<double> anchors = file.get<double>("anchors");
  require(anchors.rows() > 0 && anchors.rows() <= longest_series, "a series has {} rows at most, found {}",
          longest_series, anchors.rows());
  for (Index k = 0; k < state.shares.size(); ++k) {
    const auto name = [&](const char* array) { return format_text("member.{}.{}", k, array); };
    MixtureMember& member = state.members.emplace_back();
    member.mixture = {get_vector(file, name("weights")), file.get<double>(name("means")),
                      file.get<double>(name("scales")), at.mixture.family};
    member.mixture.check();
    member.noise = file.get<double>(name("noise"))(0, 0);
    require(member.noise > 0 && std::isfinite(member.noise), "'{}' must be positive", name("noise"));
    // The factor follows from the rest, to the bit, and would be most of the file.
    const Matrix<double> no_targets = Matrix<double>::Zero(anchors.rows(), 1);
    member.process = exact_process(member.mixture, member.noise, anchors, no_targets, {});
    member.process.coefficients = file.get<double>(name("coefficients"));
  }
}

Json options_to_json(const SpectralMixtureOptions& o) {
  const auto* given = std::get_if<LearntFactors>(&o.coupling);
  const LearntFactors factors = given ? *given : LearntFactors{};
  Json json = {{"parameterization", parameterization_name(o.parameterization)},
               {"allocation", allocation_name(o.allocation)},
               {"kl_copies", kl_copies_name(o.kl_copies)},
               {"outputs", coupling_name(o.coupling)},
               {"rank", factors.rank},
               {"phases", factors.phases},
               {"inference", inference_name(o.inference)},
               {"trend", trend_name(o.trend)},
               {"periods", o.periods}};
  put_fields(json, o, option_fields);
  return json;
}

SpectralMixtureOptions options_from_json(const Json& json) {
  SpectralMixtureOptions o;
  get_fields(json, o, option_fields);
  o.parameterization = parse_parameterization(json.at("parameterization").get<std::string>());
  o.allocation = parse_allocation(json.at("allocation").get<std::string>());
  o.kl_copies = parse_kl_copies(json.at("kl_copies").get<std::string>());
  o.coupling = parse_coupling(json.at("outputs").get<std::string>());
  // Files of version 0.1 have no series.
  o.inference = parse_inference(json.value("inference", std::string("fourier")));
  o.trend = parse_trend(json.value("trend", std::string("none")));
  o.periods = json.value("periods", std::vector<double>());
  if (auto* factors = std::get_if<LearntFactors>(&o.coupling)) {
    get_count(json, "rank", factors->rank);
    json.at("phases").get_to(factors->phases);
  }
  return o;
}

}  // namespace

ModelFile SpectralMixtureMachine::to_file() const {
  ModelFile file;
  file.texts["type"] = "spectral_mixture";
  file.put<double>("weights", Matrix<double>(parameters_.mixture.weights));
  file.put<double>("means", parameters_.mixture.means);
  file.put<double>("scales", parameters_.mixture.scales);
  file.put<double>("noise", Matrix<double>(parameters_.noise));
  file.put<double>("intercept", Matrix<double>(intercept_));
  put_if_any(file, "factors.real", parameters_.real);
  put_if_any(file, "factors.imaginary", parameters_.imaginary);
  for (std::size_t k = 0; k < state_->points.size(); ++k) {
    file.put<double>(format_text("points.{}", k), state_->points[k].W);
    file.put<double>(format_text("points.{}.real", k), state_->points[k].real);
    put_if_any(file, format_text("points.{}.imaginary", k), state_->points[k].imaginary);
    file.put<double>(format_text("beta.{}", k), Matrix<double>(state_->posteriors[k].beta));
    file.put<double>(format_text("precision_root.{}", k), packed(state_->posteriors[k].L));
  }
  if (!state_->members.empty()) file.put<double>("anchors", state_->members[0].process.anchors);
  if (!state_->members.empty() && !as_members(parameters_, *state_)) {
    const MixtureProcess& process = state_->members[0].process;
    file.put<double>("coefficients", process.coefficients);
    file.put<double>("root", packed(process.L));
    if (process.LB.size() > 0) file.put<double>("second_root", packed(process.LB));
  }
  put_series(file, parameters_, *state_);
  file.texts["mixture"] = Json{
      {"family", family_name(parameters_.mixture.family)},
      {"inference", inference_name(inference_)},
      {"structure", is_differential(parameters_.coupling) ? coupling_name(parameters_.coupling) : "factors"},
      {"draws", state_->points.size()},
      {"evidence", evidence_},
      {"start_evidences", start_evidences_},
      {"curve", curve_},
      {"options", options_to_json(options_)},
      {"fit", record_to_json(
                  record_)}}.dump();
  if (record_.target_mean.size() > 0) file.put<double>("target_mean", Matrix<double>(record_.target_mean));
  check_tensors(file, spectral_mixture_tensors(), "F64");
  return file;
}

SpectralMixtureMachine SpectralMixtureMachine::from_file(const ModelFile& file, const std::string& source) {
  const auto type = file.texts.find("type");
  require(type != file.texts.end() && type->second == "spectral_mixture", "{}: not a spectral mixture", source);
  try {
    SpectralMixtureMachine m;
    MixtureState state;
    check_tensors(file, spectral_mixture_tensors(), "F64");
    const Json about = Json::parse(file.text("mixture"));
    m.inference_ = parse_inference(about.at("inference").get<std::string>());
    m.parameters_.coupling = parse_coupling(about.at("structure").get<std::string>());
    m.parameters_.mixture = {get_vector(file, "weights"), file.get<double>("means"), file.get<double>("scales"),
                             make_mixture_family(about.at("family").get<std::string>())};
    m.parameters_.mixture.check();
    m.parameters_.noise = get_vector(file, "noise");
    m.intercept_ = get_vector(file, "intercept");
    m.parameters_.real = get_if_any(file, "factors.real");
    m.parameters_.imaginary = get_if_any(file, "factors.imaginary");
    check_dimensions(m.parameters_.coupling, m.dim_in(), m.dim_out());
    require((m.parameters_.noise.array() > 0).all(), "'noise' must be positive");
    Index draws = 0;
    get_count(about, "draws", draws);
    for (Index k = 0; k < draws; ++k) {
      WeightedFrequencies points{file.get<double>(format_text("points.{}", k)),
                                 file.get<double>(format_text("points.{}.real", k)),
                                 get_if_any(file, format_text("points.{}.imaginary", k)), m.parameters_.noise};
      FourierPosterior posterior;
      posterior.beta = get_vector(file, format_text("beta.{}", k));
      posterior.L = unpacked(file.get<double>(format_text("precision_root.{}", k)), points.dim_coef());
      state.points.push_back(std::move(points));
      state.posteriors.push_back(std::move(posterior));
    }
    get_series(file, m.parameters_, state);
    if (m.inference_ == Inference::fourier) {
      require(draws > 0, "there are no spectral points");
      state.shares = Vector<double>::Constant(draws, 1 / static_cast<double>(draws));
    } else if (state.members.empty()) {
      MixtureMember& member =
          state.members.emplace_back(MixtureMember{m.parameters_.mixture, m.parameters_.noise[0], {}});
      state.shares = Vector<double>::Ones(1);
      member.process.anchors = file.get<double>("anchors");
      member.process.coefficients = file.get<double>("coefficients");
      const Index n = member.process.anchors.rows();
      member.process.L = unpacked(file.get<double>("root"), n);
      if (file.tensors.contains("second_root")) {
        member.process.LB = unpacked(file.get<double>("second_root"), n);
      }
    }
    m.evidence_ = about.at("evidence").get<double>();
    m.curve_ = about.at("curve").get<std::vector<double>>();
    m.start_evidences_ = about.at("start_evidences").get<std::vector<double>>();
    if (about.contains("fit")) {
      m.record_ = record_from_json(about.at("fit"));
      check_names(m.record_, m.dim_in(), m.dim_out());
      m.options_ = options_from_json(about.at("options"));
    } else {
      m.record_.report = report_from_json(about);  // files of version 0.1 before they had a record
    }
    if (m.options_.inference != Inference::automatic) m.options_.inference = m.inference_;
    m.options_.family = m.parameters_.mixture.family;
    m.options_.fit_intercept = m.record_.fit_intercept;
    m.options_.seed = m.record_.seed;
    m.options_.input_names = m.record_.input_names;
    m.options_.target_names = m.record_.target_names;
    m.record_.target_mean = file.tensors.contains("target_mean") ? get_vector(file, "target_mean") : m.intercept_;
    m.record_.evidence = m.evidence_;
    if (!m.curve_.empty()) m.record_.report.objective = m.curve_.back();
    m.state_ = std::make_shared<const MixtureState>(std::move(state));
    return m;
  } catch (const Json::exception& error) {
    fail("{}: the model's description is not valid: {}", source, data::shown(error.what(), 300));
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

}  // namespace carmina
