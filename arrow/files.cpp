// arrow/files.cpp -- Parquet and Arrow IPC files by Arrow C++, a record batch at a time.
#include "data/arrow_files.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// The value, or an exception with Arrow's sentence, on one line.
void require(const arrow::Status& status) {
  if (status.ok()) return;
  std::string text = status.message();
  std::replace(text.begin(), text.end(), '\n', ' ');
  throw std::runtime_error(text);
}
template <class T>
T value(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

carmina_arrow_kind kind_of(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::NA:
      return carmina_arrow_number;
    case arrow::Type::BOOL:
      return carmina_arrow_truth;
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
      return carmina_arrow_text;
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIMESTAMP:
      return carmina_arrow_date;
    case arrow::Type::DICTIONARY: {
      const auto values = kind_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
      return values == carmina_arrow_text ? values : carmina_arrow_other;
    }
    default:
      return carmina_arrow_other;
  }
}

template <class A>
void copy_numbers(const arrow::Array& array, double* out, int64_t stride) {
  const auto& own = static_cast<const A&>(array);
  const auto* const values = own.raw_values();
  if (own.null_count() == 0) {
    for (int64_t i = 0; i < own.length(); ++i) out[i * stride] = static_cast<double>(values[i]);
    return;
  }
  for (int64_t i = 0; i < own.length(); ++i) {
    out[i * stride] = own.IsValid(i) ? static_cast<double>(values[i]) : std::numeric_limits<double>::quiet_NaN();
  }
}
void copy_numbers(const arrow::Array& array, double* out, int64_t stride) {
  switch (array.type_id()) {
    case arrow::Type::INT8:
      return copy_numbers<arrow::Int8Array>(array, out, stride);
    case arrow::Type::INT16:
      return copy_numbers<arrow::Int16Array>(array, out, stride);
    case arrow::Type::INT32:
      return copy_numbers<arrow::Int32Array>(array, out, stride);
    case arrow::Type::INT64:
      return copy_numbers<arrow::Int64Array>(array, out, stride);
    case arrow::Type::UINT8:
      return copy_numbers<arrow::UInt8Array>(array, out, stride);
    case arrow::Type::UINT16:
      return copy_numbers<arrow::UInt16Array>(array, out, stride);
    case arrow::Type::UINT32:
      return copy_numbers<arrow::UInt32Array>(array, out, stride);
    case arrow::Type::UINT64:
      return copy_numbers<arrow::UInt64Array>(array, out, stride);
    case arrow::Type::FLOAT:
      return copy_numbers<arrow::FloatArray>(array, out, stride);
    case arrow::Type::DOUBLE:
      return copy_numbers<arrow::DoubleArray>(array, out, stride);
    default:
      for (int64_t i = 0; i < array.length(); ++i) out[i * stride] = std::numeric_limits<double>::quiet_NaN();
  }
}

// Of a cell that is there.
std::string_view text_of(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(row);
    default: {
      const auto& own = static_cast<const arrow::DictionaryArray&>(array);
      return text_of(*own.dictionary(), own.GetValueIndex(row));
    }
  }
}

// Ticks since 1970 and how many make a second; days have less than one.
struct Ticks {
  int64_t count, per_second;
};
Ticks ticks_of(const arrow::Array& array, int64_t row) {
  constexpr int64_t day = 86400;
  switch (array.type_id()) {
    case arrow::Type::DATE32:
      return {day * static_cast<const arrow::Date32Array&>(array).Value(row), 1};
    case arrow::Type::DATE64:
      return {static_cast<const arrow::Date64Array&>(array).Value(row), 1000};
    default: {
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      const int64_t per_second = unit == arrow::TimeUnit::SECOND  ? 1
                                 : unit == arrow::TimeUnit::MILLI ? 1000
                                 : unit == arrow::TimeUnit::MICRO ? 1000000
                                                                  : 1000000000;
      return {static_cast<const arrow::TimestampArray&>(array).Value(row), per_second};
    }
  }
}

// The batches of a file, again and again; null at the end.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::shared_ptr<arrow::Schema> schema() = 0;
  virtual int64_t rows() = 0;
  // Of these columns, in their order.
  virtual std::function<Batch()> begin(const std::vector<int>& columns) = 0;
};

std::function<Batch()> chosen(std::function<Batch()> all, const std::vector<int>& columns) {
  return [all = std::move(all), columns]() -> Batch {
    const Batch batch = all();
    return batch ? value(batch->SelectColumns(columns)) : nullptr;
  };
}

class ParquetBatches final : public Batches {
 public:
  explicit ParquetBatches(const std::string& path) {
    // Pages are read as they are needed: what is read ahead of them would be the whole file.
    parquet::ReaderProperties pages(arrow::default_memory_pool());
    pages.enable_buffered_stream();
    pages.set_buffer_size(1 << 18);  // of a column
    parquet::ArrowReaderProperties batches(/*use_threads=*/false);
    batches.set_pre_buffer(false);
    batches.set_batch_size(1 << 14);
    parquet::arrow::FileReaderBuilder builder;
    require(builder.Open(value(arrow::io::ReadableFile::Open(path)), pages));
    require(builder.properties(batches)->Build(&reader_));
  }
  std::shared_ptr<arrow::Schema> schema() override {
    std::shared_ptr<arrow::Schema> found;
    require(reader_->GetSchema(&found));
    return found;
  }
  int64_t rows() override { return reader_->parquet_reader()->metadata()->num_rows(); }
  std::function<Batch()> begin(const std::vector<int>& columns) override {
    std::vector<int> groups(static_cast<std::size_t>(reader_->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    // Columns of a Parquet file are leaves: where there are nested ones, all are read.
    const bool flat = reader_->parquet_reader()->metadata()->num_columns() == schema()->num_fields();
    if (flat) return next_of(value(reader_->GetRecordBatchReader(groups, columns)));
    return chosen(next_of(value(reader_->GetRecordBatchReader(groups))), columns);
  }

 private:
  static std::function<Batch()> next_of(std::shared_ptr<arrow::RecordBatchReader> reader) {
    return [reader] {
      Batch batch;
      require(reader->ReadNext(&batch));
      return batch;
    };
  }
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

class IpcBatches final : public Batches {
 public:
  explicit IpcBatches(const std::string& path)
      : reader_(value(arrow::ipc::RecordBatchFileReader::Open(value(arrow::io::ReadableFile::Open(path))))) {}
  std::shared_ptr<arrow::Schema> schema() override { return reader_->schema(); }
  int64_t rows() override { return value(reader_->CountRows()); }
  std::function<Batch()> begin(const std::vector<int>& columns) override {
    const auto all = [this, at = 0]() mutable -> Batch {
      return at < reader_->num_record_batches() ? value(reader_->ReadRecordBatch(at++)) : nullptr;
    };
    return chosen(all, columns);
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
};

}  // namespace

struct carmina_arrow_file {
  std::unique_ptr<Batches> batches;
  std::vector<std::string> names, types;
  std::vector<carmina_arrow_kind> kinds;
  int64_t count = 0;

  std::function<Batch()> following;
  Batch batch;                                       // under way
  int64_t at = 0, end = 0;                           // the rows of it that are at hand
  std::vector<std::shared_ptr<arrow::Array>> cells;  // of them, by column; null where a column is not read

  carmina_arrow_file(const std::string& path, bool parquet) {
    if (parquet) {
      batches = std::make_unique<ParquetBatches>(path);
    } else {
      batches = std::make_unique<IpcBatches>(path);
    }
    count = batches->rows();
    const std::shared_ptr<arrow::Schema> schema = batches->schema();
    for (const auto& field : schema->fields()) {
      names.push_back(field->name());
      types.push_back(field->type()->ToString());
      kinds.push_back(kind_of(*field->type()));
    }
    cells.resize(names.size());
    rewind(std::string(names.size(), 1).c_str());
  }

  void rewind(const char* wanted) {
    columns_.clear();
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (wanted[j]) columns_.push_back(static_cast<int>(j));
    }
    following = batches->begin(columns_);
    batch = nullptr;
    at = end = 0;
  }

  int64_t next(int64_t most) {
    at = end;
    while (!batch || at == batch->num_rows()) {
      at = 0;
      batch = following();
      if (!batch) return at = end = 0;
    }
    end = std::min(at + most, batch->num_rows());
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      cells[static_cast<std::size_t>(columns_[k])] = batch->column(static_cast<int>(k))->Slice(at, end - at);
    }
    return end - at;
  }

 private:
  std::vector<int> columns_;
};

namespace {

// body(), or what failed() gives; what went wrong as a line.
template <class Body, class Result>
Result guarded(char* error, size_t size, Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& wrong) {
    std::snprintf(error, size, "%s", wrong.what());
  } catch (...) {
    std::snprintf(error, size, "unknown trouble in Arrow");
  }
  return failed;
}

const carmina_arrow_api api = {
    [](const char* path, int parquet, char* error, size_t size) {
      return guarded(error, size, static_cast<carmina_arrow_file*>(nullptr),
                     [&] { return new carmina_arrow_file(path, parquet != 0); });
    },
    [](carmina_arrow_file* file) { delete file; },
    [](const carmina_arrow_file* file) { return file->count; },
    [](const carmina_arrow_file* file) { return static_cast<int>(file->names.size()); },
    [](const carmina_arrow_file* file, int j) { return file->names[static_cast<std::size_t>(j)].c_str(); },
    [](const carmina_arrow_file* file, int j) { return file->types[static_cast<std::size_t>(j)].c_str(); },
    [](const carmina_arrow_file* file, int j) { return file->kinds[static_cast<std::size_t>(j)]; },
    [](carmina_arrow_file* file, const char* wanted, char* error, size_t size) {
      return guarded(error, size, -1, [&] {
        file->rewind(wanted);
        return 0;
      });
    },
    [](carmina_arrow_file* file, int64_t most, char* error, size_t size) {
      return guarded(error, size, int64_t{-1}, [&] { return file->next(most); });
    },
    [](const carmina_arrow_file* file, int j, double* out, int64_t stride) {
      const arrow::Array& array = *file->cells[static_cast<std::size_t>(j)];
      copy_numbers(array, out, stride);
    },
    [](const carmina_arrow_file* file, int j, int64_t row, size_t* length) -> const char* {
      const arrow::Array& array = *file->cells[static_cast<std::size_t>(j)];
      if (array.IsNull(row)) return nullptr;
      const std::string_view text = text_of(array, row);
      *length = text.size();
      return text.data() ? text.data() : "";
    },
    [](const carmina_arrow_file* file, int j, int64_t row, int64_t* seconds, double* fraction) {
      const arrow::Array& array = *file->cells[static_cast<std::size_t>(j)];
      if (array.IsNull(row)) return 0;
      const Ticks ticks = ticks_of(array, row);
      const int64_t rest = (ticks.count % ticks.per_second + ticks.per_second) % ticks.per_second;
      *seconds = (ticks.count - rest) / ticks.per_second;
      *fraction = static_cast<double>(rest) / static_cast<double>(ticks.per_second);
      return 1;
    },
};

}  // namespace

extern "C" const carmina_arrow_api* carmina_arrow(int version) {
  return version == CARMINA_ARROW_VERSION ? &api : nullptr;
}
