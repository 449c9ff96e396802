// data/text_cells.hpp -- a table of text whose columns may be read as something else than numbers.
#pragma once
#include <carmina/data/input_encoder.hpp>
#include <functional>

namespace carmina::data {

// How the cells of one column are read. For `category` the cell is the number of its level, -1 for an unseen one.
enum class CellReading { number, skip, category, date };

// What the first rows of a column hold besides missing cells; numbers with text among them are numbers.
enum class CellsFound { numbers, dates, text };

class TextCells {
 public:
  virtual ~TextCells() = default;
  // By the first `rows` rows; the table is at its first row again.
  virtual std::vector<CellsFound> look(Index rows) = 0;
  // Calls seen(column, text) for the cells of these columns that are not missing, of all rows; then it is at its first
  // row again.
  using Seen = std::function<void(std::size_t column, std::string_view text)>;
  virtual void visit(const std::vector<Index>& columns, const Seen& seen) = 0;
  // One for each column, from now on. `encoder` says what levels are, by the number of one of its columns for each
  // column of the table.
  virtual void read_as(std::vector<CellReading> readings, std::shared_ptr<const InputEncoder> encoder,
                       std::vector<Index> encoder_columns) = 0;
};

}  // namespace carmina::data
