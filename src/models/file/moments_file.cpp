// models/file/moments_file.cpp -- sums over rows, packed.
#include "models/file/moments_file.hpp"

#include <carmina/core/error.hpp>

namespace carmina {

void put_moments(ModelFile& file, const Moments& moments) {
  const Index order = moments.sums.rows();
  Matrix<double> packed(order * (order + 1) / 2, 1);
  for (Index i = 0, at = 0; i < order; at += ++i) {
    packed.col(0).segment(at, i + 1) = moments.sums.row(i).head(i + 1).transpose();
  }
  file.put<double>("row_sums", packed);
  file.put<double>("row_sums_origin", Matrix<double>(moments.origin));
}

std::shared_ptr<const Moments> get_moments(const ModelFile& file, Index features, Index outputs, Index rows) {
  if (!file.tensors.contains("row_sums")) return nullptr;
  const Matrix<double> packed = file.get<double>("row_sums"), origin = file.get<double>("row_sums_origin");
  // Features of anchors may be fewer, by those that are rounding.
  Index order = features + outputs + 1;
  while (order > outputs + 2 && order * (order + 1) / 2 > packed.size()) --order;
  features = order - outputs - 1;
  require(packed.size() == order * (order + 1) / 2, "'row_sums' has {} entries, expected {}", packed.size(),
          order * (order + 1) / 2);
  require(origin.size() == outputs && packed.allFinite() && packed.data()[packed.size() - 1] > 0,
          "'row_sums' and 'row_sums_origin' do not go together");
  auto moments = std::make_shared<Moments>(features, origin.reshaped<Eigen::RowMajor>());
  for (Index i = 0, at = 0; i < order; at += ++i) {
    moments->sums.row(i).head(i + 1) = Eigen::Map<const Vector<double>>(packed.data() + at, i + 1).transpose();
  }
  moments->rows = rows;
  return moments;
}

}  // namespace carmina
