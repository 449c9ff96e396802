// data/own_segments.cpp -- rows of segments that lie across a border between processes.
#include "data/own_segments.hpp"

#include <algorithm>

namespace carmina {
namespace {

// The first `count` rows of the parts: inputs, targets, weight.
template <Real T>
std::vector<T> first_cells(const std::vector<RowSource<T>*>& parts, Index count) {
  if (count == 0) return {};
  JoinedRows<T> rows(parts, 0, count);
  rows.rewind();
  const Index d = rows.dim_in(), p = rows.dim_out(), width = d + p + 1;
  std::vector<T> cells(static_cast<std::size_t>(count * width));
  Eigen::Map<Matrix<T>> all(cells.data(), count, width);
  for (Index at = 0; at < count;) {
    const RowBlock<T> block = rows.next(std::min<Index>(count - at, 4096));
    require(block.rows > 0, "fit: the rows changed while they were read");
    all.block(at, 0, block.rows, d) = block.inputs();
    if (p > 0) all.block(at, d, block.rows, p) = block.targets();
    for (Index i = 0; i < block.rows; ++i) all(at + i, width - 1) = block.weights ? block.weights[i] : T(1);
    at += block.rows;
  }
  return cells;
}

}  // namespace

template <Real T>
std::unique_ptr<OwnSegments<T>> own_segments(const std::vector<RowSource<T>*>& parts, Index rows,
                                             const Communicator& processes) {
  const Index d = parts[0]->dim_in(), p = parts[0]->dim_out(), width = d + p + 1;
  const std::vector<std::int64_t> columns = processes.gather(std::vector<std::int64_t>{d, p});
  for (int k = 0; k < processes.size(); ++k) {
    const auto at = static_cast<std::size_t>(2 * k);
    require(columns[at] == columns[0] && columns[at + 1] == columns[1],
            "fit: the rows of process {} of {} have {} inputs and {} targets, those of the first {} and {}", k + 1,
            processes.size(), columns[at], columns[at + 1], columns[0], columns[1]);
  }
  std::vector<std::int64_t> begin = {0};  // of the rows that each process was given
  for (const std::int64_t count : processes.counts_of(rows)) begin.push_back(begin.back() + count);
  const Index total = begin.back(), segment = RowGrid::of(total, d + p).segment;
  const auto own_begin = [&](int k) {
    return std::min<Index>(total, (begin[static_cast<std::size_t>(k)] + segment - 1) / segment * segment);
  };
  const int rank = processes.rank();
  auto own = std::make_unique<OwnSegments<T>>();
  own->total = total;
  own->first = own_begin(rank);
  own->count = own_begin(rank + 1) - own->first;

  // To the owner of their segment, the last process that begins before them with a segment of its own.
  const Index given_first = begin[static_cast<std::size_t>(rank)], given_end = given_first + rows;
  const Index leading = std::min(own->first, given_end) - given_first;
  const std::vector<T> out = first_cells(parts, leading);
  processes.barrier();  // all could read theirs
  if (leading > 0) {
    int owner = rank - 1;
    while (owner > 0 && own_begin(owner) > given_first) --owner;
    processes.send(owner, out.data(), out.size() * sizeof(T));
  }
  // Of the processes behind, in their order.
  const Index wanted = own->count > 0 ? std::max<Index>(0, own->first + own->count - given_end) : 0;
  std::vector<T> in(static_cast<std::size_t>(wanted * width));
  Index got = 0;
  for (int k = rank + 1; got < wanted; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Index count = std::min<Index>(own_begin(k), begin[at + 1]) - begin[at];
    if (count > 0) processes.receive(k, in.data() + got * width, static_cast<std::size_t>(count * width) * sizeof(T));
    got += std::max<Index>(0, count);
  }
  std::vector<RowSource<T>*> sources = parts;
  if (wanted > 0) {
    own->moved = std::make_unique<MovedRows<T>>(std::move(in), d, p, given_end);
    sources.push_back(own->moved.get());
  }
  own->rows = std::make_unique<JoinedRows<T>>(std::move(sources), leading, own->count);
  return own;
}
template std::unique_ptr<OwnSegments<float>> own_segments(const std::vector<RowSource<float>*>&, Index,
                                                          const Communicator&);
template std::unique_ptr<OwnSegments<double>> own_segments(const std::vector<RowSource<double>*>&, Index,
                                                           const Communicator&);

}  // namespace carmina
