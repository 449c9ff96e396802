// models/fit/sketched_rows.hpp -- a sketch of the rows of a fit, and its features.
#pragma once
#include "features/sketched_map.hpp"
#include "models/fit/fit_pipeline.hpp"

namespace carmina {

// What a sketched fit of a separable kernel holds besides its system.
void add_sketch(MemoryUse& use, const FitTask& task);
// Whether K Sᵀ (n, s) of all rows may be kept: in double, of a sparse sketch with more anchors than components (else
// S K Sᵀ is cheap by itself), up to 256 MB.
bool may_keep_products(const FitTask& task);
// Anchor rows that a sketch of so many rows may have.
double anchors_of(const sketches::Distribution& sketch, double n);

// Samples the sketch and makes its map. Where K Sᵀ of all rows is kept, its rows at the anchors give S K Sᵀ, and the
// features of the fit's own rows are a product with it: no kernel value is computed twice.
template <Real T>
class SketchedRows {
 public:
  explicit SketchedRows(FitPipeline<T>& fit, bool keep = false);

  const SketchedMap<T>& map() const { return *map_; }
  std::unique_ptr<FeatureRows> features(const DataRows<T>& rows, FeatureStorage storage = FeatureStorage::none) const;

 private:
  void keep_products(FitPipeline<T>& fit, KernelMap<T> kernel_map, const sketches::Sketch& sketch);

  const Execution execution_;
  const DataRows<T>* own_;
  std::optional<SketchedMap<T>> map_;
  Matrix<T> kept_;  // features of the fit's own rows; empty: not kept
};

// Features of a sub-sample again, from its anchors: what a fit summed when it kept its sums.
template <Real T>
SketchedMap<T> anchor_features(const KernelMap<T>& anchors, const Execution& execution) {
  SparseMixing mixing(anchors.units(), anchors.units());
  mixing.setIdentity();
  return {anchors.kernel(), anchors.anchors(), mixing, anchors.transform(), execution};
}

}  // namespace carmina
