// core/processors.hpp -- how many threads this process may run at once.
#pragma once
#include <filesystem>

namespace carmina {

// How many processors' time a container's quota leaves this process, in all the control groups it is in; infinity
// where there is none. Files are read under `root`.
double processor_quota(const std::filesystem::path& root = "/");

// Processors in the affinity mask, of these no more than the quota leaves (rounded up). Where this process is one of
// several workers, no more than its share: OMP_NUM_THREADS is how joblib and Dask say so, PYTEST_XDIST_WORKER_COUNT
// how pytest-xdist does. No result depends on it. Found when first asked.
int usable_processors();

}  // namespace carmina
