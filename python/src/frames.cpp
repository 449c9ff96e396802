// frames.cpp -- tables of other packages, and the encoder that makes numbers of their columns.
#include <carmina/data/input_encoder.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <cmath>
#include <limits>
#include "data/cells.hpp"

#include "arrays.hpp"
#include "arrow.hpp"
#include "interpreter_lock.hpp"

namespace carmina::python {
namespace {

template <class T>
nb::object array_of(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

std::shared_ptr<ArrowTable> table_of(nb::handle frame) {
  const nb::object capsule = frame.attr("__arrow_c_stream__")();
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  return std::make_shared<ArrowTable>(*stream);
}

// ("numbers", values, single), ("text", "categories" or "truths", codes, levels) or ("dates", ticks, per second)
nb::tuple column_of(const ArrowTable& table, Index j) {
  require(j >= 0 && j < static_cast<Index>(table.names().size()), "there is no column {}", j);
  ArrowColumn column = [&] {
    const Unlocked unlocked;
    return table.column(j);
  }();
  if (auto* numbers = std::get_if<ArrowNumbers>(&column)) {
    return nb::make_tuple("numbers", array_of(std::move(numbers->values)), numbers->single);
  }
  if (auto* text = std::get_if<ArrowText>(&column)) {
    return nb::make_tuple(text->truths       ? "truths"
                          : text->categories ? "categories"
                                             : "text",
                          array_of(std::move(text->codes)), text->levels);
  }
  auto& dates = std::get<ArrowDates>(column);
  return nb::make_tuple("dates", array_of(std::move(dates.ticks)), dates.ticks_per_second);
}

// Ticks since 1970 as numbers of the unit; NaN for the smallest integer.
nb::object date_numbers(const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& ticks,
                        std::int64_t per_second, const std::string& unit) {
  require(per_second > 0, "ticks per second must be positive, found {}", per_second);
  const DateUnit in = parse_date_unit(unit);
  std::vector<double> numbers(ticks.shape(0));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t tick = ticks.data()[i];
    if (tick == std::numeric_limits<std::int64_t>::min()) {
      numbers[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    std::int64_t seconds = tick / per_second, rest = tick % per_second;
    if (rest < 0) {
      --seconds;
      rest += per_second;
    }
    numbers[i] = Instant{seconds, static_cast<double>(rest) / static_cast<double>(per_second)}.in(in);
  }
  return array_of(std::move(numbers));
}

// Of texts; none when one of them is no date.
std::optional<std::vector<double>> parsed_dates(const std::vector<std::string>& texts, const std::string& unit) {
  const DateUnit in = parse_date_unit(unit);
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    const auto at = parse_date(text);
    if (!at) return std::nullopt;
    numbers.push_back(at->in(in));
  }
  return numbers;
}

// The first of some texts that is no number while others are; none: they are all of one kind.
std::optional<std::string> text_among_numbers(const std::vector<std::string>& texts) {
  const std::string* text = nullptr;
  bool numbers = false;
  for (const std::string& one : texts) {
    const bool is_text = data::parse_cell(one).kind == data::CellKind::text;
    if (is_text && !text) text = &one;
    numbers = numbers || !is_text;
  }
  return text && numbers ? std::optional<std::string>(*text) : std::nullopt;
}

using Described = std::tuple<std::string, std::string, std::vector<std::string>>;  // name, kind, levels

std::shared_ptr<const InputEncoder> make_encoder(const std::vector<Described>& described, const std::string& unseen,
                                                 const std::string& dates, const std::vector<double>& periods) {
  require(periods.empty() || periods.size() == described.size(), "{} periods for {} columns", periods.size(),
          described.size());
  std::vector<InputColumn> columns;
  for (const auto& [name, kind, levels] : described) {
    columns.push_back({name, parse_column_kind(kind), levels, periods.empty() ? 0.0 : periods[columns.size()]});
  }
  return std::make_shared<const InputEncoder>(std::move(columns), parse_unseen_level(unseen), parse_date_unit(dates));
}

std::vector<Described> described(const InputEncoder& encoder) {
  std::vector<Described> columns;
  for (const InputColumn& column : encoder.columns()) {
    columns.emplace_back(column.name, column_kind_name(column.kind), column.levels);
  }
  return columns;
}

// Of each column; 0: it does not wrap round.
std::vector<double> periods_of(const InputEncoder& encoder) {
  std::vector<double> periods;
  for (const InputColumn& column : encoder.columns()) periods.push_back(column.period);
  return periods;
}

// Rows of numbers as the machine takes them, in their precision.
nb::object encode(const InputEncoder& encoder, nb::handle X) {
  return in_precision_of(X, [&]<Real T>(T) {
    const Rows<T> rows(X, "X");
    return nb::cast(to_numpy(encoder.encode<T>(rows.view())));
  });
}

// The two numbers of each cell of a column that wraps round.
nb::object wrap(const InputEncoder& encoder, Index column, const std::vector<double>& values) {
  require(column >= 0 && column < static_cast<Index>(encoder.columns().size()), "there is no column {}", column);
  require(encoder.columns()[static_cast<std::size_t>(column)].width() == 2, "column {} does not wrap round", column);
  Matrix<double> found(static_cast<Index>(values.size()), 2);
  for (Index i = 0; i < found.rows(); ++i) {
    encoder.put_number(column, values[static_cast<std::size_t>(i)], found.row(i).data());
  }
  return nb::cast(to_numpy(std::move(found)));
}

// For each text the number of its level in a column, -1 where it is unseen and taken as zeros.
std::vector<Index> levels_of(const InputEncoder& encoder, Index column, const std::vector<std::string>& texts) {
  require(column >= 0 && column < static_cast<Index>(encoder.columns().size()), "there is no column {}", column);
  std::vector<Index> numbers;
  for (const std::string& text : texts) numbers.push_back(encoder.level(column, text, "X").value_or(-1));
  return numbers;
}

}  // namespace

void bind_frames(nb::module_& m) {
  nb::class_<ArrowTable>(m, "ArrowTable", "A table of Arrow's, of anything that has __arrow_c_stream__.")
      .def_static("of", &table_of, nb::arg("frame"))
      .def_prop_ro("rows", &ArrowTable::rows)
      .def_prop_ro("names", &ArrowTable::names)
      .def("column", &column_of, nb::arg("column"));
  nb::class_<InputEncoder>(m, "InputEncoder", "What makes numbers of the columns of a table.")
      .def_static("of", &make_encoder, nb::arg("columns"), nb::arg("unseen"), nb::arg("dates"),
                  nb::arg("periods") = std::vector<double>())
      .def_prop_ro("columns", &described)
      .def_prop_ro("periods", &periods_of)
      .def_prop_ro("unseen", [](const InputEncoder& e) { return unseen_level_name(e.unseen()); })
      .def_prop_ro("dates", [](const InputEncoder& e) { return date_unit_name(e.dates()); })
      .def_prop_ro("dim_in", &InputEncoder::dim_in)
      .def_prop_ro("input_names", &InputEncoder::input_names)
      .def_prop_ro("encoded_names", &InputEncoder::encoded_names)
      .def_prop_ro("only_numbers", &InputEncoder::only_numbers)
      .def_prop_ro("firsts", &InputEncoder::firsts)
      .def_prop_ro("takes_numbers", &InputEncoder::takes_numbers)
      .def_prop_ro("wrapped", &InputEncoder::wrapped)
      .def("encode", &encode, nb::arg("X"))
      .def("wrap", &wrap, nb::arg("column"), nb::arg("values"))
      .def("first", &InputEncoder::first, nb::arg("column"))
      .def("__getstate__",
           [](const InputEncoder& e) {
             return std::make_tuple(described(e), unseen_level_name(e.unseen()), date_unit_name(e.dates()),
                                    periods_of(e));
           })
      .def("__setstate__",
           [](InputEncoder& self,
              const std::tuple<std::vector<Described>, std::string, std::string, std::vector<double>>& state) {
             const auto& [columns, unseen, dates, periods] = state;
             new (&self) InputEncoder(*make_encoder(columns, unseen, dates, periods));
           })
      .def("levels_of", &levels_of, nb::arg("column"), nb::arg("texts"));
  m.def("settled_levels", &settled_levels, nb::arg("found"), nb::arg("place"));
  m.def("date_numbers", &date_numbers, nb::arg("ticks"), nb::arg("per_second"), nb::arg("unit"));
  m.def("text_among_numbers", &text_among_numbers, nb::arg("texts"));
  m.def("parsed_dates", &parsed_dates, nb::arg("texts"), nb::arg("unit"));
}

}  // namespace carmina::python
