// data/read_limit.cpp -- a quarter of the budget: the rows of a block, and what is made of them, need the rest.
#include "data/read_limit.hpp"

#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>

#include <unistd.h>

#include <algorithm>

namespace carmina::data {
namespace {

constexpr double share = 0.25;
constexpr double least = 4e6;  // what the program holds anyway, budget or not

double budget_of(std::size_t given) {
  if (given > 0) return static_cast<double>(given);
  return 0.8 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

ReadLimit::ReadLimit(std::size_t memory_budget)
    : budget_(budget_of(memory_budget)), bytes_(std::max(share * budget_, least)) {}

void ReadLimit::require_room(double bytes, const std::string& what, const std::string& path) const {
  require(bytes <= bytes_, "{}: {} would take {} to read, and the memory budget of {} leaves {} for that", path, what,
          format_bytes(bytes), format_bytes(budget_), format_bytes(bytes_));
}

}  // namespace carmina::data
