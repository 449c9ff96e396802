// data/input_encoder.hpp -- what makes numbers of the columns of a table: categories, dates, columns that wrap
// round, numbers as they are.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/data/rows.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carmina {

enum class ColumnKind { number, category, date, wrapped };
enum class DateUnit { seconds, days };          // since 1970-01-01, UTC
enum class UnseenLevel { error, zeros };        // of a level that the training rows did not have
std::vector<std::string> date_unit_names();     // "seconds", "days"
std::vector<std::string> unseen_level_names();  // "error", "zeros"
DateUnit parse_date_unit(const std::string& word);
UnseenLevel parse_unseen_level(const std::string& word);
std::string column_kind_name(ColumnKind kind);  // "number", "category", "date", "wrapped"
ColumnKind parse_column_kind(const std::string& word);
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
// column for each of its levels, 1 in that of the cell and 0 in the others; a number x that wraps round after a period
// P the point of a circle of circumference P,
//   (P / 2 pi) cos(2 pi x / P), (P / 2 pi) sin(2 pi x / P),
// where near points are as far apart as the numbers, and x + P is x. A missing cell is missing in all of them.
struct InputColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels = {};  // of a category: distinct, in the order of their bytes
  double period = 0;                     // of a column that wraps round

  Index width() const {
    if (kind == ColumnKind::category) return static_cast<Index>(levels.size());
    return kind == ColumnKind::wrapped ? 2 : 1;
  }
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
  const std::vector<Index>& firsts() const { return first_; }                           // of all columns, then dim_in()
  std::vector<std::string> input_names() const;                                         // of the columns of the table
  std::vector<std::string> encoded_names() const;  // "wind", "colour=red", "colour=green", "hour=cos", "hour=sin"
  bool only_numbers() const;
  // Whether its columns are numbers, some of which wrap round: then rows of numbers can be encoded.
  bool takes_numbers() const;
  // Of each column that wraps round the first of its two numbers.
  std::vector<Index> wrapped() const;
  bool operator==(const InputEncoder& other) const;

  // What stands for a number, or a date that is one, at `to`.
  void put_number(Index column, double cell, double* to) const;
  // Rows of numbers, a column for each of the table, as the machine takes them. Error where it takes text.
  template <Real T>
  Matrix<T> encode(ConstView<T> X) const;

  // Derivatives (rows, p columns) by the columns of the table, of rows X as encode() makes them, from those by their
  // numbers (rows, p dim_in): (c, s) = r (cos x / r, sin x / r) has dc / dx = -s / r and ds / dx = c / r.
  Matrix<double> by_columns(ConstView<double> X, const Matrix<double>& derivatives) const;

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
  std::vector<std::pair<std::string, double>> wrap = {};  // columns that wrap round, with their periods
};

// The encoder that the inputs of a table need, by its first rows and, where these have text, one pass over all of them
// for the levels; null where all inputs are numbers. The table is at its first row again.
std::shared_ptr<const InputEncoder> encoder_of(TableReader& table, const std::vector<Index>& inputs,
                                               const EncodingOptions& options);

// The encoder of d columns of numbers of which some, counted from 0, wrap round after these periods.
std::shared_ptr<const InputEncoder> wrapping_encoder(Index d, const std::vector<std::pair<Index, double>>& wrap);

// Rows of any source as an encoder makes them, for a fit; its columns are numbers. The source must outlive it.
template <Real T>
class EncodedRows final : public RowSource<T> {
 public:
  EncodedRows(RowSource<T>& rows, std::shared_ptr<const InputEncoder> encoder)
      : rows_(rows), encoder_(std::move(encoder)) {}
  Index dim_in() const override { return encoder_->dim_in(); }
  Index dim_out() const override { return rows_.dim_out(); }
  std::optional<Index> rows() const override { return rows_.rows(); }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index count) const override {
    return rows_.held_bytes(count) + static_cast<double>(sizeof(T)) * static_cast<double>(count * dim_in());
  }
  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = rows_.next(max_rows);
    X_ = encoder_->encode<T>(block.inputs());
    block.X = X_.data();
    block.dim_in = block.x_stride = X_.cols();
    return block;
  }

 private:
  RowSource<T>& rows_;
  std::shared_ptr<const InputEncoder> encoder_;
  Matrix<T> X_;
};

// The same table as a fit or a prediction reads it: inputs encoded in front, then the targets, which are numbers; the
// roles become theirs. Without an encoder (null) the columns stay where they are. Cells that have no role are not read,
// so that text in them does no harm. The roles' inputs are the encoder's columns.
std::unique_ptr<TableReader> encoded_table(std::unique_ptr<TableReader> table, ColumnRoles& roles,
                                           std::shared_ptr<const InputEncoder> encoder);

}  // namespace carmina
