// core/communicator.cpp -- collective operations from messages between two processes.
//
// Long sums go up the row of processes in strips and down again: each process sends every number twice, whatever the
// number of processes, and strips are on their way at the same time.
#include <carmina/core/communicator.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace carmina {
namespace {

constexpr Index strip = Index{1} << 16;  // numbers of a message

enum What : std::int64_t { barrier_round, sum_round, whole_sum_round, broadcast_round, gather_round, count_round };

// What the processes learn of each other before each operation.
struct Status {
  std::int64_t first_failed = std::numeric_limits<std::int64_t>::max(), failures = 0;
  std::int64_t what = 0, count = 0, differ = 0;

  void join(const Status& other) {
    first_failed = std::min(first_failed, other.first_failed);
    failures += other.failures;
    differ |= other.differ;
    if (failures == 0 && (what != other.what || count != other.count)) differ = 1;
  }
};

}  // namespace

Communicator::Communicator(CommunicatorFunctions functions) : functions_(std::move(functions)) {
  const auto& f = functions_;
  require(f.size >= 1 && f.rank >= 0 && f.rank < f.size, "communicator: process {} of {} does not exist", f.rank,
          f.size);
  require(f.size == 1 || (f.send && f.receive), "communicator: {} processes need functions to send and to receive",
          f.size);
}

void Communicator::send(int to, const void* data, std::size_t bytes) const {
  try {
    functions_.send(to, data, bytes);
  } catch (const std::exception& error) {
    fail_together(format_text("process {} of {} cannot be reached: {}", to + 1, size(), error.what()));
  }
  ++traffic_.messages;
  traffic_.bytes += static_cast<std::int64_t>(bytes);
}

void Communicator::receive(int from, void* data, std::size_t bytes) const {
  try {
    functions_.receive(from, data, bytes);
  } catch (const std::exception& error) {
    fail_together(format_text("process {} of {} does not answer: {}", from + 1, size(), error.what()));
  }
}

// Down a binomial tree whose root is process `from`.
void Communicator::spread(void* data, std::size_t bytes, int from) const {
  const int n = size(), own = (rank() - from + n) % n;
  int bit = 1;
  for (; bit < n; bit <<= 1) {
    if (!(own & bit)) continue;
    receive((own - bit + from) % n, data, bytes);
    break;
  }
  for (bit >>= 1; bit > 0; bit >>= 1) {
    if (own + bit < n) send((own + bit + from) % n, data, bytes);
  }
}

// Up a binomial tree and down again. True: no process has failed, and all are at the same operation.
bool Communicator::status_round(std::int64_t what, std::int64_t count, const std::string* own,
                                std::string& sentence) const {
  if (size() == 1) return true;
  Status status{.what = what, .count = count};
  if (own) status.first_failed = rank(), status.failures = 1;
  for (int bit = 1; bit < size(); bit <<= 1) {
    if (rank() & bit) {
      send(rank() - bit, &status, sizeof status);
      break;
    }
    if (rank() + bit >= size()) continue;
    Status other;
    receive(rank() + bit, &other, sizeof other);
    status.join(other);
  }
  spread(&status, sizeof status, 0);
  if (status.failures == 0) {
    if (status.differ) sentence = "the processes do not do the same: give all of them the same options and version";
    return !status.differ;
  }
  const auto failed = static_cast<int>(status.first_failed);
  std::uint64_t length = own ? own->size() : 0;
  spread(&length, sizeof length, failed);
  sentence.resize(length);
  if (own && failed == rank()) sentence = *own;
  spread(sentence.data(), length, failed);
  if (status.failures < size()) sentence = format_text("process {} of {}: {}", failed + 1, size(), sentence);
  return false;
}

void Communicator::agree(std::int64_t what, std::int64_t count) const {
  std::string sentence;
  if (!status_round(what, count, nullptr, sentence)) fail_together(sentence);
}

void Communicator::fail_together(const std::string& sentence) const {
  known_ = true;
  throw Error(sentence);
}

void Communicator::tell(const std::string& sentence) const {
  if (known_) return;
  try {
    std::string heard;
    status_round(0, 0, &sentence, heard);
  } catch (const Error&) {
    // Who cannot be reached hears nothing.
  }
}

void Communicator::sum_in_order(double* total, Index count, const std::vector<const double*>& parts, bool plain) const {
  std::vector<double> own;
  if (plain && rank() > 0) own.assign(total, total + count);
  agree(plain ? whole_sum_round : sum_round, count);
  for (Index first = 0; first < count; first += strip) {
    const Index some = std::min(strip, count - first);
    const auto bytes = static_cast<std::size_t>(some) * sizeof(double);
    if (rank() > 0) receive(rank() - 1, total + first, bytes);
    Eigen::Map<Vector<double>> sum(total + first, some);
    if (!own.empty()) sum += Eigen::Map<const Vector<double>>(own.data() + first, some);
    for (const double* part : parts) sum += Eigen::Map<const Vector<double>>(part + first, some);
    if (rank() + 1 < size()) send(rank() + 1, total + first, bytes);
  }
  for (Index first = 0; first < count; first += strip) {
    const auto bytes = static_cast<std::size_t>(std::min(strip, count - first)) * sizeof(double);
    if (rank() + 1 < size()) receive(rank() + 1, total + first, bytes);
    if (rank() > 0) send(rank() - 1, total + first, bytes);
  }
}

void Communicator::sum(std::int64_t* values, Index count) const {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  std::vector<std::int64_t> other(static_cast<std::size_t>(count));
  agree(count_round, count);
  for (int bit = 1; bit < size(); bit <<= 1) {
    if (rank() & bit) {
      send(rank() - bit, values, bytes);
      break;
    }
    if (rank() + bit >= size()) continue;
    receive(rank() + bit, other.data(), bytes);
    for (Index i = 0; i < count; ++i) {  // modulo 2^64
      values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) +
                                            static_cast<std::uint64_t>(other[static_cast<std::size_t>(i)]));
    }
  }
  spread(values, bytes, 0);
}

void Communicator::broadcast(void* data, std::size_t bytes, int from) const {
  agree(broadcast_round, static_cast<std::int64_t>(bytes));
  spread(data, bytes, from);
}

std::vector<std::int64_t> Communicator::counts_of(std::int64_t mine) const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size()), 0);
  counts[static_cast<std::size_t>(rank())] = mine;
  sum(counts.data(), size());
  return counts;
}

// Around the ring: in step k a process passes on what it got in step k - 1.
void Communicator::gather_in_place(void* all, const std::vector<std::int64_t>& bytes) const {
  require(bytes.size() == static_cast<std::size_t>(size()), "communicator: {} counts for {} processes", bytes.size(),
          size());
  agree(gather_round, 0);
  std::vector<std::int64_t> first(bytes.size() + 1, 0);
  for (std::size_t k = 0; k < bytes.size(); ++k) first[k + 1] = first[k] + bytes[k];
  const int n = size(), next = (rank() + 1) % n, before = (rank() + n - 1) % n;
  const auto part = [&](int k) { return static_cast<char*>(all) + first[static_cast<std::size_t>(k)]; };
  const auto length = [&](int k) { return static_cast<std::size_t>(bytes[static_cast<std::size_t>(k)]); };
  for (int step = 0; step + 1 < n; ++step) {
    const int out = (rank() - step + n) % n, in = (rank() - step - 1 + n) % n;
    const auto pass_on = [&] {
      if (length(out) > 0) send(next, part(out), length(out));
    };
    if (rank() % 2 == 0) pass_on();
    if (length(in) > 0) receive(before, part(in), length(in));
    if (rank() % 2 == 1) pass_on();
  }
}

}  // namespace carmina
