# What the library stands on. Also run by the installed CarminaConfig.cmake, so that users find the same things.
# CARMINA_MISSING lists what was not found, with Debian's name for it.
set(CARMINA_MISSING "")

find_package(Eigen3 3.4 QUIET NO_MODULE)
if(NOT TARGET Eigen3::Eigen)
  list(APPEND CARMINA_MISSING "Eigen 3.4 (libeigen3-dev)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
  list(APPEND CARMINA_MISSING "POSIX threads")
endif()

if(CARMINA_PREDICT_ALONE)  # carmina::predict stands on nothing else
  return()
endif()
find_package(ZLIB QUIET)
if(NOT TARGET ZLIB::ZLIB)
  list(APPEND CARMINA_MISSING "zlib (zlib1g-dev)")
endif()

