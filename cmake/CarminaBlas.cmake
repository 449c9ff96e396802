# carmina::blas. First choice is the OpenBLAS of the Python package scipy-openblas32: it is current and knows today's
# processors, where that of an older system takes kernels without AVX for them. Else the system's, its OpenMP build.
set(CARMINA_BLAS_PACKAGE "auto" CACHE STRING
    "Folder of the Python package scipy_openblas32; auto: in .venv or beside Python; OFF: the system's OpenBLAS")
set(blas_library libscipy_openblas.so)

if(CARMINA_INSTALLED_BLAS)  # by CarminaConfig.cmake: it lies beside the installed library
  set(packaged ${CARMINA_INSTALLED_BLAS})
elseif(CARMINA_BLAS_PACKAGE STREQUAL auto)
  file(GLOB packaged ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/scipy_openblas32/lib/${blas_library})
  if(NOT packaged AND CARMINA_PYTHON)
    find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import scipy_openblas32 as it; print(it.get_lib_dir())"
                    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(folder AND EXISTS ${folder}/${blas_library})
      set(packaged ${folder}/${blas_library})
    endif()
  endif()
elseif(CARMINA_BLAS_PACKAGE)
  file(GLOB packaged ${CARMINA_BLAS_PACKAGE}/lib/${blas_library})
endif()

if(packaged)
  list(GET packaged 0 CARMINA_PACKAGED_BLAS)
  # Its licence goes where it goes.
  set(CARMINA_BLAS_LICENSE_NAME LICENSE-OpenBLAS.txt)
  get_filename_component(folder ${CARMINA_PACKAGED_BLAS} DIRECTORY)
  file(GLOB CARMINA_BLAS_LICENSE ${folder}/${CARMINA_BLAS_LICENSE_NAME}
       ${folder}/../../scipy_openblas32-*.dist-info/licenses/LICENSE.txt)
  if(NOT TARGET carmina::blas)
    add_library(carmina::blas INTERFACE IMPORTED)
    target_link_libraries(carmina::blas INTERFACE ${CARMINA_PACKAGED_BLAS})
    get_filename_component(folder ${CARMINA_PACKAGED_BLAS} DIRECTORY)
    if(NOT CARMINA_INSTALLED_BLAS)
      target_include_directories(carmina::blas INTERFACE ${folder}/../include)
      target_compile_definitions(carmina::blas INTERFACE CARMINA_PACKAGED_BLAS)
    endif()
  endif()
  return()
endif()

# By its folder: a plain -lopenblas may pick the build with its own threads.
set(openmp_folder ${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-openmp)
find_library(CARMINA_OPENBLAS NAMES openblas PATHS /usr/lib/${openmp_folder} NO_DEFAULT_PATH)
find_path(CARMINA_OPENBLAS_INCLUDE NAMES cblas.h PATHS /usr/include/${openmp_folder} NO_DEFAULT_PATH)
find_library(CARMINA_OPENBLAS NAMES openblas)
find_path(CARMINA_OPENBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES openblas)
if(NOT CARMINA_OPENBLAS OR NOT CARMINA_OPENBLAS_INCLUDE)
  list(APPEND CARMINA_MISSING "OpenBLAS (libopenblas-openmp-dev, or the Python package scipy-openblas32)")
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

if(CARMINA_OPENBLAS AND CARMINA_OPENBLAS_INCLUDE AND CARMINA_GOMP AND NOT TARGET carmina::blas)
  add_library(carmina::blas INTERFACE IMPORTED)
  target_include_directories(carmina::blas INTERFACE ${CARMINA_OPENBLAS_INCLUDE})
  target_link_libraries(carmina::blas INTERFACE ${CARMINA_OPENBLAS} ${CARMINA_GOMP})
  # Every program that links the library looks there first, also after being installed: the name libopenblas.so.0
  # alone would lead to whichever build the system prefers.
  get_filename_component(openblas_folder ${CARMINA_OPENBLAS} DIRECTORY)
  if(NOT openblas_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    target_link_options(carmina::blas INTERFACE LINKER:-rpath,${openblas_folder})
  endif()
endif()
