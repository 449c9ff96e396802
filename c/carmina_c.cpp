// carmina_c.cpp -- the C interface: errors become texts, matrices pointers.
#include "carmina.h"

#include <carmina/core/error.hpp>
#include <carmina/models/predictor.hpp>

#include <exception>
#include <new>
#include <string>

struct carmina_model {
  carmina::Predictor predictor;
};

namespace {

thread_local std::string last_error;

// body(), or what failed() gives where it throws.
template <class Body, class Result>
Result guarded(const Body& body, Result failed) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    last_error.assign("no memory");  // short enough for the text itself
  } catch (const std::exception& error) {
    try {
      last_error = error.what();
    } catch (...) {
      last_error.clear();
    }
  }
  return failed;
}

// method(predictor, X, execution) into out.
template <class T, class Method>
int fill(const carmina_model* model, const T* X, std::int64_t rows, T* out, const Method& method) noexcept {
  return guarded(
      [&] {
        using namespace carmina;
        require(model != nullptr, "there is no model");
        require(rows >= 0 && (rows == 0 || (X != nullptr && out != nullptr)),
                "rows must not be negative, nor X and out "
                "null");
        if (rows == 0) return 0;
        const Predictor& predictor = model->predictor;
        Execution execution;
        execution.threads = 1;
        const Matrix<T> found = method(predictor, map_rows(X, rows, predictor.row_length()), execution);
        std::copy_n(found.data(), found.size(), out);
        return 0;
      },
      -1);
}

}  // namespace

extern "C" {

carmina_model* carmina_load(const char* path) {
  return guarded(
      [&] {
        carmina::require(path != nullptr, "carmina_load: there is no path");
        return new carmina_model{carmina::Predictor::load(path)};
      },
      static_cast<carmina_model*>(nullptr));
}

void carmina_free(carmina_model* model) { delete model; }

int64_t carmina_inputs(const carmina_model* model) { return model ? model->predictor.row_length() : 0; }
int64_t carmina_outputs(const carmina_model* model) { return model ? model->predictor.dim_out() : 0; }

int carmina_predict(const carmina_model* model, const double* X, int64_t rows, double* out) {
  return fill(model, X, rows, out, [](const auto& p, const auto& x, const auto& e) { return p.predict(x, e); });
}
int carmina_predict_float(const carmina_model* model, const float* X, int64_t rows, float* out) {
  return fill(model, X, rows, out, [](const auto& p, const auto& x, const auto& e) { return p.predict(x, e); });
}
int carmina_predict_std(const carmina_model* model, const double* X, int64_t rows, double* out) {
  return fill(model, X, rows, out, [](const auto& p, const auto& x, const auto& e) { return p.predict_std(x, e); });
}

const char* carmina_last_error(void) { return last_error.c_str(); }
const char* carmina_version(void) { return CARMINA_VERSION; }

}  // extern "C"
