# Where the compiler finds AMD's device library.  ROCm's clang knows by itself.  Debian's rocm-device-libs lacks the
# constant of gfx942's ISA version (it stops at 940): derive it from that one, in the build folder.
set(MQA_DEVICE_LIB_OPTIONS)
if(NOT CMAKE_CXX_COMPILER MATCHES "/rocm")
  find_path(MQA_DEBIAN_BITCODE oclc_isa_version_940.bc
            PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode /usr/lib/x86_64-linux-gnu/amdgcn/bitcode
            NO_DEFAULT_PATH)
  if(NOT MQA_DEBIAN_BITCODE)
    message(FATAL_ERROR "AMD's device library was not found; run scripts/setup (package rocm-device-libs)")
  endif()
  set(device_libs ${CMAKE_BINARY_DIR}/device-libs)
  if(NOT EXISTS ${device_libs}/oclc_isa_version_942.bc)
    string(REGEX MATCH "[0-9]+" clang_major ${CMAKE_CXX_COMPILER_VERSION})
    find_program(MQA_LLVM_DIS llvm-dis-${clang_major} REQUIRED)
    find_program(MQA_LLVM_AS llvm-as-${clang_major} REQUIRED)
    file(COPY ${MQA_DEBIAN_BITCODE}/ DESTINATION ${device_libs})
    execute_process(COMMAND ${MQA_LLVM_DIS} ${device_libs}/oclc_isa_version_940.bc -o - OUTPUT_VARIABLE isa
                    COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "i32 9400" "i32 9402" isa "${isa}")
    file(WRITE ${device_libs}/isa942.ll "${isa}")
    execute_process(COMMAND ${MQA_LLVM_AS} ${device_libs}/isa942.ll -o ${device_libs}/oclc_isa_version_942.bc
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set(MQA_DEVICE_LIB_OPTIONS --rocm-path=/usr --rocm-device-lib-path=${device_libs})
endif()
