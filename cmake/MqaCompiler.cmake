# Chooses the compiler before project(): a clang that compiles HIP (ROCm's own first, then Debian's newest), unless the
# caller named one.  The nvidia platform compiles kernels with nvcc and host code with the same clang, for libFuzzer's
# sake; without one it makes do with the default compiler and leaves the planner out.
if(NOT CMAKE_CXX_COMPILER)
  set(candidates clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15)
  if(MQA_PLATFORM STREQUAL amd)
    find_program(MQA_CLANGXX NAMES clang++ PATHS $ENV{ROCM_PATH}/llvm/bin /opt/rocm/llvm/bin NO_DEFAULT_PATH)
  endif()
  find_program(MQA_CLANGXX NAMES ${candidates} clang++)
  if(NOT MQA_CLANGXX AND NOT MQA_PLATFORM STREQUAL nvidia)
    message(FATAL_ERROR "no clang++ from 15 on was found; run scripts/setup, or pass -DCMAKE_CXX_COMPILER=...")
  endif()
  if(MQA_CLANGXX)
    set(CMAKE_CXX_COMPILER ${MQA_CLANGXX})
    string(REPLACE "clang++" "clang" CMAKE_C_COMPILER ${MQA_CLANGXX})
  endif()
endif()
