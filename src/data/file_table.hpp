// data/file_table.hpp -- a binary table in a file that is not packed, read in either order a megabyte at a time.
#pragma once
#include "data/elements.hpp"
#include "data/joined_tables.hpp"

#include <algorithm>
#include <vector>

namespace carmina::data {

// Read, not mapped: a file that becomes shorter under a mapping ends the process, a short read is an error.
class FileTable final : public TableReader, public SkipsRows {
 public:
  FileTable(const std::string& path, const Layout& layout, const ReadLimit& limit);  // as check_layout accepts
  ~FileTable() override;
  FileTable(const FileTable&) = delete;
  FileTable& operator=(const FileTable&) = delete;

  const std::string& path() const override { return path_; }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return static_cast<Index>(layout_.rows); }
  Index read(View<double> out) override { return read_as<double>(out); }
  bool fits_float() const override { return carmina::data::fits_float(layout_.element); }
  Index read_floats(View<float> out) override { return read_as<float>(out); }
  void rewind() override { first_ = at_ = 0; }
  void skip(Index rows) override { at_ += std::min(rows, static_cast<Index>(layout_.rows) - at_); }
  Index position(Index row) const override { return first_ + row; }
  std::string place_at(Index position) const override { return format_text("{}: row {}", path(), position + 1); }

 private:
  template <class To>
  Index read_as(View<To> out);
  // The bytes from `begin` on, or an Error.
  const char* bytes(std::uint64_t begin, std::uint64_t size);

  std::string path_;
  Layout layout_;
  std::vector<Column> columns_;
  int descriptor_ = -1;
  FileStamp stamp_;
  std::vector<char> buffer_;
  Index first_ = 0, at_ = 0;  // rows read before the last block, and after it
};

}  // namespace carmina::data
