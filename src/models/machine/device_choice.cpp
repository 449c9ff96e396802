// models/machine/device_choice.cpp -- "auto" for a table: by stored rates.
#include "models/machine/device_choice.hpp"
#include "backends/cuda/backend.hpp"
#include "models/machine/machine_map.hpp"

namespace carmina {

Execution for_all_rows(const Predictor& model, std::optional<Index> rows, Execution execution) {
  const backend::DeviceRequest request = backend::parse_device(execution.device);
  if (!request.automatic) {
    backend::check_device(execution);
    return execution;
  }
  execution.device = "cpu";
  if (!rows || !model.kernel_machine()) return execution;
  const auto worth_it = [&]<Real T>(const KernelMachine<T>& machine) {
    const auto* map = std::get_if<FourierMap<T>>(&machine.map());
    if (!map || !made_on_devices(*map)) return false;
    const PredictedSeconds seconds = predict_seconds(
        static_cast<double>(*rows), static_cast<double>(map->dim_in()), static_cast<double>(map->units()),
        static_cast<double>(machine.coefficients().cols()), sizeof(T), passes_of_prediction);
    return seconds.device < seconds.cpu;
  };
  if (!std::visit(worth_it, *model.kernel_machine())) return execution;
  Execution there = execution;
  there.device = "auto";
  if (const auto device = backend::find_device(there)) execution.device = device->name();
  return execution;
}

}  // namespace carmina
