// models/file/fit_record_json.cpp -- the record of a fit to and from JSON.
#include "models/file/fit_record_json.hpp"

#include <limits>
#include <utility>

namespace carmina {
namespace {

using Json = nlohmann::json;

// each(name, member) for what is written as it is.
template <class Record, class Each>
void plain_members(Record& record, const Each& each) {
  each("approximation", record.approximation);
  each("n_components", record.n_components);
  each("alpha", record.alpha);
  each("fit_intercept", record.fit_intercept);
  each("scale_inputs", record.scale_inputs);
  each("fill_missing", record.fill_missing);
  each("seed", record.seed);
  each("rows", record.rows);
  each("input_names", record.input_names);
  each("target_names", record.target_names);
}

Json choices_to_json(const std::vector<Choice>& choices) {
  Json rows = Json::array();
  for (const Choice& choice : choices) {
    rows.push_back({{"kernel", choice.kernel},
                    {"length_scale", choice.length_scale},
                    {"metric", choice.metric},
                    {"alpha", choice.alpha},
                    {"approximation", choice.approximation},
                    {"rows", choice.rows},
                    {"error", choice.error},
                    {"chosen", choice.chosen}});
  }
  return rows;
}

Json report_to_json(const SolveReport& report) {
  return {{"solver", report.solver},
          {"reason", report.reason},
          {"memory", report.memory},
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
  report.status = json.at("converged").get<bool>() ? SolveStatus::converged : SolveStatus::not_converged;
  json.at("iterations").get_to(report.iterations);
  report.residual = json.value("residual", 0.0);
  get_finite(json, "objective", report.objective);
  json.at("message").get_to(report.message);
  json.at("seconds").get_to(report.seconds);
  report.text = json.value("text", std::string());
  for (const Json& row : json.value("choices", Json::array())) {
    Choice choice{row.at("kernel"),
                  0,
                  row.at("metric"),
                  row.at("alpha"),
                  row.at("approximation"),
                  row.at("rows"),
                  std::numeric_limits<double>::infinity(),
                  row.at("chosen")};
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
  plain_members(record, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

FitRecord record_from_json(const Json& json) {
  FitRecord record;
  plain_members(record, [&](const char* name, auto& value) { json.at(name).get_to(value); });
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

}  // namespace carmina
