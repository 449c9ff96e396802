// data/read_ahead.cpp -- two buffers change places: the caller has one, the reading thread fills the other.
#include <algorithm>
#include <carmina/data/read_ahead.hpp>

namespace carmina {

namespace {

// Forgets the first rows.
template <Real T>
void drop(RowBuffer<T>& buffer, Index count) {
  const Index left = buffer.rows - count;
  std::copy_n(buffer.X.data() + count * buffer.X.cols(), left * buffer.X.cols(), buffer.X.data());
  std::copy_n(buffer.Y.data() + count * buffer.Y.cols(), left * buffer.Y.cols(), buffer.Y.data());
  buffer.positions.erase(buffer.positions.begin(), buffer.positions.begin() + count);
  buffer.rows = left;
  buffer.first_row += count;
}

}  // namespace

template <Real T>
double ReadAhead<T>::held_bytes(Index rows_at_once) const {
  const double one = source_.held_bytes(rows_at_once);
  const double row = static_cast<double>(sizeof(T)) * static_cast<double>(dim_in() + dim_out()) + sizeof(Index);
  return one + static_cast<double>(rows_at_once) * row;  // the cells of the source, and two buffers
}

template <Real T>
void ReadAhead<T>::start(Index rows) {
  back_.rows = 0;
  ahead_rows_ = rows;
  stopping_ = {};
  ahead_ = std::async(std::launch::async,
                      [this, token = stopping_.get_token()] { source_.read(back_, ahead_rows_, token); });
}

template <Real T>
void ReadAhead<T>::stop() {
  if (!ahead_.valid()) return;
  stopping_.request_stop();
  ahead_.wait();
  ahead_ = {};
}

template <Real T>
void ReadAhead<T>::rewind() {
  stop();
  source_.rewind();
  front_.rows = front_.first_row = used_ = 0;
  lost_ = false;
}

// What the thread has read, when nothing is left in front: it is started only then. Where it failed, the rows before
// the one at fault may be all that is wanted now.
template <Real T>
void ReadAhead<T>::join(Index wanted) {
  try {
    ahead_.get();
    std::swap(front_, back_);
  } catch (...) {
    lost_ = true;
    if (ahead_rows_ == wanted) throw;
  }
}

// By the caller itself, until there are `wanted` rows in front.
template <Real T>
void ReadAhead<T>::read(Index wanted) {
  if (lost_) {
    source_.rewind();
    const Index before = front_.first_row + front_.rows;
    RowBuffer<T> skipped;
    for (Index at = 0; at < before; at += skipped.rows) {
      skipped.rows = 0;
      source_.read(skipped, std::min(before - at, Index{4096}));
      require(skipped.rows > 0, "the file changed while it was read: it ends at row {}", at);
    }
  }
  lost_ = true;
  source_.read(front_, wanted);
  lost_ = false;
}

template <Real T>
RowBlock<T> ReadAhead<T>::next(Index max_rows) {
  require(max_rows > 0, "a block must have at least one row, found {}", max_rows);
  drop(front_, used_);
  used_ = 0;
  if (ahead_.valid()) join(max_rows);
  if (front_.rows < max_rows) read(max_rows);
  rows_ = source_.rows();
  used_ = std::min(max_rows, front_.rows);
  if (used_ == front_.rows && !source_.at_end()) start(max_rows);
  return front_.block(0, used_);
}

template class ReadAhead<float>;
template class ReadAhead<double>;

}  // namespace carmina
