// data/own_segments.hpp -- the rows of one process among others: those it was given, moved at the borders until each
// process has whole segments.
//
// A segment belongs to the process that has its first row. The rows of it that others have go there, once.
#pragma once
#include "data/data_rows.hpp"
#include "data/joined_rows.hpp"

#include <memory>

namespace carmina {

// Rows that came from other processes.
template <Real T>
class MovedRows final : public RowSource<T> {
 public:
  // Cells of rows: inputs, targets, weight.
  MovedRows(std::vector<T> cells, Index dim_in, Index dim_out, Index first_row)
      : cells_(std::move(cells)), dim_in_(dim_in), dim_out_(dim_out), first_row_(first_row) {
    const Index width = dim_in + dim_out + 1;
    rows_ = static_cast<Index>(cells_.size()) / width;
    const Eigen::Map<const Matrix<T>> all(cells_.data(), rows_, width);
    weights_ = all.col(width - 1);
    weighted_ = (weights_.array() != 1).any();
  }

  Index dim_in() const override { return dim_in_; }
  Index dim_out() const override { return dim_out_; }
  std::optional<Index> rows() const override { return rows_; }
  void rewind() override { at_ = last_ = 0; }
  std::string place(Index row) const override { return format_text("row {} of all", first_row_ + last_ + row + 1); }
  RowBlock<T> next(Index max_rows) override {
    const Index width = dim_in_ + dim_out_ + 1, count = std::min(max_rows, rows_ - at_);
    const T* first = cells_.data() + at_ * width;
    const RowBlock<T> block{first,
                            dim_out_ > 0 ? first + dim_in_ : nullptr,
                            weighted_ ? weights_.data() + at_ : nullptr,
                            count,
                            dim_in_,
                            dim_out_,
                            width,
                            width,
                            at_};
    last_ = at_;
    at_ += count;
    return block;
  }

 private:
  std::vector<T> cells_;
  Vector<T> weights_;
  Index dim_in_, dim_out_, first_row_, rows_ = 0, at_ = 0, last_ = 0;
  bool weighted_ = false;
};

template <Real T>
struct OwnSegments {
  Index first = 0, count = 0, total = 0;  // rows [first, first + count) of so many are here
  std::unique_ptr<MovedRows<T>> moved;
  std::unique_ptr<JoinedRows<T>> rows;
};

// All processes call it, each with its own number of rows.
template <Real T>
std::unique_ptr<OwnSegments<T>> own_segments(const std::vector<RowSource<T>*>& parts, Index rows,
                                             const Communicator& processes);

}  // namespace carmina
