// data/joined_rows.hpp -- rows of several sources, one after the other, as one source whose blocks are full.
#pragma once
#include <carmina/data/rows.hpp>

#include <utility>
#include <vector>

namespace carmina {

// Rows [skipped, skipped + count) of the sources together.
template <Real T>
class JoinedRows final : public RowSource<T> {
 public:
  JoinedRows(std::vector<RowSource<T>*> sources, Index skipped, Index count)
      : sources_(std::move(sources)), skipped_(skipped), count_(count) {}

  Index dim_in() const override { return sources_[0]->dim_in(); }
  Index dim_out() const override { return sources_[0]->dim_out(); }
  std::optional<Index> rows() const override { return count_; }
  std::string place(Index row) const override {
    auto origin = origins_.begin();
    while (origin + 1 != origins_.end() && (origin + 1)->first <= row) ++origin;
    return sources_[origin->source]->place(row - origin->first);
  }
  double held_bytes(Index rows_at_once) const override {
    double most = 0;
    for (const RowSource<T>* source : sources_) most = std::max(most, source->held_bytes(rows_at_once));
    return most + static_cast<double>(rows_at_once * (dim_in() + dim_out() + 1)) * sizeof(T);
  }

  void rewind() override {
    for (RowSource<T>* source : sources_) source->rewind();
    source_ = 0;
    given_ = 0;
    ended_ = false;
    for (Index passed = 0; passed < skipped_;) {
      const Index rows = draw(std::min(skipped_ - passed, Index{1} << 16)).rows;
      require(rows > 0, "fit: a part begins at row {}, there are {}", skipped_ + 1, passed);
      passed += rows;
    }
  }

  RowBlock<T> next(Index max_rows) override {
    const Index wanted = std::min(max_rows, count_ - given_);
    origins_.clear();
    if (wanted == 0) return {};
    RowBlock<T> block = draw(wanted);
    origins_.push_back({0, source_});
    if (block.rows < wanted) block = fill(block, wanted);
    block.first_row = given_;
    given_ += block.rows;
    return block;
  }

 private:
  struct Origin {
    Index first;         // row of the block
    std::size_t source;  // of whose last block it is the first
  };

  // The next rows of the source under way, or of the one after it; none at the end of all.
  RowBlock<T> draw(Index most) {
    for (;;) {
      if (ended_ && source_ + 1 == sources_.size()) return {};
      source_ += ended_ ? 1 : 0;
      const RowBlock<T> block = sources_[source_]->next(most);
      ended_ = block.rows < most;  // it is not asked again: the places of its last rows may be
      if (block.rows > 0) return block;
    }
  }

  // A block that is made of several, copied.
  RowBlock<T> fill(RowBlock<T> block, Index wanted) {
    const Index d = dim_in(), p = dim_out();
    X_.resize(wanted, d);
    Y_.resize(wanted, p);
    weights_.setOnes(wanted);
    bool weighted = false;
    Index held = 0;
    for (;;) {
      X_.middleRows(held, block.rows) = block.inputs();
      if (p > 0) Y_.middleRows(held, block.rows) = block.targets();
      if (block.weights) {
        weights_.segment(held, block.rows) = Eigen::Map<const Vector<T>>(block.weights, block.rows);
        weighted = true;
      }
      held += block.rows;
      if (held == wanted) break;
      block = draw(wanted - held);
      require(block.rows > 0, "fit: the rows changed while they were read: {} before, {} now", count_, given_ + held);
      origins_.push_back({held, source_});
    }
    return {X_.data(), p > 0 ? Y_.data() : nullptr, weighted ? weights_.data() : nullptr, wanted, d, p, d, p};
  }

  std::vector<RowSource<T>*> sources_;
  Index skipped_, count_;
  std::size_t source_ = 0;
  Index given_ = 0;
  bool ended_ = false;  // the source under way
  std::vector<Origin> origins_;
  Matrix<T> X_, Y_;
  Vector<T> weights_;
};

}  // namespace carmina
