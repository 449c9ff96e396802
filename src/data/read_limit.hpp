// data/read_limit.hpp -- how much a reader may hold, whatever a file says of itself.
#pragma once
#include <cstddef>
#include <string>

namespace carmina::data {

class ReadLimit {
 public:
  // Of a memory budget in bytes; 0: of the machine's memory.
  explicit ReadLimit(std::size_t memory_budget);

  // Error, before it is allocated, where `what` of the file takes more than a reader may hold.
  void require_room(double bytes, const std::string& what, const std::string& path) const;
  double bytes() const { return bytes_; }

 private:
  double budget_, bytes_;
};

}  // namespace carmina::data
