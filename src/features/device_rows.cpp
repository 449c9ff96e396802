// features/device_rows.cpp -- what a device is asked for, and when.
#include "features/device_rows.hpp"
#include "features/device_transfer.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace carmina {
namespace {

constexpr Index most_sampled = Index{1} << 18;  // rows of a preconditioner
constexpr double half_roundoff = 0x1p-11;       // of features in the preconditioner
constexpr double smallest_factor = 1024;        // order of a system that is worth a factor in float
constexpr Index most_on_host = 32768;           // order of one that the host factors where the device could not

template <Real T>
class DeviceRows final : public RowsOnDevice<T> {
  using Base = MapRows<FourierMap<T>>;
  using On = RowsOnDevice<T>;
  using On::data_, On::execution_, On::device_, On::task_, On::handle_, On::copying_, On::largest_weight_;
  using On::done, On::bring, On::hold_rows, On::each_block, On::each_segment, On::gone_wide;
  using typename On::Piece;

 public:
  DeviceRows(const FourierMap<T>& map, const DataRows<T>& rows, const backend::Device& device,
             const Execution& execution)
      : On(map, rows, device, execution), scale_(1 / std::sqrt(static_cast<double>(map.units()))) {}

  RowSums sums(const Vector<double>& origin) const override {
    const Index p = this->outputs(), m = this->features();
    const bool missing = data_.has_missing_targets();
    const Index q = missing ? 2 * p + 1 : p + 1;
    Matrix<double> all, targets(1, q);
    sum("summing", carmina_cuda_targets, q, origin.data(), nullptr, all, targets.data());
    all *= scale_;
    RowSums sums{all.leftCols(p), all.col(p), targets.row(0).head(p).transpose(), targets(0, p), this->rows()};
    if (missing) {
      sums.own_feature_sums = all.rightCols(p);
      sums.own_weight = targets.row(0).tail(p).transpose();
    }
    require(all.rows() == m && all.allFinite(), "fit: sums over the rows are not finite numbers");
    return sums;
  }

  void adjoint(const Matrix<double>& R, Matrix<double>& out) const override {
    require(R.rows() == this->rows(), "adjoint: R has {} rows, there are {}", R.rows(), this->rows());
    sum("summing", carmina_cuda_given, R.cols(), nullptr, &R, out, nullptr);
    out *= scale_;
  }

  void normal(const Matrix<double>& P, Matrix<double>& out) const override {
    const Index q = P.cols();
    require(!data_.has_missing_targets() || q == this->outputs(),
            "fit: where targets are missing, a product takes a column for each of {} outputs, found {}",
            this->outputs(), q);
    const Matrix<double> scaled = scale_ * P;
    sum("iterating", carmina_cuda_normal, q, scaled.data(), nullptr, out, nullptr);
    out *= scale_;
  }

  void forward(const Matrix<double>& C, Matrix<double>& F) const override {
    const Matrix<double> scaled = scale_ * C;
    F.resize(this->rows(), C.cols());
    hold_rows();
    done(device_.api->set_coefficients(handle_.get(), C.cols(), scaled.data()));
    each_block("predicting", [&](const Piece& some) {
      done(device_.api->forward_block(handle_.get(), some.first, some.count, F.row(some.row).data()));
    });
    ++products_;
    if (gone_wide()) return forward(C, F);
    this->gather_rows(F);
  }

  // Features are rounded to halves, and the factor is in float: neither need be exact, while alpha is well above what
  // rounding does to M (SubsetPreconditioner).
  FeatureRows::SubsetSolve subset_solve(Index wanted, double total_weight, bool centred, double delta,
                                        double alpha) const override {
    const auto m = static_cast<double>(this->features());
    const double noise = 2 * delta * total_weight / std::sqrt(static_cast<double>(wanted) * m);
    if (task_.precision == carmina_cuda_double || m < smallest_factor || !(alpha >= 2 * half_roundoff * noise))
      return {};
    hold_rows();
    // A Gram matrix costs little there beside a pass: more rows, fewer iterations; but not of many features.
    wanted = std::min(wanted, std::max(2 * this->features(), most_sampled));
    wanted = std::max(wanted, std::min<Index>(this->rows() / 8, most_sampled));
    const double factor = delta * total_weight * scale_ * scale_;
    int positive = 0;
    if (task_.resident && task_.precision == carmina_cuda_split && !data_.processes()) {
      const std::vector<std::int64_t> numbers = spread(wanted);
      done(device_.api->precondition(handle_.get(), static_cast<Index>(numbers.size()), nullptr, nullptr,
                                     numbers.data(), factor, centred, alpha, &positive));
    } else {
      const HeldRows<T> some = this->subset(wanted);
      Matrix<T> inputs(some.rows(), data_.dim_in());
      bring(some.X.data(), data_.dim_in(), some.rows(), inputs.data());
      const Matrix<float> X = inputs.template cast<float>();
      const Vector<float> w = some.weights.template cast<float>();
      done(device_.api->precondition(handle_.get(), X.rows(), X.data(), w.size() > 0 ? w.data() : nullptr, nullptr,
                                     factor, centred, alpha, &positive));
    }
    if (positive == 0) {
      if (this->features() <= most_on_host) return {};
      return [](const Matrix<double>& R, Matrix<double>& Z) { Z = R; };
    }
    factored_ = true;
    return [this](const Matrix<double>& R, Matrix<double>& Z) {
      // Columns of length one: a residual may be below what float can hold.
      const Eigen::RowVectorXd size = R.colwise().norm().unaryExpr([](double x) { return x > 0 ? x : 1; });
      const Matrix<double> unit = R * size.cwiseInverse().asDiagonal();
      Z.resize(R.rows(), R.cols());
      done(device_.api->solve(handle_.get(), R.cols(), unit.data(), Z.data()));
      Z = Z * size.asDiagonal();
    };
  }

  void gram(const Vector<double>& u, Matrix<double>& out) const override {
    hold_rows();
    const Index m = this->features();
    out.setZero(m + 1, m + 1);
    const double largest = u.maxCoeff();
    if (!(largest > 0)) return;
    out.topLeftCorner(m, m) = product_of_features("weighing", &u, largest);
    Matrix<double> sums;
    adjoint(u, sums);
    out.row(m).head(m) = sums.col(0).transpose();
    out(m, m) = u.sum();
  }

  void moments(Moments& into, const SavedLoop& saved) const override {
    if (saved.in || data_.has_missing_targets()) return Base::moments(into, saved);
    hold_rows();
    const Index m = this->features(), p = this->outputs();
    double largest = largest_weight_;
    if (!task_.resident || data_.processes()) {
      const Vector<double> w = this->weights();
      largest = w.size() > 0 ? w.maxCoeff() : 1;
    }
    into.sums.topLeftCorner(m, m) += product_of_features("fitting", nullptr, largest);
    const RowSums sums = this->sums(into.origin);
    into.sums.block(m, 0, p, m) += sums.cross.transpose();
    into.sums.row(m + p).head(m) += sums.feature_sums.transpose();
    into.sums.bottomRightCorner(p + 1, p + 1) += products_of_targets(into.origin);
    into.rows += this->rows();
  }

  std::string on_device() const override {
    if (!handle_) return {};
    carmina_cuda_seconds spent{};
    done(device_.api->seconds(handle_.get(), &spent));
    return format_text(
        "{}, {}: {} sums over the rows, {} products with them{}; rows {}, {} copied; {:.3g} s of computing, "
        "{:.3g} s of copying before it",
        device_.name(), device_.facts.name, sums_, products_, factored_ ? ", a preconditioner" : "",
        task_.resident ? "kept there" : "in blocks", format_bytes(static_cast<double>(spent.bytes)), spent.computing,
        copying_);
  }

 private:
  // sum u phi phiᵀ, lower triangle; u null: the weights.
  Matrix<double> product_of_features(const char* phase, const Vector<double>* u, double largest) const {
    const Index m = this->features();
    SegmentedSum sum(data_, {{m, m}});
    each_segment(
        phase, [&] { done(device_.api->begin_gram(handle_.get(), largest)); },
        [&](const Piece& some) {
          done(device_.api->add_gram(handle_.get(), some.first, some.count, u ? u->data() + some.row : nullptr));
        },
        [&] {
          done(device_.api->end_gram(handle_.get(), sum.open()[0].data()));
          sum.close();
        });
    ++sums_;
    Matrix<double> H = std::move(sum.total()[0]);
    if (gone_wide()) return product_of_features(phase, u, largest);
    H *= scale_ * scale_;
    return H;
  }

  // sum w t tᵀ with t = [y - origin, 1], both triangles.
  Matrix<double> products_of_targets(const Vector<double>& origin) const {
    const Index p = this->outputs();
    SegmentedSum sum(data_, {{p + 1, p + 1}});
    data_.for_blocks("fitting", execution_, [&](const RowBlock<T>& block) {
      sum.add(block, this->grid_, execution_, [&](Index first, Index last, std::vector<Matrix<double>>& part) {
        Vector<double> t(p + 1);
        for (Index i = first; i < last; ++i) {
          for (Index a = 0; a < p; ++a) t[a] = static_cast<double>(block.Y[i * block.y_stride + a]) - origin[a];
          t[p] = 1;
          part[0].noalias() += (block.weights ? static_cast<double>(block.weights[i]) : 1.0) * t * t.transpose();
        }
      });
    });
    return std::move(sum.total()[0]);
  }

  // Every row whose number times wanted / rows passes a whole number, as subset() takes them.
  std::vector<std::int64_t> spread(Index wanted) const {
    const double step = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(this->rows()));
    std::vector<std::int64_t> numbers;
    for (Index k = 0; k < wanted; ++k) {
      const auto at = static_cast<Index>(std::ceil(static_cast<double>(k + 1) / step)) - 1;
      if (at < this->rows()) numbers.push_back(at);
    }
    return numbers;
  }

  void sum(const char* phase, carmina_cuda_sum what, Index q, const double* matrix, const Matrix<double>* given,
           Matrix<double>& out, double* target_sums) const {
    hold_rows();
    SegmentedSum sum(data_, {{this->features(), q}, {1, q}});
    each_segment(
        phase, [&] { done(device_.api->begin_sum(handle_.get(), what, q, matrix)); },
        [&](const Piece& some) {
          done(device_.api->add_block(handle_.get(), some.first, some.count,
                                      given ? given->row(some.row).data() : nullptr));
        },
        [&] {
          done(device_.api->end_sum(handle_.get(), sum.open()[0].data(), sum.open()[1].data()));
          sum.close();
        });
    out = std::move(sum.total()[0]);
    if (target_sums) std::copy_n(sum.total()[1].data(), q, target_sums);
    ++sums_;
    if (gone_wide()) this->sum(phase, what, q, matrix, given, out, target_sums);
  }

  const double scale_;  // D^(-1/2)
  mutable Index sums_ = 0, products_ = 0;
  mutable bool factored_ = false;
};

}  // namespace

template <Real T>
std::unique_ptr<FeatureRows> device_rows(const FourierMap<T>& map, const DataRows<T>& rows,
                                         const Execution& execution) {
  const backend::DeviceRequest request = backend::parse_device(execution.device);
  if (!request.cuda && !request.automatic) return nullptr;
  // Several processes go to devices together, where they are asked to, or stay on their processors.
  if (rows.processes() && request.automatic) return nullptr;
  if (!made_on_devices(map) || rows.dim_out() == 0) return nullptr;
  const DeviceInputs<T>* const inputs = inputs_of(rows);
  if (request.automatic) {
    const PredictedSeconds seconds =
        predict_seconds(static_cast<double>(rows.rows()), static_cast<double>(rows.dim_in()),
                        static_cast<double>(map.units()), static_cast<double>(rows.dim_out()), sizeof(T));
    if (seconds.cpu <= seconds.device) return nullptr;
  }
  const std::optional<backend::Device> device =
      inputs ? inputs->device() : backend::find_device(execution, rows.processes());
  if (!device) return nullptr;
  require(!inputs || !request.numbered || request.number == device->number,
          "device '{}': the rows are on device '{}'; fit where they are", execution.device, device->name());
  auto made = std::make_unique<DeviceRows<T>>(map, rows, *device, execution);
  if (!made->plan(execution)) return nullptr;
  return made;
}
template <Real T>
std::unique_ptr<RowSource<T>> rows_on_device(const DeviceArray<T>& X, ConstView<T> Y, const T* weights,
                                             const Execution& execution) {
  return std::make_unique<DeviceInputs<T>>(backend::device_of(X.data, execution), X, Y, weights);
}
template std::unique_ptr<RowSource<float>> rows_on_device(const DeviceArray<float>&, ConstView<float>, const float*,
                                                          const Execution&);
template std::unique_ptr<RowSource<double>> rows_on_device(const DeviceArray<double>&, ConstView<double>, const double*,
                                                           const Execution&);

template <Real T>
Matrix<T> copy_from_device(const DeviceArray<T>& X, const Execution& execution) {
  const auto source = rows_on_device<T>(X, Matrix<T>(), nullptr, execution);
  const DataRows<T> rows(*source);
  return rows.gather([](Index, double) { return 1.0; }, execution, X.rows).X;
}
template Matrix<float> copy_from_device(const DeviceArray<float>&, const Execution&);
template Matrix<double> copy_from_device(const DeviceArray<double>&, const Execution&);

template std::unique_ptr<FeatureRows> device_rows(const FourierMap<float>&, const DataRows<float>&, const Execution&);
template std::unique_ptr<FeatureRows> device_rows(const FourierMap<double>&, const DataRows<double>&, const Execution&);

}  // namespace carmina
