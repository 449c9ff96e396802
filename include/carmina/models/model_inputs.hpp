// models/model_inputs.hpp -- how a model's file tells what its inputs are made of: categories, dates, numbers.
#pragma once
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/model_file.hpp>

namespace carmina {

// The machine in a file takes numbers; its encoder stands in front of it, as the text "inputs".
void put_encoder(ModelFile& file, const InputEncoder& encoder);
// Null where the inputs are numbers as they are. Error, with `source`, for a description that is not valid, or gives
// another number of columns than the machine takes.
std::shared_ptr<const InputEncoder> get_encoder(const ModelFile& file, Index dim_in, const std::string& source);

}  // namespace carmina
