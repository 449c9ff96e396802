// carmina/mpi.hpp -- processes that MPI has started, as a communicator. A component of its own, carmina::mpi: the
// library needs no MPI.
#pragma once
#include <carmina/core/communicator.hpp>

#include <mpi.h>

namespace carmina {

// Messages go from host memory by MPI_Send and MPI_Recv on a duplicate of `processes`, so that they meet no others.
// MPI must have been initialised; the duplicate is never freed.
Communicator mpi_communicator(MPI_Comm processes);

// Whether this process was started by mpirun, mpiexec or srun as one of several, by what they leave in its environment.
bool started_by_mpi();

}  // namespace carmina
