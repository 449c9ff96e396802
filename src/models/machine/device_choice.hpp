// models/machine/device_choice.hpp -- where predictions of a whole table are computed.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/models/predictor.hpp>

#include <optional>

namespace carmina {

// The same with "auto" resolved for so many rows, which come in blocks of any size: by their number, where that is
// known, so that all of them are predicted at one place.
Execution for_all_rows(const Predictor& model, std::optional<Index> rows, Execution execution);

}  // namespace carmina
