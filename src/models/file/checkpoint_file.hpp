// models/file/checkpoint_file.hpp -- the states of a fit's loops in a file of the models' format, and whose they are.
#pragma once
#include "core/checkpoint.hpp"

#include <carmina/core/communicator.hpp>
#include <carmina/models/checkpoint_options.hpp>
#include <carmina/models/model_file.hpp>

#include <chrono>
#include <map>

namespace carmina {

class CheckpointFile final : public Checkpoint {
 public:
  // Reads what an earlier run has left. Error for a file that is something else, or that could not be written.
  // Of several processes the first reads and writes, and the others take what it has read.
  explicit CheckpointFile(const CheckpointOptions& options, const Communicator* processes = nullptr);

  // Something that decides on the states; Error where the file is of another fit.
  void expect(const std::string& name, const std::string& value);
  // The fit has ended well: removes the file, unless it is to be kept.
  void finish();
  // Why the file could not be written when that was last tried; else empty. The fit goes on without.
  const std::string& trouble() const { return trouble_; }

  bool holds(const std::string& loop) const override;
  std::pair<Index, Index> shape(const std::string& name) const override;
  void take(const std::string& name, double* to) override;
  bool due() const override;
  void save(const std::string& loop, const std::vector<Value>& values) override;
  void keep(const std::string& loop, const std::vector<Value>& values) override;

 private:
  using Clock = std::chrono::steady_clock;
  const Tensor& found(const std::string& name) const;

  void read();

  CheckpointOptions options_;
  bool writes_;
  ModelFile earlier_;  // what is left of the earlier run's, and the loops that have ended since
  std::map<std::string, std::string> facts_;
  Clock::time_point next_;
  std::string trouble_;
};

}  // namespace carmina
