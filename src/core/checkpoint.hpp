// core/checkpoint.hpp -- loops whose state outlives the process: what one must know between two steps, by name.
//
// A loop says once what its state is. Whoever keeps states (models/file/checkpoint_file.hpp) decides when they are
// written, and gives back those that an earlier run of the same computation has left.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>

#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace carmina {

// Where states are kept. Names of values are those of their loop and their own: "cg/X".
class Checkpoint {
 public:
  struct Value {
    std::string name;
    Index rows = 0, columns = 0;
    const double* numbers = nullptr;
  };
  virtual ~Checkpoint() = default;

  // Of an earlier run: whether it has left a state of the loop; a value's shape, Error where it is not there; its
  // numbers, which are there once.
  virtual bool holds(const std::string& loop) const = 0;
  virtual std::pair<Index, Index> shape(const std::string& name) const = 0;
  virtual void take(const std::string& name, double* to) = 0;

  // Whether it is time to write; the state of a loop under way; that of one that has ended, which is written with those
  // of the loops after it, so that it is not run again.
  virtual bool due() const = 0;
  virtual void save(const std::string& loop, const std::vector<Value>& values) = 0;
  virtual void keep(const std::string& loop, const std::vector<Value>& values) = 0;
};

// A loop's values as it names them: to be saved, or taken from where they were. A value that has a size keeps it.
class LoopState {
 public:
  LoopState(Checkpoint* from, std::string loop) : from_(from), loop_(std::move(loop)) {}

  template <class D>
  void operator()(const std::string& name, Eigen::PlainObjectBase<D>& value) {
    if (from_) {
      const auto [rows, columns] = from_->shape(full(name));
      require(value.size() == 0 || (value.rows() == rows && value.cols() == columns),
              "the checkpoint's '{}' is {} x {}, expected {} x {}", full(name), rows, columns, value.rows(),
              value.cols());
      value.resize(rows, columns);
      from_->take(full(name), value.data());
    } else {
      values_.push_back({full(name), value.rows(), value.cols(), value.data()});
    }
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  void operator()(const std::string& name, N& value) {
    double number = static_cast<double>(value);
    of_numbers(name, 1, &number);
    if (!from_) return;
    if constexpr (std::is_integral_v<N>) {
      require(number >= 0 && number < 9e15 && number == std::floor(number), "the checkpoint's '{}' is {}, no count",
              full(name), number);
    }
    value = static_cast<N>(number);
  }
  void operator()(const std::string& name, std::vector<double>& values) {
    if (from_) values.resize(static_cast<std::size_t>(from_->shape(full(name)).first));
    of_numbers(name, static_cast<Index>(values.size()), values.data());
  }

  const std::vector<Checkpoint::Value>& values() const { return values_; }

 private:
  std::string full(const std::string& name) const { return loop_ + "/" + name; }
  // Saved, they are copied: a number may be a temporary.
  void of_numbers(const std::string& name, Index count, double* numbers) {
    if (from_) {
      require(from_->shape(full(name)) == std::pair<Index, Index>(count, 1), "the checkpoint's '{}' is no number",
              full(name));
      from_->take(full(name), numbers);
    } else {
      copies_.emplace_back(numbers, numbers + count);
      values_.push_back({full(name), count, 1, copies_.back().data()});
    }
  }

  Checkpoint* from_;  // none: values are to be saved
  std::string loop_;
  std::vector<Checkpoint::Value> values_;
  std::deque<std::vector<double>> copies_;
};

// A loop and where its state is kept; nowhere: it runs as it would alone.
struct SavedLoop {
  Checkpoint* in = nullptr;
  std::string name = {};
};

// while (!loop.ended() && ...) { loop.step(); ... }  loop.end();
class Resumable {
 public:
  using Fields = std::function<void(LoopState& state)>;

  // Takes what an earlier run has left.
  Resumable(const SavedLoop& loop, Fields fields) : loop_(loop), fields_(std::move(fields)) {
    if (!loop_.in || !loop_.in->holds(loop_.name)) return;
    resumed_ = true;
    visit(loop_.in);
  }
  bool resumed() const { return resumed_; }
  bool ended() const { return ended_; }

  // Between two steps, when all values are those of the same moment.
  void step() {
    if (loop_.in && loop_.in->due()) loop_.in->save(loop_.name, visit(nullptr).values());
  }
  void end() {
    ended_ = true;
    if (loop_.in) loop_.in->keep(loop_.name, visit(nullptr).values());
  }

 private:
  LoopState visit(Checkpoint* from) {
    LoopState state(from, loop_.name);
    state("ended", ended_);
    fields_(state);
    return state;
  }

  SavedLoop loop_;
  Fields fields_;
  bool resumed_ = false, ended_ = false;
};

}  // namespace carmina
