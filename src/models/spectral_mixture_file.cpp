// models/spectral_mixture_file.cpp -- a learnt spectral mixture to and from its file: arrays as tensors, the rest as
// one JSON text.
#include <carmina/core/error.hpp>
#include <carmina/models/spectral_mixture.hpp>

#include <nlohmann/json.hpp>

#include <cmath>

namespace carmina {
namespace {

using Json = nlohmann::json;

const char* structure_name(OutputStructure structure) {
  switch (structure) {
    case OutputStructure::factors:
      return "factors";
    case OutputStructure::curl_free:
      return "curl-free";
    case OutputStructure::divergence_free:
      return "divergence-free";
  }
  fail("unknown structure of outputs");
}
OutputStructure parse_structure(const std::string& name) {
  for (const auto one : {OutputStructure::factors, OutputStructure::curl_free, OutputStructure::divergence_free}) {
    if (name == structure_name(one)) return one;
  }
  fail("unknown structure of outputs '{}'", name);
}

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
Matrix<double> unpacked(const Matrix<double>& values, Index n, const char* name) {
  require(values.size() == n * (n + 1) / 2, "{} holds {} numbers, expected the lower triangle of order {}", name,
          values.size(), n);
  Matrix<double> L = Matrix<double>::Zero(n, n);
  for (Index i = 0, at = 0; i < n; at += ++i) L.row(i).head(i + 1) = values.col(0).segment(at, i + 1).transpose();
  return L;
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
  for (std::size_t k = 0; k < points_.size(); ++k) {
    file.put<double>(format_text("points.{}", k), points_[k].W);
    file.put<double>(format_text("points.{}.real", k), points_[k].real);
    put_if_any(file, format_text("points.{}.imaginary", k), points_[k].imaginary);
    file.put<double>(format_text("beta.{}", k), Matrix<double>(posteriors_[k].beta));
    file.put<double>(format_text("precision_root.{}", k), packed(posteriors_[k].L));
  }
  if (process_.anchors.size() > 0) {
    file.put<double>("anchors", process_.anchors);
    file.put<double>("coefficients", process_.coefficients);
    file.put<double>("root", packed(process_.L));
    if (process_.LB.size() > 0) file.put<double>("second_root", packed(process_.LB));
  }
  file.texts["mixture"] = Json{
      {"family", family_name(parameters_.mixture.family)},
      {"inference", inference_name(inference_)},
      {"structure", structure_name(parameters_.structure)},
      {"draws", points_.size()},
      {"evidence", evidence_},
      {"start_evidences", start_evidences_},
      {"curve", curve_},
      {"solver", report_.solver},
      {"reason", report_.reason},
      {"iterations", report_.iterations},
      {"converged", report_.status == SolveStatus::converged},
      {"message", report_.message},
      {"seconds",
       report_.seconds}}.dump();
  return file;
}

SpectralMixtureMachine SpectralMixtureMachine::from_file(const ModelFile& file, const std::string& source) {
  const auto type = file.texts.find("type");
  require(type != file.texts.end() && type->second == "spectral_mixture", "{}: not a spectral mixture", source);
  try {
    SpectralMixtureMachine m;
    const Json about = Json::parse(file.text("mixture"));
    m.inference_ = parse_inference(about.at("inference").get<std::string>());
    m.parameters_.structure = parse_structure(about.at("structure").get<std::string>());
    m.parameters_.mixture = {get_vector(file, "weights"), file.get<double>("means"), file.get<double>("scales"),
                             make_mixture_family(about.at("family").get<std::string>())};
    m.parameters_.mixture.check();
    m.parameters_.noise = get_vector(file, "noise");
    m.intercept_ = get_vector(file, "intercept");
    m.parameters_.real = get_if_any(file, "factors.real");
    m.parameters_.imaginary = get_if_any(file, "factors.imaginary");
    const Index p = m.dim_out(), d = m.dim_in();
    require(m.parameters_.noise.size() == p, "noise is for {} outputs, intercept for {}", m.parameters_.noise.size(),
            p);
    const auto draws = about.at("draws").get<Index>();
    for (Index k = 0; k < draws; ++k) {
      WeightedFrequencies points{file.get<double>(format_text("points.{}", k)),
                                 file.get<double>(format_text("points.{}.real", k)),
                                 get_if_any(file, format_text("points.{}.imaginary", k)), m.parameters_.noise};
      require(points.W.cols() == d && points.real.rows() == points.W.rows() && points.real.cols() > 0 &&
                  points.real.cols() % p == 0 &&
                  (points.imaginary.size() == 0 ||
                   (points.imaginary.rows() == points.real.rows() && points.imaginary.cols() == points.real.cols())),
              "the arrays of spectral points do not fit each other");
      FourierPosterior posterior;
      posterior.beta = get_vector(file, format_text("beta.{}", k));
      require(posterior.beta.size() == points.dim_coef(), "beta has {} numbers, expected {}", posterior.beta.size(),
              points.dim_coef());
      posterior.L =
          unpacked(file.get<double>(format_text("precision_root.{}", k)), points.dim_coef(), "precision_root");
      m.points_.push_back(std::move(points));
      m.posteriors_.push_back(std::move(posterior));
    }
    if (m.inference_ == Inference::fourier) {
      require(draws > 0, "there are no spectral points");
    } else {
      m.process_.anchors = file.get<double>("anchors");
      m.process_.coefficients = file.get<double>("coefficients");
      const Index n = m.process_.anchors.rows();
      require(
          m.process_.anchors.cols() == d && m.process_.coefficients.rows() == n && m.process_.coefficients.cols() == p,
          "the arrays of the process do not fit each other");
      m.process_.L = unpacked(file.get<double>("root"), n, "root");
      if (file.tensors.contains("second_root")) {
        m.process_.LB = unpacked(file.get<double>("second_root"), n, "second_root");
      }
    }
    m.evidence_ = about.at("evidence").get<double>();
    m.curve_ = about.at("curve").get<std::vector<double>>();
    m.start_evidences_ = about.at("start_evidences").get<std::vector<double>>();
    m.report_.solver = about.at("solver").get<std::string>();
    m.report_.reason = about.at("reason").get<std::string>();
    m.report_.iterations = about.at("iterations").get<Index>();
    m.report_.status = about.at("converged").get<bool>() ? SolveStatus::converged : SolveStatus::not_converged;
    m.report_.message = about.at("message").get<std::string>();
    m.report_.seconds = about.at("seconds").get<std::vector<std::pair<std::string, double>>>();
    if (!m.curve_.empty()) m.report_.objective = m.curve_.back();
    return m;
  } catch (const Json::exception& error) {
    fail("{}: the model's description is not valid: {}", source, error.what());
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

}  // namespace carmina
