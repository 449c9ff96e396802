// data/input_encoder.cpp -- levels, dates, and the numbers that stand for them.
#include "core/words.hpp"
#include "data/cells.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/input_encoder.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>

namespace carmina {

namespace {

constexpr Words<DateUnit, 2> date_units{"dates", {"seconds", "days"}};
constexpr Words<UnseenLevel, 2> unseen_levels{"unseen", {"error", "zeros"}};
constexpr Words<ColumnKind, 4> column_kinds{"the kind of a column", {"number", "category", "date", "wrapped"}};
constexpr std::int64_t seconds_per_day = 86400;

// Whether a text is a truth value, in any case; then lower case.
std::optional<std::string> truth(std::string_view text) {
  if (text.size() != 4 && text.size() != 5) return std::nullopt;
  std::string word(text);
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (word == "false" || word == "true") return word;
  return std::nullopt;
}

// Days from 1970-01-01 to a day of the Gregorian calendar: years begin in March, so that leap days are last, and 400
// years are 146097 days.
std::int64_t days_to(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - 400 * era;
  const std::int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return 146097 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719468;
}

int days_of(std::int64_t year, int month) {
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[month - 1];
}

// Reads digits and separators from the front of a text.
class Digits {
 public:
  explicit Digits(std::string_view text) : rest_(text) {}

  std::optional<int> number(std::size_t digits) {
    int value = 0;
    if (rest_.size() < digits) return std::nullopt;
    for (std::size_t k = 0; k < digits; ++k) {
      if (rest_[k] < '0' || rest_[k] > '9') return std::nullopt;
      value = 10 * value + (rest_[k] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Digits behind a point, as a fraction of one.
  std::optional<double> fraction() {
    const auto count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (count == 0 || count > 9) return std::nullopt;
    const int value = *number(count);
    constexpr double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    return value / powers[count];
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::vector<std::string> date_unit_names() { return date_units.names(); }
std::vector<std::string> unseen_level_names() { return unseen_levels.names(); }
DateUnit parse_date_unit(const std::string& word) { return date_units.parse(word); }
UnseenLevel parse_unseen_level(const std::string& word) { return unseen_levels.parse(word); }
std::string column_kind_name(ColumnKind kind) { return column_kinds.name(kind); }
ColumnKind parse_column_kind(const std::string& word) { return column_kinds.parse(word); }
std::string date_unit_name(DateUnit unit) { return date_units.name(unit); }
std::string unseen_level_name(UnseenLevel unseen) { return unseen_levels.name(unseen); }

double Instant::in(DateUnit unit) const {
  const double all = static_cast<double>(seconds) + fraction;
  return unit == DateUnit::seconds ? all : all / static_cast<double>(seconds_per_day);
}

std::optional<Instant> parse_date(std::string_view text) {
  Digits digits(data::trim(text));
  const auto year = digits.number(4);
  if (!year || !digits.take('-')) return std::nullopt;
  const auto month = digits.number(2);
  if (!month || *month < 1 || *month > 12) return std::nullopt;
  if (digits.empty()) return Instant{seconds_per_day * days_to(*year, *month, 1), 0};  // "2024-05": its first day
  if (!digits.take('-')) return std::nullopt;
  const auto day = digits.number(2);
  if (!day || *day < 1 || *day > days_of(*year, *month)) return std::nullopt;
  Instant at{seconds_per_day * days_to(*year, *month, *day), 0};
  if (digits.empty()) return at;
  if (!digits.take('T') && !digits.take(' ')) return std::nullopt;
  const auto hour = digits.number(2);
  if (!hour || *hour > 23 || !digits.take(':')) return std::nullopt;
  const auto minute = digits.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  at.seconds += 3600 * *hour + 60 * *minute;
  if (digits.take(':')) {
    const auto second = digits.number(2);
    if (!second || *second > 59) return std::nullopt;
    at.seconds += *second;
    if (digits.take('.')) {
      const auto fraction = digits.fraction();
      if (!fraction) return std::nullopt;
      at.fraction = *fraction;
    }
  }
  if (digits.empty() || (digits.take('Z') && digits.empty())) return at;
  const bool behind = digits.take('-');
  if (!behind && !digits.take('+')) return std::nullopt;
  const auto hours = digits.number(2);
  const bool colon = digits.take(':');
  const auto minutes = digits.empty() && !colon ? std::optional<int>(0) : digits.number(2);
  if (!hours || *hours > 23 || !minutes || *minutes > 59 || !digits.empty()) return std::nullopt;
  at.seconds += (behind ? 1 : -1) * (3600 * *hours + 60 * *minutes);
  return at;
}

std::vector<std::string> settled_levels(std::vector<std::string> found, const std::string& place) {
  require(!found.empty(), "{}: every cell is missing", place);
  const bool truths = std::all_of(found.begin(), found.end(), [](const auto& text) { return truth(text).has_value(); });
  for (std::string& text : found) {
    require(data::is_utf8(text), "{}: '{}' is not UTF-8 text", place, data::shown(text));
    if (truths) text = *truth(text);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  require(found.size() <= most_levels,
          "{}: text with more than {} different values, such as '{}', which is no category; leave the column out",
          place, most_levels, data::shown(found.front()));
  return found;
}

InputEncoder::InputEncoder(std::vector<InputColumn> columns, UnseenLevel unseen, DateUnit dates)
    : columns_(std::move(columns)), unseen_(unseen), dates_(dates), first_{0} {
  require(!columns_.empty(), "an encoder of no column");
  for (const InputColumn& column : columns_) {
    const bool category = column.kind == ColumnKind::category;
    require(category != column.levels.empty(), "column '{}': {} levels for a column of {}", data::shown(column.name),
            column.levels.size(), category ? "categories" : "numbers");
    require(column.levels.size() <= most_levels, "column '{}': {} levels, more than {}", data::shown(column.name),
            column.levels.size(), most_levels);
    const bool wraps = column.kind == ColumnKind::wrapped;
    require(wraps ? column.period > 0 && std::isfinite(column.period) : column.period == 0,
            "column '{}': the period that it wraps round after must be positive and finite, found {}",
            data::shown(column.name), column.period);
    first_.push_back(first_.back() + column.width());
    auto& numbers = numbers_.emplace_back();
    for (const std::string& level : column.levels) {
      const bool is_new = numbers.emplace(level, static_cast<Index>(numbers.size())).second;
      require(is_new && data::is_utf8(level), "column '{}': the level '{}' appears twice or is not UTF-8 text",
              data::shown(column.name), data::shown(level));
    }
  }
}

std::vector<std::string> InputEncoder::input_names() const {
  std::vector<std::string> names;
  for (const InputColumn& column : columns_) names.push_back(column.name);
  return names;
}

std::vector<std::string> InputEncoder::encoded_names() const {
  std::vector<std::string> names;
  for (const InputColumn& column : columns_) {
    for (const std::string& level : column.levels) names.push_back(column.name + "=" + level);
    if (column.kind == ColumnKind::wrapped) {
      names.push_back(column.name + "=cos");
      names.push_back(column.name + "=sin");
    } else if (column.kind != ColumnKind::category) {
      names.push_back(column.name);
    }
  }
  return names;
}

bool InputEncoder::only_numbers() const {
  return std::all_of(columns_.begin(), columns_.end(),
                     [](const InputColumn& column) { return column.kind == ColumnKind::number; });
}

bool InputEncoder::takes_numbers() const {
  return std::all_of(columns_.begin(), columns_.end(), [](const InputColumn& column) {
    return column.kind == ColumnKind::number || column.kind == ColumnKind::wrapped;
  });
}

std::vector<Index> InputEncoder::wrapped() const {
  std::vector<Index> firsts;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].kind == ColumnKind::wrapped) firsts.push_back(first_[c]);
  }
  return firsts;
}

// The rest of a division is exact: x and x + P are the same place wherever x + P is a number.
void InputEncoder::put_number(Index column, double cell, double* to) const {
  const double period = columns_[static_cast<std::size_t>(column)].period;
  to[0] = cell;
  if (period == 0) return;
  to[1] = cell;
  if (!std::isfinite(cell)) return;
  double turn = std::remainder(cell, period) / period;
  if (turn == -0.5) turn = 0.5;
  const double radius = period / (2 * std::numbers::pi), angle = 2 * std::numbers::pi * turn;
  to[0] = radius * std::cos(angle);
  to[1] = radius * std::sin(angle);
}

template <Real T>
Matrix<T> InputEncoder::encode(ConstView<T> X) const {
  const auto count = static_cast<Index>(columns_.size());
  require(takes_numbers(), "rows of numbers for a model that takes text or dates, as a table has them");
  require(X.cols() == count, "X has {} columns, the model takes {}", X.cols(), count);
  Matrix<T> out(X.rows(), dim_in());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index c = 0; c < count; ++c) {
      double to[2];
      put_number(c, static_cast<double>(X(i, c)), to);
      for (Index j = first(c); j < first(c + 1); ++j) out(i, j) = static_cast<T>(to[j - first(c)]);
    }
  }
  return out;
}

Matrix<double> InputEncoder::by_columns(ConstView<double> X, const Matrix<double>& derivatives) const {
  const auto count = static_cast<Index>(columns_.size());
  const Index p = derivatives.cols() / dim_in();
  Matrix<double> out(X.rows(), p * count);
  for (Index c = 0; c < count; ++c) {
    const Index j = first(c);
    const double radius = columns_[static_cast<std::size_t>(c)].period / (2 * std::numbers::pi);
    for (Index a = 0; a < p; ++a) {
      const auto own = derivatives.col(a * dim_in() + j);
      out.col(a * count + c) = own;
      if (radius == 0) continue;
      const auto next = derivatives.col(a * dim_in() + j + 1);
      out.col(a * count + c) = (X.col(j).cwiseProduct(next) - X.col(j + 1).cwiseProduct(own)) / radius;
    }
  }
  return out;
}

template Matrix<float> InputEncoder::encode(ConstView<float>) const;
template Matrix<double> InputEncoder::encode(ConstView<double>) const;

bool InputEncoder::operator==(const InputEncoder& other) const {
  return columns_ == other.columns_ && unseen_ == other.unseen_ && dates_ == other.dates_;
}

std::optional<Index> InputEncoder::level(Index column, std::string_view text, const std::string& place) const {
  const auto& numbers = numbers_[static_cast<std::size_t>(column)];
  text = data::trim(text);
  auto found = numbers.find(text);
  if (found == numbers.end()) {
    if (const auto word = truth(text)) found = numbers.find(*word);
  }
  if (found != numbers.end()) return found->second;
  if (unseen_ == UnseenLevel::zeros) return std::nullopt;
  const InputColumn& about = columns_[static_cast<std::size_t>(column)];
  std::vector<std::string> some;
  constexpr std::size_t most = 5;
  for (std::size_t k = 0; k < std::min(most, about.levels.size()); ++k) some.push_back(data::shown(about.levels[k]));
  fail(
      "{}{}column '{}': '{}' is not one of the {} levels of the training rows ({}{}); --unseen zeros (unseen='zeros') "
      "fits a model that takes others",
      place, place.empty() ? "" : ": ", data::shown(about.name), data::shown(text), about.levels.size(),
      join_text(some, ", "), about.levels.size() > most ? ", ..." : "");
}

void InputEncoder::put_level(Index column, std::optional<Index> level, double* to) const {
  const Index width = columns_[static_cast<std::size_t>(column)].width();
  std::fill_n(to, width, 0.0);
  if (level) to[*level] = 1;
}

void InputEncoder::put_missing(Index column, double* to) const {
  std::fill_n(to, columns_[static_cast<std::size_t>(column)].width(), std::numeric_limits<double>::quiet_NaN());
}

}  // namespace carmina
