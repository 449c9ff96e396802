// models/onnx/to_onnx.cpp -- a model's path from cells to predictions, step by step as nodes of a graph.
#include "models/machine/machine_map.hpp"
#include "models/onnx/onnx_kernels.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/onnx.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

using onnx::Graph;
using onnx::Name;
using onnx::Type;

class Converter {
 public:
  Converter(const Predictor& model, const OnnxOptions& options)
      : model_(model), options_(options), type_(model.precision() == "float32" ? Type::float32 : Type::float64) {}

  std::string run() {
    const auto& encoder = model_.encoder();
    const bool numbers = !encoder || encoder->takes_numbers();
    Name x =
        numbers ? graph_.cast(graph_.input("X", type_, model_.row_length()), Type::float64) : encoded_inputs(*encoder);
    if (numbers && encoder) x = wrapped_inputs(*encoder, x);
    onnx::Prediction found;
    if (const auto* mixture = model_.spectral_mixture()) {
      found = onnx::predict_mixture(graph_, *mixture, x, options_.deviations);
    } else {
      found = std::visit([&](const auto& machine) { return onnx::predict_machine(graph_, machine, x, wants_std()); },
                         *model_.kernel_machine());
    }
    put_outputs(found);
    std::vector<std::pair<std::string, std::string>> notes = {{"kind", model_.kind()},
                                                              {"precision", model_.precision()}};
    notes.emplace_back("outputs", join_text(model_.output_names(), ", "));
    return graph_.model(notes);
  }

 private:
  bool is_classifier() const { return !std::holds_alternative<std::monostate>(options_.labels); }
  bool wants_std() const { return options_.deviations && !is_classifier() && model_.why_no_std().empty(); }

  // Columns (rows, 1) of numbers beside those that wrap round.
  Name wrapped_inputs(const InputEncoder& encoder, const Name& x) {
    std::vector<Name> parts;
    for (std::size_t c = 0; c < encoder.columns().size(); ++c) {
      const Name column =
          graph_.node("Gather", {x, graph_.constant(std::vector<std::int64_t>{static_cast<std::int64_t>(c)})},
                      {{"axis", std::int64_t{1}}});
      parts.push_back(encoder.columns()[c].period > 0 ? on_circle(column, encoder.columns()[c].period) : column);
    }
    return parts.size() == 1 ? parts[0] : graph_.node("Concat", parts, {{"axis", std::int64_t{1}}});
  }

  // InputEncoder::put_number: turns less whole ones, as an angle.
  Name on_circle(const Name& column, double period) {
    const Name turns = graph_.node("Div", {column, graph_.constant(period)});
    const Name angle =
        graph_.multiply(graph_.subtract(turns, graph_.node("Round", {turns})), graph_.constant(2 * std::numbers::pi));
    const Name point =
        graph_.node("Concat", {graph_.node("Cos", {angle}), graph_.node("Sin", {angle})}, {{"axis", std::int64_t{1}}});
    Matrix<double> radius = Matrix<double>::Constant(1, 2, period / (2 * std::numbers::pi));
    return graph_.multiply(point, graph_.constant(radius));
  }

  // One input for each column of the table, joined to (rows, dim_in).
  Name encoded_inputs(const InputEncoder& encoder) {
    std::vector<Name> parts;
    const Vector<double> fill = fill_of();
    const bool fills = model_.record().fill_missing && fill.size() > 0;
    for (std::size_t c = 0; c < encoder.columns().size(); ++c) {
      const InputColumn& column = encoder.columns()[c];
      if (column.kind != ColumnKind::category) {
        const Name number = graph_.cast(graph_.input(column.name, type_, 1), Type::float64);
        parts.push_back(column.period > 0 ? on_circle(number, column.period) : number);
        continue;
      }
      // A missing cell, "", is one more level, whose row is what takes the place of the others.
      std::vector<std::string> levels = column.levels;
      const Index width = column.width();
      if (fills) levels.emplace_back();
      const Name hot = graph_.node(
          "OneHotEncoder", {graph_.input(column.name, Type::text, 1)},
          {{"cats_strings", levels}, {"zeros", static_cast<std::int64_t>(encoder.unseen() == UnseenLevel::zeros)}},
          "ai.onnx.ml");
      const auto count = static_cast<std::int64_t>(levels.size());
      Name part = graph_.node("Reshape", {hot, graph_.constant(std::vector<std::int64_t>{-1, count})});
      part = graph_.cast(part, Type::float64);
      if (fills) {
        Matrix<double> rows = Matrix<double>::Identity(width + 1, width);
        rows.row(width) = fill.segment(encoder.first(static_cast<Index>(c)), width).transpose();
        part = graph_.product(part, graph_.constant(rows));
      }
      parts.push_back(part);
    }
    return parts.size() == 1 ? parts[0] : graph_.node("Concat", parts, {{"axis", std::int64_t{1}}});
  }

  // What takes the place of missing inputs; empty where the model has nothing for it.
  Vector<double> fill_of() const {
    if (!model_.kernel_machine()) return {};
    return std::visit(
        [](const auto& machine) {
          return std::visit([](const auto& map) { return map.transform().fill; }, machine.map());
        },
        *model_.kernel_machine());
  }

  void put_outputs(const onnx::Prediction& found) {
    const Index p = model_.dim_out();
    if (!is_classifier()) {
      graph_.output("prediction", graph_.cast(found.mean, type_), type_, p);
      if (!found.variance.empty() && !is_classifier()) {
        graph_.output("std", graph_.cast(graph_.node("Sqrt", {found.variance}), type_), type_, p);
      }
      if (model_.why_no_probabilities().empty()) put_probabilities(scores(found.mean, p), p);
      return;
    }
    const Name all = scores(found.mean, p);
    const Name best = graph_.node("ArgMax", {all}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
    const Index classes = std::max<Index>(p, 2);
    std::visit(
        [&]<class L>(const L& labels) {
          if constexpr (!std::same_as<L, std::monostate>) {
            require(static_cast<Index>(labels.size()) == classes, "to_onnx: {} labels for {} classes", labels.size(),
                    classes);
            constexpr Type type = std::same_as<L, std::vector<std::string>> ? Type::text : Type::int64;
            graph_.output("label", graph_.node("Gather", {graph_.constant(labels), best}), type, 0);
          }
        },
        options_.labels);
    if (model_.why_no_probabilities().empty()) put_probabilities(all, p);
  }

  // Of classes: one score f stands for -f/2 and f/2.
  Name scores(const Name& f, Index p) {
    if (p > 1) return f;
    Matrix<double> halves(1, 2);
    halves << -0.5, 0.5;
    return graph_.product(f, graph_.constant(halves));
  }

  // A softmax of scale f + power log max(f, floor)
  void put_probabilities(Name f, Index p) {
    if (const auto& calibration = model_.record().calibration) {
      const Matrix<double> scales = Matrix<double>::Constant(1, std::max<Index>(p, 2), calibration->scale);
      Name logits = graph_.multiply(f, graph_.constant(scales));
      if (calibration->power > 0) {
        const Name bounded = graph_.node("Max", {f, graph_.constant(calibration->floor)});
        logits =
            graph_.add(logits, graph_.multiply(graph_.node("Log", {bounded}), graph_.constant(calibration->power)));
      }
      f = logits;
    }
    graph_.output("probabilities", graph_.cast(graph_.node("Softmax", {f}, {{"axis", std::int64_t{1}}}), type_), type_,
                  std::max<Index>(p, 2));
  }

  const Predictor& model_;
  const OnnxOptions& options_;
  Type type_;
  Graph graph_;
};

}  // namespace

std::string to_onnx(const Predictor& model, const OnnxOptions& options) { return Converter(model, options).run(); }

}  // namespace carmina
