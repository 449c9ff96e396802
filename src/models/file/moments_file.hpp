// models/file/moments_file.hpp -- the sums over the rows of a fit to and from a model file.
#pragma once
#include "features/moments.hpp"

#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/model_file.hpp>

#include <memory>
#include <string>
#include <vector>

namespace carmina {

// The lower triangle, row after row, and the origin of the targets.
void put_moments(ModelFile& file, const Moments& moments, const std::string& suffix = "");
// None where the file holds none; Error where they are not those of so many features and outputs.
std::shared_ptr<const Moments> get_moments(const ModelFile& file, Index features, Index outputs, Index rows,
                                           const std::string& suffix = "");

// Where targets are missing: what deviations need of each pattern, of machines with features only with `variances`.
void put_patterns(ModelFile& file, const FitRecord& record, bool variances);
// None where the file holds none; Error where they do not go with the machine.
std::vector<PatternRecord> get_patterns(const ModelFile& file, const FitRecord& record, Index features, Index outputs);

}  // namespace carmina
