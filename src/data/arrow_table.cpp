// data/arrow_table.cpp -- Parquet and Arrow IPC files, by libcarmina_arrow.so where it was built.
#include "core/shared_objects.hpp"
#include "data/arrow_files.h"
#include "data/cells.hpp"
#include "data/readers.hpp"
#include "data/text_cells.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/table.hpp>

#include <filesystem>
#include <limits>
#include <memory>

namespace carmina::data {
namespace {

// The functions, or why there are none.
const carmina_arrow_api* functions(std::string& missing) {
  static const SharedObject library = open_shared_object("libcarmina_arrow.so", usual_folders());
  missing = library.missing;
  if (!library.handle) return nullptr;
  using Table = const carmina_arrow_api* (*)(int);
  const auto table = reinterpret_cast<Table>(library.function("carmina_arrow"));
  const carmina_arrow_api* api = table ? table(CARMINA_ARROW_VERSION) : nullptr;
  if (!api) missing = "libcarmina_arrow.so is of another version of Carmina";
  return api;
}

class ArrowTable final : public TableReader, public TextCells {
 public:
  ArrowTable(const std::string& path, bool parquet, const carmina_arrow_api& api)
      : path_(path), api_(api), file_(api.open(path.c_str(), parquet, error_, sizeof(error_)), api.close) {
    if (!file_) fail_reading();
    const int width = api_.columns(file_.get());
    require(width > 0, "{}: the file has no columns", path_);
    for (int j = 0; j < width; ++j) columns_.push_back({api_.name(file_.get(), j), {}});
    readings_.assign(columns_.size(), CellReading::number);
  }

  const std::string& path() const override { return path_; }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return api_.rows(file_.get()); }
  Index position(Index row) const override { return first_ + row; }
  std::string place_at(Index position) const override { return format_text("{}: row {}", path_, position + 1); }

  void rewind() override {
    std::string wanted(columns_.size(), '\1');
    for (std::size_t j = 0; j < columns_.size(); ++j) wanted[j] = readings_[j] != CellReading::skip;
    start(wanted);
  }

  Index read(View<double> out) override {
    first_ = at_;
    Index done = 0;
    while (done < out.rows()) {
      const Index count = next(out.rows() - done);
      if (count == 0) break;
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        read_column(j, count, out.data() + done * out.outerStride() + static_cast<Index>(j), out.outerStride());
      }
      done += count;
      at_ += count;
    }
    return done;
  }

  // By the types; columns of text by their first rows, which may all be dates.
  std::vector<CellsFound> look(Index rows) override {
    std::vector<CellsFound> found(columns_.size(), CellsFound::numbers);
    std::string wanted(columns_.size(), '\0');
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (kind(j) == carmina_arrow_date) found[j] = CellsFound::dates;
      if (kind(j) == carmina_arrow_truth) found[j] = CellsFound::text;
      wanted[j] = kind(j) == carmina_arrow_text;
    }
    std::vector<bool> dates(columns_.size(), true), seen(columns_.size(), false);
    each_text(wanted, rows, [&](std::size_t j, std::string_view text) {
      seen[j] = true;
      dates[j] = dates[j] && parse_date(text);
    });
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (wanted[j]) found[j] = seen[j] && dates[j] ? CellsFound::dates : CellsFound::text;
    }
    return found;
  }

  void visit(const std::vector<Index>& columns, const Seen& seen) override {
    std::string wanted(columns_.size(), '\0');
    for (const Index j : columns) wanted[static_cast<std::size_t>(j)] = 1;
    each_text(wanted, std::numeric_limits<Index>::max(), seen);
  }

  void read_as(std::vector<CellReading> readings, std::shared_ptr<const InputEncoder> encoder,
               std::vector<Index> encoder_columns) override {
    readings_ = std::move(readings);
    encoder_ = std::move(encoder);
    encoder_columns_ = std::move(encoder_columns);
    rewind();
  }

 private:
  static constexpr Index rows_together = 1 << 14;

  [[noreturn]] void fail_reading() const { fail("cannot read '{}': {}", path_, shown(error_, 200)); }
  carmina_arrow_kind kind(std::size_t j) const { return api_.kind(file_.get(), static_cast<int>(j)); }

  void start(const std::string& wanted) {
    if (api_.rewind(file_.get(), wanted.data(), error_, sizeof(error_)) != 0) fail_reading();
    first_ = at_ = 0;
  }
  Index next(Index most) {
    const Index count = api_.next(file_.get(), most, error_, sizeof(error_));
    if (count < 0) fail_reading();
    return count;
  }

  template <class F>
  void each_text(const std::string& wanted, Index most, const F& seen) {
    start(wanted);
    Index left = wanted.find('\1') == std::string::npos ? 0 : most;
    for (Index count = 1; left > 0 && count > 0; left -= count) {
      count = next(std::min(left, rows_together));
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        for (Index i = 0; wanted[j] && i < count; ++i) {
          if (const auto text = text_at(j, i)) seen(j, *text);
        }
      }
    }
    rewind();
  }

  std::optional<std::string_view> text_at(std::size_t j, Index row) const {
    std::size_t length = 0;
    const char* const text = api_.text(file_.get(), static_cast<int>(j), row, &length);
    return text ? std::optional(std::string_view(text, length)) : std::nullopt;
  }

  void read_column(std::size_t j, Index count, double* out, Index stride) {
    const auto own = kind(j);
    const bool of_text = own == carmina_arrow_text || own == carmina_arrow_truth;
    switch (readings_[j]) {
      case CellReading::skip:
        for (Index i = 0; i < count; ++i) out[i * stride] = 0;
        return;
      case CellReading::number:
        if (own != carmina_arrow_number) fail_kind(j, "numbers");
        return api_.numbers(file_.get(), static_cast<int>(j), out, stride);
      case CellReading::category:
        if (!of_text) fail_kind(j, "text");
        return read_levels(j, count, out, stride);
      case CellReading::date:
        if (own != carmina_arrow_date && own != carmina_arrow_text) fail_kind(j, "dates");
        for (Index i = 0; i < count; ++i) {
          const auto at = own == carmina_arrow_date ? instant_at(j, i) : parsed_at(j, i);
          out[i * stride] = at ? at->in(encoder_->dates()) : std::numeric_limits<double>::quiet_NaN();
        }
    }
  }

  void read_levels(std::size_t j, Index count, double* out, Index stride) const {
    std::string last;
    double level = -1;
    bool known = false;  // neighbours are often the same
    for (Index i = 0; i < count; ++i) {
      const auto text = text_at(j, i);
      if (text && !(known && *text == last)) {
        level = static_cast<double>(encoder_->level(encoder_columns_[j], *text, here(i)).value_or(-1));
        last = *text;
        known = true;
      }
      out[i * stride] = text ? level : std::numeric_limits<double>::quiet_NaN();
    }
  }

  std::optional<Instant> instant_at(std::size_t j, Index row) const {
    Instant at;
    const bool there = api_.instant(file_.get(), static_cast<int>(j), row, &at.seconds, &at.fraction) != 0;
    return there ? std::optional(at) : std::nullopt;
  }
  std::optional<Instant> parsed_at(std::size_t j, Index row) const {
    const auto text = text_at(j, row);
    if (!text) return std::nullopt;
    const auto at = parse_date(*text);
    require(at.has_value(), "{}: column '{}': expected a date such as 2024-05-31 or 2024-05-31T12:30:00, found '{}'",
            here(row), shown(columns_[j].name), shown(*text));
    return at;
  }

  std::string here(Index row) const { return place_at(at_ + row); }

  [[noreturn]] void fail_kind(std::size_t j, const char* expected) const {
    fail("{}: column '{}': expected {}, found {}", path_, shown(columns_[j].name), expected,
         api_.type(file_.get(), static_cast<int>(j)));
  }

  std::string path_;
  const carmina_arrow_api& api_;
  char error_[500] = "";
  std::unique_ptr<carmina_arrow_file, void (*)(carmina_arrow_file*)> file_;
  std::vector<Column> columns_;
  std::vector<CellReading> readings_;
  std::shared_ptr<const InputEncoder> encoder_;
  std::vector<Index> encoder_columns_;
  Index first_ = 0, at_ = 0;  // rows read before the last block, and now
};

}  // namespace

std::unique_ptr<TableReader> open_arrow(const std::string& path, bool parquet) {
  std::error_code trouble;
  require(std::filesystem::exists(path, trouble), "cannot read '{}': No such file or directory", path);
  std::string missing;
  const carmina_arrow_api* const api = functions(missing);
  require(
      api != nullptr,
      "cannot read '{}': Parquet and Arrow files take libcarmina_arrow.so, which is built where pyarrow is installed "
      "({}); Python reads them too (carmina.datasets.read, or any frame given to fit)",
      path, missing);
  return std::make_unique<ArrowTable>(path, parquet, *api);
}

}  // namespace carmina::data
