// models/file/encoder_json.cpp -- the encoder of a model's inputs to and from JSON.
#include "models/file/json_fields.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/model_inputs.hpp>

namespace carmina {
namespace {

using Json = nlohmann::json;

constexpr const char* encoder_text = "inputs";

}  // namespace

void put_encoder(ModelFile& file, const InputEncoder& encoder) {
  Json columns = Json::array();
  for (const InputColumn& column : encoder.columns()) {
    Json& about = columns.emplace_back(Json{{"name", column.name}, {"kind", column_kind_name(column.kind)}});
    if (column.kind == ColumnKind::category) about["levels"] = column.levels;
    if (column.kind == ColumnKind::wrapped) about["period"] = column.period;
  }
  const Json all = {{"columns", std::move(columns)},
                    {"unseen", unseen_level_name(encoder.unseen())},
                    {"dates", date_unit_name(encoder.dates())}};
  file.texts[encoder_text] = all.dump();
}

std::shared_ptr<const InputEncoder> get_encoder(const ModelFile& file, Index dim_in, const std::string& source) {
  const auto text = file.texts.find(encoder_text);
  if (text == file.texts.end()) return nullptr;
  try {
    const Json all = Json::parse(text->second);
    std::vector<InputColumn> columns;
    for (const Json& about : all.at("columns")) {
      columns.push_back({about.at("name").get<std::string>(), parse_column_kind(about.at("kind").get<std::string>()),
                         about.value("levels", std::vector<std::string>()), about.value("period", 0.0)});
    }
    auto encoder = std::make_shared<const InputEncoder>(std::move(columns),
                                                        parse_unseen_level(all.at("unseen").get<std::string>()),
                                                        parse_date_unit(all.at("dates").get<std::string>()));
    require(encoder->dim_in() == dim_in, "they give {} numbers, the machine takes {}", encoder->dim_in(), dim_in);
    return encoder;
  } catch (const Json::exception& error) {
    fail("{}: the description of the inputs is not valid: {}", source, error.what());
  } catch (const Error& error) {
    fail("{}: the description of the inputs is not valid: {}", source, error.what());
  }
}

}  // namespace carmina
