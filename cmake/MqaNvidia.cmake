# The nvidia platform: kernels by nvcc for sm_90a, host code by clang.  Programs are built on one machine
# and carried, as bin/ and lib/, to another that has the driver and little else: whatever Debian offers as an archive is
# linked in.
#   MQA_HIP_OPTIONS     compile options of a .hip source
#   mqa::hip            gets our HIP header over the CUDA runtime
find_program(CMAKE_CUDA_COMPILER nvcc PATHS /usr/local/cuda/bin REQUIRED)
set(CMAKE_CUDA_ARCHITECTURES OFF)  # named below instead: wgmma and setmaxnreg need the a of sm_90a
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 does not know that nvcc has C++20 from CUDA 12 on.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(MQA_HIP_OPTIONS -O3 --expt-relaxed-constexpr --generate-code=arch=compute_90a,code=sm_90a
                    -Xcompiler=-Wall,-Wextra)
target_include_directories(mqa_hip SYSTEM INTERFACE ${CMAKE_SOURCE_DIR}/kernels/hip/nvidia)
target_compile_definitions(mqa_hip INTERFACE MQA_PLATFORM_NVIDIA=1)
target_link_libraries(mqa_hip INTERFACE CUDA::cudart_static)

add_link_options(-static-libgcc $<$<LINK_LANGUAGE:CXX>:-static-libstdc++>)
# Debian has no archive of fmt, but fmt also works from its headers alone: the same target name, without a library.
find_path(MQA_FMT_INCLUDE fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
target_include_directories(fmt::fmt INTERFACE ${MQA_FMT_INCLUDE})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
# Debian's archive of SQLite is not position-independent: programs take it, libmqa.so takes the shared library.
find_library(MQA_SQLITE_ARCHIVE libsqlite3.a REQUIRED)
find_library(MQA_SQLITE_SHARED libsqlite3.so REQUIRED)
add_library(SQLite::SQLite3 INTERFACE IMPORTED GLOBAL)
set(for_shared $<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>)
target_link_libraries(SQLite::SQLite3 INTERFACE $<IF:${for_shared},${MQA_SQLITE_SHARED},${MQA_SQLITE_ARCHIVE}>)
# Google Benchmark and libmqa.so's SQLite are shared libraries: copies under their sonames travel along in lib/.
find_package(benchmark REQUIRED)
file(MAKE_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
get_target_property(benchmark_file benchmark::benchmark LOCATION)
foreach(library IN ITEMS ${benchmark_file} ${MQA_SQLITE_SHARED})
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic_section ERROR_QUIET)
  if(dynamic_section MATCHES "soname: \\[([^]]+)\\]")  # an archive has none and needs no copy
    file(COPY_FILE ${library} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${CMAKE_MATCH_1} ONLY_IF_DIFFERENT)
  endif()
endforeach()
list(APPEND CMAKE_BUILD_RPATH $ORIGIN/../lib)
