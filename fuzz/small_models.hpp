// fuzz/small_models.hpp -- a model of every kind, as small as they come: what mutations of model files start from.
#pragma once
#include <carmina/models/model_file.hpp>

#include <string>
#include <utility>
#include <vector>

namespace carmina::fuzz {

// (what it is, its file); fitted when first asked for.
const std::vector<std::pair<std::string, ModelFile>>& small_models();

}  // namespace carmina::fuzz
