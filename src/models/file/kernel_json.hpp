// models/file/kernel_json.hpp -- a kernel as JSON and tensors of a file.
#pragma once
#include <carmina/kernels/kernel.hpp>
#include <carmina/models/model_file.hpp>
#include <nlohmann/json.hpp>

namespace carmina {

// Whether it has functions of the user's, which no file holds.
bool made_of_functions(const Kernel& kernel);
// Of other kernels.
nlohmann::json kernel_to_json(const Kernel& kernel, ModelFile& file);

}  // namespace carmina
