# add_chapter(NN_name): everything that chapters/NN_name, exercises/NN_name and solutions/NN_name hold.
#
#   chapters/NN_name/test.cu          -> NN_name_test         ctest label "chapter"
#   chapters/NN_name/benchmark.cu     -> NN_name_benchmark
#   chapters/NN_name/NAME_example.cu  -> NN_name_NAME_example ctest label "example"
#   exercises/NN_name/K_task_test.cu  is compiled three times, against three versions of <K_task.cuh>:
#     solutions/NN_name               -> NN_K_solution        label "solution": must pass
#     the stub derived from it        -> NN_K_stub            label "stub": must fail as its kind says
#     exercises/NN_name               -> NN_K_exercise        label "exercise": the reader's; not in the default test preset
#   exercises/NN_name/K_task_benchmark.cu, where the task is a whole kernel
#                                     -> NN_K_solution_benchmark, NN_K_exercise_benchmark
#   chapters/NN_name/stages.cu        -> NN_name_stages       in the program learn: the rungs of ./learn tour; and in
#                                                             libcourse_kernels.so
# Every kernel file of these, but for the reader's own, is also read as CUDA by clang: NN_name_legal.
#
# The test says #include <K_task.cuh> with angle brackets, so the include path alone decides whose code it tests.

# lnh_test(target LABEL label [LONG] SOURCES … [INCLUDES …]): a doctest program and its ctest entry.
# LONG: the program has a TEST_SUITE("long"), which gets an entry of its own with the label "long".
function(lnh_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LONG" "LABEL" "SOURCES;INCLUDES")
  add_executable(${target} ${arg_SOURCES})
  lnh_kernel_sources(${target})
  target_include_directories(${target} PRIVATE ${arg_INCLUDES})
  target_link_libraries(${target} PRIVATE lnh_kernels testing doctest_main)
  set(quick_only "")
  if(arg_LONG)
    set(quick_only --test-suite-exclude=long)
    add_test(NAME ${target}_long COMMAND ${target} --test-suite=long)
    set_tests_properties(${target}_long PROPERTIES LABELS long SKIP_RETURN_CODE 77)
  endif()
  add_test(NAME ${target} COMMAND ${target} ${quick_only})
  set_tests_properties(${target} PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 77)
endfunction()

function(lnh_benchmark target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES")
  add_executable(${target} ${arg_SOURCES})
  lnh_kernel_sources(${target})
  target_include_directories(${target} PRIVATE ${arg_INCLUDES})
  target_link_libraries(${target} PRIVATE lnh_kernels benchmarking)
  # On the executor a benchmark counts and verifies: a finding or a wrong result fails it. On a GPU it would take minutes.
  if(LNH_BACKEND STREQUAL "simt" AND NOT target MATCHES "_exercise_")
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES LABELS benchmark)
  endif()
endfunction()

# lnh_example(target SOURCES … [INCLUDES …]): a program that shows something, and its ctest entry: it runs once.
function(lnh_example target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES")
  add_executable(${target} ${arg_SOURCES})
  lnh_kernel_sources(${target})
  target_include_directories(${target} PRIVATE ${arg_INCLUDES})
  target_link_libraries(${target} PRIVATE lnh_kernels testing example_main)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS example SKIP_RETURN_CODE 77)
endfunction()

include(LegalCuda)

# All references' tests: what ./learn mutants puts its variants into.
add_custom_target(solutions)

function(add_chapter name)
  string(SUBSTRING ${name} 0 2 number)
  set(chapter ${PROJECT_SOURCE_DIR}/chapters/${name})
  set(exercises ${PROJECT_SOURCE_DIR}/exercises/${name})
  set(solutions ${PROJECT_SOURCE_DIR}/solutions/${name})
  set(stubs ${PROJECT_BINARY_DIR}/stubs/${name})

  file(STRINGS ${chapter}/test.cu has_long REGEX "TEST_SUITE\\(\"long\"\\)")
  set(long "")
  if(has_long)
    set(long LONG)
  endif()
  lnh_test(${name}_test LABEL chapter ${long} SOURCES ${chapter}/test.cu INCLUDES ${chapter})
  set_tests_properties(${name}_test PROPERTIES COST 1)  # first: the longest programs, and the last chapter's above all
  if(EXISTS ${chapter}/benchmark.cu)
    lnh_benchmark(${name}_benchmark SOURCES ${chapter}/benchmark.cu INCLUDES ${chapter})
  endif()
  file(GLOB examples CONFIGURE_DEPENDS ${chapter}/*_example.cu)
  foreach(example IN LISTS examples)
    get_filename_component(example_name ${example} NAME_WE)
    lnh_example(${name}_${example_name} SOURCES ${example} INCLUDES ${chapter})
  endforeach()

  if(EXISTS ${chapter}/stages.cu)
    add_library(${name}_stages OBJECT ${chapter}/stages.cu)
    lnh_kernel_sources(${name}_stages)
    target_link_libraries(${name}_stages PRIVATE lnh_kernels learn_stage)
    target_sources(stages INTERFACE $<TARGET_OBJECTS:${name}_stages>)
  endif()
  file(GLOB kernels CONFIGURE_DEPENDS ${chapter}/*.cuh)

  file(GLOB tests CONFIGURE_DEPENDS ${exercises}/*_test.cu)
  foreach(test IN LISTS tests)
    string(REGEX REPLACE ".*/(([0-9]+)_.*)_test\\.cu$" "\\1;\\2" task_and_number ${test})
    list(GET task_and_number 0 task)
    list(GET task_and_number 1 k)
    set(id ${number}_${k})

    lnh_test(${id}_solution LABEL solution SOURCES ${test} INCLUDES ${solutions} ${chapter})
    target_compile_definitions(${id}_solution PRIVATE LNH_SUBJECT="REFERENCE")
    add_dependencies(solutions ${id}_solution)

    # The reader's own file: outside the default build, so that whatever it holds never breaks the course.
    lnh_test(${id}_exercise LABEL exercise SOURCES ${test} INCLUDES ${exercises} ${chapter})
    target_compile_definitions(${id}_exercise PRIVATE LNH_SUBJECT="YOUR CODE")
    # A function without its return runs on into anything, and is then taken for a loop or a wild pointer.
    target_compile_options(${id}_exercise PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror=return-type>)
    set_target_properties(${id}_exercise PROPERTIES EXCLUDE_FROM_ALL ON)

    # The pristine stub, derived from the solution into the build folder; a test of the judge itself.
    add_custom_command(OUTPUT ${stubs}/${task}.cuh
      COMMAND sync_stub ${solutions}/${task}.cuh ${stubs}/${task}.cuh
      DEPENDS sync_stub ${solutions}/${task}.cuh
      COMMENT "Deriving the stub of exercise ${number}.${k}" VERBATIM)
    list(APPEND kernels ${solutions}/${task}.cuh ${stubs}/${task}.cuh)
    add_executable(${id}_stub ${test} ${stubs}/${task}.cuh)
    lnh_kernel_sources(${id}_stub)
    target_include_directories(${id}_stub PRIVATE ${stubs} ${chapter})
    target_compile_definitions(${id}_stub PRIVATE LNH_SUBJECT="STUB")
    target_compile_options(${id}_stub PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
    target_link_libraries(${id}_stub PRIVATE lnh_kernels testing doctest_main)
    add_test(NAME ${id}_stub COMMAND ${CMAKE_COMMAND}
      -D PROGRAM=$<TARGET_FILE:${id}_stub> -D STUB=${stubs}/${task}.cuh
      -P ${PROJECT_SOURCE_DIR}/common/cmake/stub_fails.cmake)
    set_tests_properties(${id}_stub PROPERTIES LABELS stub TIMEOUT 180 SKIP_REGULAR_EXPRESSION "skipped: ")

    if(EXISTS ${exercises}/${task}_benchmark.cu)
      lnh_benchmark(${id}_solution_benchmark SOURCES ${exercises}/${task}_benchmark.cu INCLUDES ${solutions} ${chapter})
      target_compile_definitions(${id}_solution_benchmark PRIVATE LNH_SUBJECT="REFERENCE")
      lnh_benchmark(${id}_exercise_benchmark SOURCES ${exercises}/${task}_benchmark.cu INCLUDES ${exercises} ${chapter})
      target_compile_definitions(${id}_exercise_benchmark PRIVATE LNH_SUBJECT="YOUR CODE")
      set_target_properties(${id}_exercise_benchmark PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
  lnh_legal_cuda(${name}_legal ${kernels})
endfunction()
