// models/file/fit_record_json.cpp -- the record of a fit to and from JSON.
#include "models/file/fit_record_json.hpp"
#include "models/file/json_fields.hpp"

#include <limits>
#include <utility>

namespace carmina {
namespace {

using Json = nlohmann::json;

// What is written as it is.
constexpr auto record_fields =
    fields(JsonField{"approximation", &FitRecord::approximation}, JsonField{"n_components", &FitRecord::n_components},
           JsonField{"alpha", &FitRecord::alpha}, JsonField{"fit_intercept", &FitRecord::fit_intercept},
           JsonField{"scale_inputs", &FitRecord::scale_inputs}, JsonField{"fill_missing", &FitRecord::fill_missing},
           JsonField{"seed", &FitRecord::seed}, JsonField{"rows", &FitRecord::rows},
           JsonField{"input_names", &FitRecord::input_names}, JsonField{"target_names", &FitRecord::target_names});
constexpr auto choice_fields =
    fields(JsonField{"kernel", &Choice::kernel}, JsonField{"metric", &Choice::metric},
           JsonField{"alpha", &Choice::alpha}, JsonField{"approximation", &Choice::approximation},
           JsonField{"rows", &Choice::rows}, JsonField{"chosen", &Choice::chosen});

Json choices_to_json(const std::vector<Choice>& choices) {
  Json rows = Json::array();
  for (const Choice& choice : choices) {
    Json& row = rows.emplace_back(Json{{"length_scale", choice.length_scale}, {"error", choice.error}});
    put_fields(row, choice, choice_fields);
  }
  return rows;
}

Json report_to_json(const SolveReport& report) {
  return {{"solver", report.solver},
          {"reason", report.reason},
          {"memory", report.memory},
          {"device", report.device},
          {"converged", report.status == SolveStatus::converged},
          {"iterations", report.iterations},
          {"residual", report.residual},
          {"objective", report.objective},
          {"message", report.message},
          {"seconds", report.seconds},
          {"choices", choices_to_json(report.choices)},
          {"text", report.text}};
}

// A number that is not finite is null in JSON.
void get_finite(const Json& json, const char* name, auto& to) {
  if (const auto found = json.find(name); found != json.end() && found->is_number()) to = found->get<double>();
}

}  // namespace

SolveReport report_from_json(const Json& json) {
  SolveReport report;
  json.at("solver").get_to(report.solver);
  report.reason = json.value("reason", std::string());
  report.memory = json.value("memory", std::string());
  report.device = json.value("device", std::string());
  report.status = json.at("converged").get<bool>() ? SolveStatus::converged : SolveStatus::not_converged;
  get_count(json, "iterations", report.iterations);
  get_finite(json, "residual", report.residual);
  get_finite(json, "objective", report.objective);
  json.at("message").get_to(report.message);
  json.at("seconds").get_to(report.seconds);
  report.text = json.value("text", std::string());
  for (const Json& row : json.value("choices", Json::array())) {
    Choice choice{};
    choice.error = std::numeric_limits<double>::infinity();
    get_fields(row, choice, choice_fields);
    get_finite(row, "length_scale", choice.length_scale);
    get_finite(row, "error", choice.error);
    report.choices.push_back(std::move(choice));
  }
  return report;
}

Json record_to_json(const FitRecord& record) {
  Json json = {{"sampling", sampling_name(record.sampling)},
               {"sketch", record.sketch},
               {"loss", {{"name", loss_name(record.loss)}, {"parameters", loss_parameters(record.loss)}}},
               {"calibration", record.calibration ? Json{{"scale", record.calibration->scale},
                                                         {"power", record.calibration->power},
                                                         {"floor", record.calibration->floor}}
                                                  : Json()},
               {"joint_quantiles", record.joint_quantiles},
               {"missing_targets", record.missing_targets},
               {"non_crossing", record.non_crossing},
               {"evidence", record.evidence ? Json(*record.evidence) : Json()},
               {"report", report_to_json(record.report)}};
  put_fields(json, record, record_fields);
  return json;
}

FitRecord record_from_json(const Json& json) {
  FitRecord record;
  get_fields(json, record, record_fields);
  require(record.n_components >= 0 && record.rows >= 0 && record.alpha >= 0,
          "n_components, rows and alpha must not be negative, found {}, {} and {}", record.n_components, record.rows,
          record.alpha);
  record.sampling = parse_sampling(json.value("sampling", std::string("iid")));
  record.sketch = json.value("sketch", sketches::Parameters());
  if (json.contains("loss")) {
    const Json& loss = json.at("loss");
    record.loss = make_loss(loss.at("name").get<std::string>(), loss.at("parameters").get<LossParameters>());
  }
  if (const auto found = json.find("calibration"); found != json.end() && found->is_object()) {
    record.calibration = Calibration{found->at("scale"), found->at("power"), found->at("floor")};
    record.calibration->check();
  }
  record.joint_quantiles = json.value("joint_quantiles", false);
  record.missing_targets = json.value("missing_targets", false);
  record.non_crossing = json.value("non_crossing", false);
  get_finite(json, "evidence", record.evidence);
  record.report = report_from_json(json.at("report"));
  return record;
}

void check_names(const FitRecord& record, Index dim_in, Index dim_out) {
  const auto inputs = static_cast<Index>(record.input_names.size());
  const auto targets = static_cast<Index>(record.target_names.size());
  require(inputs == 0 || inputs == dim_in, "{} names of inputs for {} inputs", inputs, dim_in);
  require(targets == 0 || targets == dim_out || (record.joint_quantiles && targets == 1),
          "{} names of targets for {} outputs", targets, dim_out);
}

}  // namespace carmina
