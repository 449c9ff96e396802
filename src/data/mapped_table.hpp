// data/mapped_table.hpp -- a binary table in a memory-mapped file; the pages behind the reading position are
// given back.
#pragma once
#include "data/elements.hpp"

namespace carmina::data {

class MappedTable final : public TableReader {
 public:
  MappedTable(const std::string& path, const Layout& layout);  // a layout that check_layout accepts
  ~MappedTable() override;
  MappedTable(const MappedTable&) = delete;
  MappedTable& operator=(const MappedTable&) = delete;

  const std::string& path() const override { return path_; }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return static_cast<Index>(layout_.rows); }
  Index read(View<double> out) override { return read_as<double>(out); }
  bool fits_float() const override { return carmina::data::fits_float(layout_.element); }
  Index read_floats(View<float> out) override { return read_as<float>(out); }
  void rewind() override;
  Index position(Index row) const override { return first_ + row; }
  std::string place_at(Index position) const override { return format_text("{}: row {}", path(), position + 1); }

 private:
  template <class To>
  Index read_as(View<To> out);
  void release(std::uint64_t begin, std::uint64_t end) const;

  std::string path_;
  Layout layout_;
  std::vector<Column> columns_;
  char* map_ = nullptr;  // of the whole file
  std::uint64_t map_size_ = 0, page_ = 0;
  Index first_ = 0, at_ = 0;  // rows read before the last block, and after it
};

}  // namespace carmina::data
