// data/joined_tables.cpp -- names of files, and readers that read others.
#include "data/joined_tables.hpp"

#include <carmina/core/error.hpp>

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace carmina {
namespace {

// Digits as numbers, everything else as characters.
bool before(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && digit(text[at + 1])) ++at;
      const std::size_t first = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(first, at - first);
    };
    const std::string own = number(a, i), other = number(b, j);
    if (own.size() != other.size()) return own.size() < other.size();
    if (own != other) return own < other;
  }
  return a.size() - i == b.size() - j ? a < b : a.size() - i < b.size() - j;
}

void skip_rows(TableReader& table, Index rows, Matrix<double>& scratch) {
  if (auto* skips = dynamic_cast<SkipsRows*>(&table)) return skips->skip(rows);
  const auto columns = static_cast<Index>(table.columns().size());
  const Index step = std::max<Index>(1, (Index{1} << 17) / std::max<Index>(columns, 1));
  scratch.resize(std::min(step, std::max<Index>(rows, 1)), columns);
  for (Index done = 0; done < rows;) {
    const Index count = table.read(scratch.topRows(std::min(scratch.rows(), rows - done)));
    require(count > 0, "{}: the table has {} rows, expected {}", table.path(), done, rows);
    done += count;
  }
}

class JoinedTables final : public TableReader, public SkipsRows {
 public:
  explicit JoinedTables(std::vector<std::unique_ptr<TableReader>> tables) : tables_(std::move(tables)) {
    const auto& columns = tables_[0]->columns();
    for (const auto& table : tables_) {
      const auto& own = table->columns();
      require(own.size() == columns.size(), "{}: expected {} columns as in '{}', found {}", table->path(),
              columns.size(), tables_[0]->path(), own.size());
      for (std::size_t j = 0; j < own.size(); ++j) {
        require(own[j].name == columns[j].name && own[j].categories == columns[j].categories,
                "{}: column {} is '{}', expected '{}' as in '{}'", table->path(), j + 1, own[j].name, columns[j].name,
                tables_[0]->path());
      }
    }
  }

  const std::string& path() const override { return tables_[std::min(at_, tables_.size() - 1)]->path(); }
  const std::vector<Column>& columns() const override { return tables_[0]->columns(); }
  std::optional<Index> rows() const override {
    Index total = 0;
    for (const auto& table : tables_) {
      if (!table->rows()) return std::nullopt;
      total += *table->rows();
    }
    return total;
  }
  void rewind() override {
    for (const auto& table : tables_) table->rewind();
    at_ = 0;
  }
  Index read(View<double> out) override {
    return fill(out.rows(), [&](Index done, Index some) { return tables_[at_]->read(out.middleRows(done, some)); });
  }
  bool fits_float() const override {
    return std::all_of(tables_.begin(), tables_.end(), [](const auto& table) { return table->fits_float(); });
  }
  Index read_floats(View<float> out) override {
    return fill(out.rows(),
                [&](Index done, Index some) { return tables_[at_]->read_floats(out.middleRows(done, some)); });
  }
  void skip(Index rows) override {
    Matrix<double> scratch;
    while (rows > 0 && at_ < tables_.size()) {
      const auto known = tables_[at_]->rows();
      if (known && *known <= rows) {  // whole: it was not begun
        rows -= *known;
        ++at_;
        continue;
      }
      if (known) {
        skip_rows(*tables_[at_], rows, scratch);
        return;
      }
      scratch.resize(std::min<Index>(rows, 1024), static_cast<Index>(columns().size()));
      const Index count = tables_[at_]->read(scratch);
      rows -= count;
      if (count < scratch.rows()) ++at_;
    }
    require(rows == 0, "{}: the files have {} rows less than before", tables_.back()->path(), rows);
  }
  // The file and the place in it, in one number.
  Index position(Index row) const override {
    auto origin = origins_.begin();
    while (origin + 1 != origins_.end() && (origin + 1)->first <= row) ++origin;
    const auto files = static_cast<Index>(tables_.size());
    return tables_[origin->table]->position(row - origin->first) * files + static_cast<Index>(origin->table);
  }
  std::string place_at(Index position) const override {
    const auto files = static_cast<Index>(tables_.size());
    return tables_[static_cast<std::size_t>(position % files)]->place_at(position / files);
  }

 private:
  struct Origin {
    Index first;  // row of the block
    std::size_t table;
  };
  template <class Read>
  Index fill(Index wanted, const Read& read) {
    Index done = 0;
    origins_.clear();
    while (done < wanted && at_ < tables_.size()) {
      origins_.push_back({done, at_});
      const Index asked = wanted - done, count = read(done, asked);
      done += count;
      if (count < asked) ++at_;
    }
    return done;
  }

  std::vector<std::unique_ptr<TableReader>> tables_;
  std::size_t at_ = 0;
  std::vector<Origin> origins_;
};

class SomeRows final : public TableReader {
 public:
  SomeRows(std::unique_ptr<TableReader> table, Index first, Index count)
      : table_(std::move(table)), first_(first), count_(count) {
    rewind();
  }
  const std::string& path() const override { return table_->path(); }
  const std::vector<Column>& columns() const override { return table_->columns(); }
  std::optional<Index> rows() const override { return count_; }
  void rewind() override {
    table_->rewind();
    at_ = 0;
    skipped_ = false;
  }
  Index read(View<double> out) override {
    return limited(out.rows(), [&](Index some) { return table_->read(out.topRows(some)); });
  }
  bool fits_float() const override { return table_->fits_float(); }
  Index read_floats(View<float> out) override {
    return limited(out.rows(), [&](Index some) { return table_->read_floats(out.topRows(some)); });
  }
  Index position(Index row) const override { return table_->position(row); }
  std::string place_at(Index position) const override { return table_->place_at(position); }

 private:
  template <class Read>
  Index limited(Index capacity, const Read& read) {
    const Index some = std::min(capacity, count_ - at_);
    if (some == 0) return 0;
    if (!skipped_) {
      Matrix<double> scratch;
      skip_rows(*table_, first_, scratch);
      skipped_ = true;
    }
    const Index count = read(some);
    require(count == some, "{}: the table has {} rows less than before", path(), some - count);
    at_ += count;
    return count;
  }

  std::unique_ptr<TableReader> table_;
  Index first_, count_, at_ = 0;
  bool skipped_ = false;
};

}  // namespace

std::vector<std::string> files_of(const std::string& pattern) {
  std::error_code none;
  if (pattern.find_first_of("*?[") == std::string::npos || std::filesystem::exists(pattern, none)) return {pattern};
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  require(!files.empty(), "cannot read '{}': there is no file of such a name", pattern);
  std::sort(files.begin(), files.end(), before);
  return files;
}

std::unique_ptr<TableReader> open_tables(const std::vector<std::string>& paths, Index libsvm_features,
                                         std::size_t memory_budget) {
  require(!paths.empty(), "there is no file to read");
  if (paths.size() == 1) return open_table(paths[0], libsvm_features, memory_budget);
  std::vector<std::unique_ptr<TableReader>> tables;
  for (const std::string& path : paths) tables.push_back(open_table(path, libsvm_features, memory_budget));
  return std::make_unique<JoinedTables>(std::move(tables));
}

std::unique_ptr<TableReader> some_rows(std::unique_ptr<TableReader> table, Index first, Index count) {
  return std::make_unique<SomeRows>(std::move(table), first, count);
}

}  // namespace carmina
