// models/machine/pattern_machine.hpp -- the machine of the outputs of one pattern, as if fitted to the rows that have
// them: what deviations need of it, and no coefficients.
#pragma once
#include "models/machine/machine_map.hpp"

#include <carmina/kernels/kernel.hpp>
#include <carmina/models/kernel_machine.hpp>

namespace carmina {

template <Real T>
KernelMachine<T> pattern_machine(const KernelMachine<T>& machine, const PatternRecord& pattern) {
  Term term = *machine.kernel().separable();
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
    term.coupling = OutputMatrix(Matrix<double>(matrix->A()(pattern.columns, pattern.columns)));
  }
  FitRecord record = machine.record();
  record.missing_targets = false;
  record.patterns.clear();
  record.left_out.resize(0, 0);
  record.target_names.clear();
  record.moments = pattern.moments;
  if (record.noise.size() > 0) record.noise = Vector<double>(record.noise(pattern.columns));
  if (record.target_mean.size() > 0) record.target_mean = Vector<double>(record.target_mean(pattern.columns));
  std::shared_ptr<const MachineMap<T>> map = machine.shared_map();
  if (record.exact()) {
    if (record.weights.size() > 0) record.weights = Vector<double>(record.weights(pattern.rows));
    const auto& all = std::get<KernelMap<T>>(machine.map());
    map = share_map<T>(KernelMap<T>(all.kernel(), all.anchors()(pattern.rows, Eigen::all), all.transform()));
  }
  const auto p = static_cast<Index>(pattern.columns.size());
  const Index features = std::visit([](const auto& one) { return one.n_features(); }, *map);
  return KernelMachine<T>(Kernel({term}), std::move(map), Matrix<T>::Zero(features, p), {}, Vector<T>::Zero(p),
                          std::move(record));
}

}  // namespace carmina
