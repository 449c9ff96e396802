// models/file/moments_file.hpp -- the sums over the rows of a fit to and from a model file.
#pragma once
#include "features/moments.hpp"

#include <carmina/models/model_file.hpp>

#include <memory>

namespace carmina {

// The lower triangle, row after row, and the origin of the targets.
void put_moments(ModelFile& file, const Moments& moments);
// None where the file holds none; Error where they are not those of so many features and outputs.
std::shared_ptr<const Moments> get_moments(const ModelFile& file, Index features, Index outputs, Index rows);

}  // namespace carmina
