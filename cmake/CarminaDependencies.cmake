# What the library stands on. Also run by the installed CarminaConfig.cmake, so that users find the same things.
# CARMINA_MISSING lists what was not found, with Debian's name for it.
set(CARMINA_MISSING "")

find_package(Eigen3 3.4 QUIET NO_MODULE)
if(NOT TARGET Eigen3::Eigen)
  list(APPEND CARMINA_MISSING "Eigen 3.4 (libeigen3-dev)")
endif()
find_package(ZLIB QUIET)
if(NOT TARGET ZLIB::ZLIB)
  list(APPEND CARMINA_MISSING "zlib (zlib1g-dev)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
  list(APPEND CARMINA_MISSING "POSIX threads")
endif()

# OpenBLAS, the OpenMP build, by its folder: a plain -lopenblas may pick the build with its own threads.
set(openmp_folder ${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-openmp)
find_library(CARMINA_OPENBLAS NAMES openblas PATHS /usr/lib/${openmp_folder} NO_DEFAULT_PATH)
find_path(CARMINA_OPENBLAS_INCLUDE NAMES cblas.h PATHS /usr/include/${openmp_folder} NO_DEFAULT_PATH)
find_library(CARMINA_OPENBLAS NAMES openblas)
find_path(CARMINA_OPENBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES openblas)
if(NOT CARMINA_OPENBLAS OR NOT CARMINA_OPENBLAS_INCLUDE)
  list(APPEND CARMINA_MISSING "OpenBLAS (libopenblas-openmp-dev)")
endif()

# The OpenMP runtime that OpenBLAS was built with. Only its thread-count setting is called, so clang links it too
# instead of bringing a second runtime into the process.
if(NOT CARMINA_GOMP)
  execute_process(COMMAND gcc -print-file-name=libgomp.so OUTPUT_VARIABLE gomp OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  if(IS_ABSOLUTE "${gomp}")
    set(CARMINA_GOMP ${gomp} CACHE FILEPATH "The OpenMP runtime of OpenBLAS")
  else()
    list(APPEND CARMINA_MISSING "libgomp (g++)")
  endif()
endif()

find_library(CARMINA_SLEEF NAMES sleef)
find_path(CARMINA_SLEEF_INCLUDE NAMES sleef.h)
if(NOT CARMINA_SLEEF OR NOT CARMINA_SLEEF_INCLUDE)
  list(APPEND CARMINA_MISSING "SLEEF (libsleef-dev)")
endif()

if(NOT CARMINA_MISSING AND NOT TARGET carmina::blas)
  add_library(carmina::blas INTERFACE IMPORTED)
  target_include_directories(carmina::blas INTERFACE ${CARMINA_OPENBLAS_INCLUDE})
  target_link_libraries(carmina::blas INTERFACE ${CARMINA_OPENBLAS} ${CARMINA_GOMP})
  # Every program that links the library looks there first, also after being installed: the name libopenblas.so.0
  # alone would lead to whichever build the system prefers.
  get_filename_component(openblas_folder ${CARMINA_OPENBLAS} DIRECTORY)
  if(NOT openblas_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    target_link_options(carmina::blas INTERFACE LINKER:-rpath,${openblas_folder})
  endif()
  add_library(carmina::sleef INTERFACE IMPORTED)
  target_include_directories(carmina::sleef INTERFACE ${CARMINA_SLEEF_INCLUDE})
  target_link_libraries(carmina::sleef INTERFACE ${CARMINA_SLEEF})
endif()
