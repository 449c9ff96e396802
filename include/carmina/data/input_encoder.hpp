// data/input_encoder.hpp -- what makes numbers of the columns of a table: categories, dates, numbers as they are.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/data/rows.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carmina {

enum class ColumnKind { number, category, date };
enum class DateUnit { seconds, days };          // since 1970-01-01, UTC
enum class UnseenLevel { error, zeros };        // of a level that the training rows did not have
std::vector<std::string> date_unit_names();     // "seconds", "days"
std::vector<std::string> unseen_level_names();  // "error", "zeros"
DateUnit parse_date_unit(const std::string& word);
UnseenLevel parse_unseen_level(const std::string& word);
std::string date_unit_name(DateUnit unit);
std::string unseen_level_name(UnseenLevel unseen);

// "2024-05-01", "2024-05-01 12:30", "2024-05-01T12:30:15.25Z", "... +02:00": seconds since 1970-01-01, UTC.
struct Instant {
  std::int64_t seconds = 0;
  double fraction = 0;  // of a second, in [0, 1)
  double in(DateUnit unit) const;
};
std::optional<Instant> parse_date(std::string_view text);

// One column of a table and what becomes of it: a number stays one column, a date becomes a number, a category one
// column for each of its levels, 1 in that of the cell and 0 in the others. A missing cell is missing in all of them.
struct InputColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels = {};  // of a category: distinct, in the order of their bytes

  Index width() const { return kind == ColumnKind::category ? static_cast<Index>(levels.size()) : 1; }
  bool operator==(const InputColumn&) const = default;
};

// The levels of a column of text or booleans as a model keeps them: distinct, in the order of their bytes, and "false"
// and "true" in whatever case they were written. Error, with `place`, for none and for more than most_levels.
constexpr std::size_t most_levels = 1000;
std::vector<std::string> settled_levels(std::vector<std::string> found, const std::string& place);

class InputEncoder {
 public:
  InputEncoder(std::vector<InputColumn> columns, UnseenLevel unseen, DateUnit dates);

  const std::vector<InputColumn>& columns() const { return columns_; }
  UnseenLevel unseen() const { return unseen_; }
  DateUnit dates() const { return dates_; }
  Index dim_in() const { return first_.back(); }                                        // columns of numbers
  Index first(Index column) const { return first_[static_cast<std::size_t>(column)]; }  // its place among them
  std::vector<std::string> input_names() const;                                         // of the columns of the table
  std::vector<std::string> encoded_names() const;  // "wind", "colour=red", "colour=green"
  bool only_numbers() const;
  bool operator==(const InputEncoder& other) const;

  // The number of a level; none: unseen, and taken as zeros. Error for one that is unseen and must not be: "PLACE:
  // column 'colour': 'mauve' is not one of the levels ...".
  std::optional<Index> level(Index column, std::string_view text, const std::string& place) const;
  // Fills the columns of a category at `to`: by the number of the level, or NaN for a missing cell.
  void put_level(Index column, std::optional<Index> level, double* to) const;
  void put_missing(Index column, double* to) const;

 private:
  std::vector<InputColumn> columns_;
  UnseenLevel unseen_;
  DateUnit dates_;
  std::vector<Index> first_;  // and the sum of all widths
  std::vector<std::map<std::string, Index, std::less<>>> numbers_;
};

// What is asked of text among the inputs of a table.
struct EncodingOptions {
  bool categories = true;         // false: text is an error
  std::optional<DateUnit> dates;  // none: dates are an error
  UnseenLevel unseen = UnseenLevel::error;
};

// The encoder that the inputs of a table need, by its first rows and, where these have text, one pass over all of them
// for the levels; null where all inputs are numbers. The table is at its first row again.
std::shared_ptr<const InputEncoder> encoder_of(TableReader& table, const std::vector<Index>& inputs,
                                               const EncodingOptions& options);

// The same table as a fit or a prediction reads it: inputs encoded in front, then the targets, which are numbers; the
// roles become theirs. Without an encoder (null) the columns stay where they are. Cells that have no role are not read,
// so that text in them does no harm. The roles' inputs are the encoder's columns.
std::unique_ptr<TableReader> encoded_table(std::unique_ptr<TableReader> table, ColumnRoles& roles,
                                           std::shared_ptr<const InputEncoder> encoder);

}  // namespace carmina
