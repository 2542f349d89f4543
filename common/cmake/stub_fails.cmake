# cmake -D PROGRAM=… -D STUB=… -P stub_fails.cmake: runs the test of an exercise on its pristine stub and
# passes if it fails as the stub's kind says.
#   write  (the stub has a TODO)  by an assertion that says "not written yet"
#   mend   (it has none)          it works on the surface: some test cases pass; what fails names a finding
# Neither may crash, hang or throw. Says "skipped: …" where this machine cannot tell.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)

if(result EQUAL 77)
  message(STATUS "skipped: ${output}")
  return()
endif()
if(output MATCHES "checks values alone")
  message(STATUS "skipped: this stub is found by the requests that the simt backend counts; a GPU program cannot count its own")
  return()
endif()
if(NOT result EQUAL 1)
  message(FATAL_ERROR "The stub should fail by an assertion (exit code 1), but its test ended with '${result}':\n${output}")
endif()
if(output MATCHES "CRASHED|threw exception|SIG[A-Z]+")
  message(FATAL_ERROR "The stub should fail by an assertion, not by a crash or an exception:\n${output}")
endif()

file(READ ${STUB} stub)
if(stub MATCHES "// TODO: ")
  if(NOT output MATCHES "not written yet")
    message(FATAL_ERROR "The stub of a write exercise should fail with the words 'not written yet':\n${output}")
  endif()
else()
  if(output MATCHES "not written yet" OR NOT output MATCHES "test cases: [^\n]*\\| +[1-9][0-9]* passed")
    message(FATAL_ERROR "The stub of a mend exercise should work on the surface, so that some test cases pass:\n${output}")
  endif()
endif()
message(STATUS "The stub fails as it should.")
