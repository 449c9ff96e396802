// models/file/fit_record_json.hpp -- the record of a fit as JSON, in the files of all kinds of models; target_mean and
// weights are tensors of their own.
#pragma once
#include <carmina/models/kernel_machine.hpp>

#include <nlohmann/json.hpp>

namespace carmina {

nlohmann::json record_to_json(const FitRecord& record);
FitRecord record_from_json(const nlohmann::json& json);
// Error for names of another number of inputs or targets; a target of joint quantiles may be one for all levels.
void check_names(const FitRecord& record, Index dim_in, Index dim_out);
SolveReport report_from_json(const nlohmann::json& json);

}  // namespace carmina
