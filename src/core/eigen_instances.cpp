// core/eigen_instances.cpp -- see eigen_instances.hpp.
#include "core/eigen_instances.hpp"

namespace Eigen {
namespace internal {
CARMINA_EIGEN_PRODUCTS(, double)
CARMINA_EIGEN_PRODUCTS(, float)
}  // namespace internal
CARMINA_EIGEN_DECOMPOSITIONS(, MatrixXd)
CARMINA_EIGEN_DECOMPOSITIONS(, CarminaRowMajor)
}  // namespace Eigen
