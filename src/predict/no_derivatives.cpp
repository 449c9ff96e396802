// predict/no_derivatives.cpp -- the prediction library has no derivatives: what it refuses, in the place of
// derived.cpp, derived_features.cpp and operator_derivatives.cpp.
#include "models/machine/derived_plan.hpp"

#include <carmina/core/error.hpp>

namespace carmina {
namespace {

[[noreturn]] void refuse() {
  fail("the prediction library has no derivatives of predictions: link the whole library (carmina::carmina)");
}

}  // namespace

void check_derived_inputs(const Kernel&, const InputEncoder&, Derived, bool) { refuse(); }
template <Real T>
DerivedPlan derived_plan(const KernelMachine<T>&, Derived) {
  refuse();
}
template <Real T>
Matrix<double> derive(const KernelMachine<T>&, Derived, ConstView<T>, const Execution&) {
  refuse();
}
template <Real T>
std::vector<Matrix<double>> derived_features(const FourierMap<T>&, const Kernel&, const DerivedPlan&, ConstView<T>,
                                             const Execution&) {
  refuse();
}
template <Real T>
std::vector<Matrix<double>> derived_features(const KernelMap<T>&, const Kernel&, const DerivedPlan&, ConstView<T>,
                                             const Execution&) {
  refuse();
}
template <Real T>
std::vector<Matrix<double>> derived_features(const SketchedMap<T>&, const Kernel&, const DerivedPlan&, ConstView<T>,
                                             const Execution&) {
  refuse();
}
template <Real T>
Matrix<double> derived_blocks(const OperatorMap<T>&, const DerivedPlan&, ConstView<T>, const Execution&) {
  refuse();
}
template <Real T>
Matrix<double> derived_own(const OperatorMap<T>&, const DerivedPlan&, const Vector<double>&, ConstView<T>) {
  refuse();
}
template <Real T>
Matrix<double> mixed_seconds(const KernelMap<T>&, ConstView<T>) {
  refuse();
}

#define CARMINA_INSTANTIATE(T)                                                                                         \
  template DerivedPlan derived_plan(const KernelMachine<T>&, Derived);                                                 \
  template Matrix<double> derive(const KernelMachine<T>&, Derived, ConstView<T>, const Execution&);                    \
  template std::vector<Matrix<double>> derived_features(const FourierMap<T>&, const Kernel&, const DerivedPlan&,       \
                                                        ConstView<T>, const Execution&);                               \
  template std::vector<Matrix<double>> derived_features(const KernelMap<T>&, const Kernel&, const DerivedPlan&,        \
                                                        ConstView<T>, const Execution&);                               \
  template std::vector<Matrix<double>> derived_features(const SketchedMap<T>&, const Kernel&, const DerivedPlan&,      \
                                                        ConstView<T>, const Execution&);                               \
  template Matrix<double> derived_blocks(const OperatorMap<T>&, const DerivedPlan&, ConstView<T>, const Execution&);   \
  template Matrix<double> derived_own(const OperatorMap<T>&, const DerivedPlan&, const Vector<double>&, ConstView<T>); \
  template Matrix<double> mixed_seconds(const KernelMap<T>&, ConstView<T>);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
