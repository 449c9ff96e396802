// models/fit/processes.cpp -- versions, instruction sets and memory of all processes, compared.
#include "models/fit/processes.hpp"
#include "backends/vector_math.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <string>

namespace carmina {

void agree_on(Execution& execution, const Communicator& processes) {
  std::string own = format_text("{}, {}", CARMINA_VERSION, backend::vector_instruction_set());
  own.resize(40, ' ');
  const std::vector<char> all = processes.gather(std::vector<char>(own.begin(), own.end()));
  for (int k = 0; k < processes.size(); ++k) {
    const auto word = [&](int i) { return std::string(all.begin() + 40 * i, all.begin() + 40 * i + 40); };
    const auto short_word = [&](int i) { return word(i).substr(0, word(i).find_last_not_of(' ') + 1); };
    require(word(k) == word(0),
            "fit: process {} of {} has another version of Carmina or other instructions ({}) than the first ({}), and "
            "its sums would differ; take machines of one kind",
            k + 1, processes.size(), short_word(k), short_word(0));
  }
  const auto limits = processes.gather(std::vector<double>{memory_limit(execution)});
  execution.memory_budget = static_cast<std::size_t>(*std::min_element(limits.begin(), limits.end()));
}

}  // namespace carmina
