# What makes compiling quicker: ccache where it is found, and precompiled headers.
find_program(CARMINA_CCACHE ccache)
if(CARMINA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache accepts precompiled headers only if it may ignore which macros they were compiled with, and times in them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CARMINA_CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(precompile ON)
endif()
option(CARMINA_PCH "Precompile the headers that all sources include" ${precompile})
option(CARMINA_UNITY "Compile several sources together" ON)
# g++ clears its memory after every 128 MB; a gigabyte is there on any machine that compiles templates.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")

# carmina_compile(TARGET COUNT): warnings; COUNT sources are compiled together and share what they instantiate.
# (g++ 12 takes such sources for headers, and sums of short strings for writes beyond their end. Names of one source
# shadow those of another there: sources by themselves, as in the preset `lint`, are checked for that.)
function(carmina_compile target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CARMINA_UNITY} UNITY_BUILD_BATCH_SIZE ${count})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
  # libstdc++ 12 calls its own deprecated get_temporary_buffer in stable_sort, which clang reports.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  if(NOT CARMINA_UNITY)
    target_compile_options(${target} PRIVATE -Wshadow)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-array-bounds -Wno-stringop-overflow
                                             -Wno-stringop-overread)
  endif()
endfunction()

# carmina_precompile(TARGET HEADER...): Eigen, much of the standard library and HEADERs, precompiled for TARGET.
# carmina_precompile(TARGET REUSE_FROM OTHER): those of OTHER; both must be compiled with the same options.
function(carmina_precompile target)
  if(NOT CARMINA_PCH)
    return()
  endif()
  if(ARGV1 STREQUAL REUSE_FROM)
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(
      ${target} PRIVATE <algorithm> <array> <cmath> <concepts> <cstddef> <cstdint> <cstring> <functional> <limits>
      <memory> <numbers> <numeric> <optional> <span> <string> <string_view> <tuple> <utility> <variant> <vector>
      <Eigen/Core> ${ARGN})
  endif()
  # So that ccache sees the precompiled header among what is compiled.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
