// data/read_ahead.hpp -- rows of a file, the next block being read while the caller computes on the last one.
#pragma once
#include <carmina/data/rows.hpp>
#include <future>

namespace carmina {

// The same rows, places and errors as those of the source, an error when a block with its row is asked for. A thread of
// its own reads, converts and checks as many rows as were asked for last; so blocks should be of one size, though they
// need not.
template <Real T>
class ReadAhead final : public RowSource<T> {
 public:
  explicit ReadAhead(TableRows<T> source) : source_(std::move(source)), rows_(source_.rows()) {}
  ~ReadAhead() override { stop(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  Index dim_in() const override { return source_.dim_in(); }
  Index dim_out() const override { return source_.dim_out(); }
  std::optional<Index> rows() const override { return rows_; }
  RowBlock<T> next(Index max_rows) override;
  void rewind() override;
  std::string place(Index row) const override { return source_.place(front_, row); }
  double held_bytes(Index rows_at_once) const override;

 private:
  void start(Index rows);
  void join(Index wanted);
  void read(Index wanted);
  void stop();

  TableRows<T> source_;        // of the reading thread while there is one, else of the caller
  RowBuffer<T> front_, back_;  // the caller's, the thread's
  Index used_ = 0;             // rows of front_ that the last block has
  Index ahead_rows_ = 0;       // asked of the thread
  bool lost_ = false;          // after an error: where the source is, is not known
  std::optional<Index> rows_;
  std::stop_source stopping_;
  std::future<void> ahead_;
};

}  // namespace carmina
