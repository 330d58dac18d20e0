# How the tree's targets are made.
#   mqa_hip_sources(target file.hip ...)   adds HIP sources: kernels and the host code beside them
#   mqa_host(target)                       warnings and sanitizers of host code
#   mqa_test(name SOURCES ... LIBS ... [LABELS ...])  a GoogleTest program, one ctest entry
function(mqa_host target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra> ${MQA_SANITIZER_OPTIONS})
  target_link_options(${target} PUBLIC ${MQA_SANITIZER_OPTIONS})
endfunction()

function(mqa_hip_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PUBLIC mqa::hip)
  if(MQA_PLATFORM STREQUAL nvidia)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  else()
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${MQA_HIP_OPTIONS}")
endfunction()

function(mqa_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  mqa_host(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main GTest::gmock)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "unit;${arg_LABELS}")
endfunction()
