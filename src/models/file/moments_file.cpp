// models/file/moments_file.cpp -- sums over rows, packed.
#include "models/file/moments_file.hpp"

#include <carmina/core/error.hpp>
#include <carmina/core/format.hpp>

namespace carmina {

void put_moments(ModelFile& file, const Moments& moments, const std::string& suffix) {
  const Index order = moments.sums.rows();
  Matrix<double> packed(order * (order + 1) / 2, 1);
  for (Index i = 0, at = 0; i < order; at += ++i) {
    packed.col(0).segment(at, i + 1) = moments.sums.row(i).head(i + 1).transpose();
  }
  file.put<double>("row_sums" + suffix, packed);
  file.put<double>("row_sums_origin" + suffix, Matrix<double>(moments.origin));
}

std::shared_ptr<const Moments> get_moments(const ModelFile& file, Index features, Index outputs, Index rows,
                                           const std::string& suffix) {
  if (!file.tensors.contains("row_sums" + suffix)) return nullptr;
  const Matrix<double> packed = file.get<double>("row_sums" + suffix),
                       origin = file.get<double>("row_sums_origin" + suffix);
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

void put_patterns(ModelFile& file, const FitRecord& record, bool variances) {
  const auto count = static_cast<Index>(record.patterns.size());
  if (count == 0 || !(record.exact() || variances)) return;
  Index outputs = 0;
  for (const PatternRecord& pattern : record.patterns) outputs += static_cast<Index>(pattern.columns.size());
  Matrix<double> of_output(outputs, 1);
  Matrix<double> seen = Matrix<double>::Zero(record.exact() ? record.rows : 0, count);
  for (Index k = 0; k < count; ++k) {
    const PatternRecord& pattern = record.patterns[static_cast<std::size_t>(k)];
    for (const Index a : pattern.columns) of_output(a, 0) = static_cast<double>(k);
    for (const Index i : pattern.rows) seen(i, k) = 1;
    if (pattern.moments) put_moments(file, *pattern.moments, format_text(".{}", k));
  }
  file.put<double>("output_pattern", of_output);
  if (record.exact()) file.put<double>("pattern_rows", seen);
}

std::vector<PatternRecord> get_patterns(const ModelFile& file, const FitRecord& record, Index features, Index outputs) {
  if (!file.tensors.contains("output_pattern")) return {};
  const Matrix<double> of_output = file.get<double>("output_pattern");
  require(of_output.size() == outputs && (of_output.array() >= 0).all() &&
              (of_output.array() < static_cast<double>(outputs)).all(),
          "'output_pattern' must have a number below {} for each output", outputs);
  std::vector<PatternRecord> patterns(static_cast<std::size_t>(of_output.maxCoeff()) + 1);
  for (Index a = 0; a < outputs; ++a) patterns[static_cast<std::size_t>(of_output.data()[a])].columns.push_back(a);
  Matrix<double> seen;
  if (record.exact()) {
    seen = file.get<double>("pattern_rows");
    require(seen.rows() == features && seen.cols() == static_cast<Index>(patterns.size()),
            "'pattern_rows' is {} x {}, expected {} x {}", seen.rows(), seen.cols(), features, patterns.size());
    require(record.rows == features, "'rows' is {}, 'pattern_rows' has {}", record.rows, features);
  }
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    PatternRecord& pattern = patterns[k];
    require(!pattern.columns.empty(), "'output_pattern' has no output of pattern {}", k);
    for (Index i = 0; i < seen.rows(); ++i) {
      if (seen(i, static_cast<Index>(k)) > 0) pattern.rows.push_back(i);
    }
    require(!record.exact() || !pattern.rows.empty(), "'pattern_rows' has no row of pattern {}", k);
    if (record.exact()) continue;
    const auto own = static_cast<Index>(pattern.columns.size());
    pattern.moments = get_moments(file, features, own, record.rows, format_text(".{}", k));
    require(pattern.moments != nullptr, "'row_sums.{}' is not there", k);
  }
  return patterns;
}

}  // namespace carmina
