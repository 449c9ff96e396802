// mpi/mpi.cpp -- bytes between two processes of an MPI communicator.
#include <carmina/core/error.hpp>
#include <carmina/mpi.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace carmina {
namespace {

constexpr std::size_t longest_message = std::size_t{1} << 30;  // counts of MPI are ints
constexpr int tag = 18;

void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace

Communicator mpi_communicator(MPI_Comm processes) {
  MPI_Comm own = MPI_COMM_NULL;
  check(MPI_Comm_dup(processes, &own));
  CommunicatorFunctions functions;
  check(MPI_Comm_rank(own, &functions.rank));
  check(MPI_Comm_size(own, &functions.size));
  functions.send = [own](int to, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    for (std::size_t done = 0; done < bytes; done += longest_message) {
      const auto some = static_cast<int>(std::min(longest_message, bytes - done));
      check(MPI_Send(from + done, some, MPI_BYTE, to, tag, own));
    }
  };
  functions.receive = [own](int from, void* data, std::size_t bytes) {
    auto* to = static_cast<char*>(data);
    for (std::size_t done = 0; done < bytes; done += longest_message) {
      const auto some = static_cast<int>(std::min(longest_message, bytes - done));
      check(MPI_Recv(to + done, some, MPI_BYTE, from, tag, own, MPI_STATUS_IGNORE));
    }
  };
  return Communicator(std::move(functions));
}

bool started_by_mpi() {
  // Open MPI; MPICH and Intel MPI; any by PMIx.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace carmina
