// data/text_table.hpp -- what the readers of text formats share: rows parsed one by one, each remembering its
// line.
#pragma once
#include "data/cells.hpp"
#include "data/line_reader.hpp"
#include "data/read_limit.hpp"

#include <carmina/data/table.hpp>

namespace carmina::data {

class TextTable : public TableReader {
 public:
  const std::string& path() const override { return lines_.path(); }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return rows_; }
  Index read(View<double> out) override;
  void rewind() override;
  Index position(Index row) const override { return row_lines_.at(static_cast<std::size_t>(row)); }
  std::string place_at(Index position) const override { return lines_.place(position); }

 protected:
  TextTable(const std::string& path, const ReadLimit& limit) : limit_(limit), lines_(path, limit) {}

  // Parses the next row into columns_.size() cells and sets row_line_; false at the end of the file.
  virtual bool parse_row(double* cells) = 0;

  // Called once by a constructor that has read the header: what follows are rows, at least one.
  void begin_rows(const char* what_if_none);

  double number(std::string_view text,
                std::size_t column) const;  // or an Error with the row's line and the column
  std::string row_place() const { return lines_.place(row_line_); }

  const ReadLimit limit_;
  LineReader lines_;
  std::vector<Column> columns_;
  std::optional<Index> rows_;
  Index row_line_ = 0;  // where the row being parsed begins

 private:
  Index header_lines_ = 0;
  std::vector<Index> row_lines_;  // of the block last read
};

constexpr double column_bytes = 250;  // of a column's name, in the list and where names are looked for, and its cells

// "c1", "c2", ... for a format without names; refuses what no table has, and more than the limit allows.
std::vector<Column> numbered_columns(std::uint64_t count, const std::string& path, const ReadLimit& limit);

// Names and categories must be UTF-8, as in models and in Python, and names distinct.
void check_names(const std::vector<Column>& columns, const std::string& place);

}  // namespace carmina::data
