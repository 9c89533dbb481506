# SPDX-License-Identifier: Apache-2.0
# One static library per room, one test program per room, and, where asked for, a twin of both
# that is built with sanitizers, so that one `ctest` covers the shipped and the checked build.
#
#   mainspring_room(NAME DEPS rooms... PUBLIC_LIBS targets... LIBS targets...)
#     src/mainspring/NAME/**/*.cc       -> mainspring_NAME  (header-only room: an interface library)
#     src/mainspring/NAME/**/*_test.cc  -> NAME_test        (each TEST is a ctest entry)
#     with twins                        -> mainspring_NAME_sanitized, NAME_sanitized_test
#   mainspring_program(NAME ROOM room)
#     src/mainspring/ROOM/main.cc       -> NAME, and NAME_sanitized with twins
#
# Conventions that tests rely on:
#   working directory      the repository root
#   MAINSPRING_BIN         the program of this build; ${MAINSPRING_BIN}_sanitized is its twin
#   MAINSPRING_LONG        set by `make test-long`: do everything, not a sample

set(MAINSPRING_TWIN_FLAGS -O1 -g1 -fsanitize=address,undefined ${MAINSPRING_SANITIZER_FLAGS})
set(MAINSPRING_TEST_ENVIRONMENT "MAINSPRING_BIN=${PROJECT_BINARY_DIR}/mainspring")
# Rooms whose unit tests also run sanitized inside the release build; `make sanitize` runs all.
set(MAINSPRING_SANITIZED_TEST_ROOMS base model policy placement planner predict engine config report
                                   sim kube)
# Unit tests too long for the sanitized twin carry one of these words in their suite or test name.
set(MAINSPRING_SANITIZED_TEST_FILTER "-*Exhaustive*:*Heavy*")

function(mainspring_sanitize_target target)
  target_compile_options(${target} PRIVATE ${MAINSPRING_TWIN_FLAGS})
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  # A second entry per file would make clang-tidy read every file twice.
  set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
endfunction()

function(mainspring_room_library name suffix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEPS;PUBLIC_LIBS;LIBS")
  set(library mainspring_${name}${suffix})
  set(visible PUBLIC)
  if(arg_SOURCES)
    add_library(${library} STATIC ${arg_SOURCES})
    target_link_libraries(${library} PRIVATE ${arg_LIBS})
    add_dependencies(${library} mainspring_version)
    if(suffix)
      mainspring_sanitize_target(${library})
    endif()
  else()
    add_library(${library} INTERFACE)
    set(visible INTERFACE)
  endif()
  target_link_libraries(${library} ${visible} mainspring_options ${arg_PUBLIC_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET mainspring_${dep}${suffix})
      target_link_libraries(${library} ${visible} mainspring_${dep}${suffix})
    endif()
  endforeach()
endfunction()

function(mainspring_room_test name suffix)
  set(test ${name}${suffix}_test)
  add_executable(${test} ${ARGN})
  target_link_libraries(${test} PRIVATE mainspring_${name}${suffix} GTest::gmock
                                        GTest::gtest_main rapidcheck)
  add_dependencies(${test} mainspring_version)
  if(suffix)
    mainspring_sanitize_target(${test})
    add_test(
      NAME sanitized.${name}
      COMMAND ${test} --gtest_brief=1 --gtest_filter=${MAINSPRING_SANITIZED_TEST_FILTER}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(sanitized.${name} PROPERTIES LABELS "${name};sanitize" ENVIRONMENT
                                                      ${MAINSPRING_TEST_ENVIRONMENT})
  else()
    gtest_discover_tests(
      ${test}
      TEST_PREFIX ${name}.
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      # One value each: lists do not survive the discovery.
      PROPERTIES LABELS ${name} ENVIRONMENT ${MAINSPRING_TEST_ENVIRONMENT}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

function(mainspring_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;PUBLIC_LIBS;LIBS")
  set(folder ${PROJECT_SOURCE_DIR}/src/mainspring/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  if(NOT sources AND NOT headers)
    return()
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")

  set(suffixes "plain")
  if(MAINSPRING_SANITIZED_TWINS)
    list(APPEND suffixes "_sanitized")
  endif()
  foreach(suffix IN LISTS suffixes)
    string(REPLACE "plain" "" suffix "${suffix}")
    mainspring_room_library(
      ${name} "${suffix}" SOURCES ${sources} DEPS ${arg_DEPS} PUBLIC_LIBS ${arg_PUBLIC_LIBS}
      LIBS ${arg_LIBS})
    if(NOT tests OR NOT BUILD_TESTING)
      continue()
    endif()
    if(NOT suffix OR name IN_LIST MAINSPRING_SANITIZED_TEST_ROOMS)
      mainspring_room_test(${name} "${suffix}" ${tests})
    endif()
  endforeach()
endfunction()

function(mainspring_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ROOM" "")
  set(main ${PROJECT_SOURCE_DIR}/src/mainspring/${arg_ROOM}/main.cc)
  file(GLOB found CONFIGURE_DEPENDS ${main})
  if(NOT found)
    return()
  endif()
  foreach(suffix IN ITEMS "" "_sanitized")
    if(TARGET mainspring_${arg_ROOM}${suffix})
      add_executable(${name}${suffix} ${main})
      target_link_libraries(${name}${suffix} PRIVATE mainspring_${arg_ROOM}${suffix})
      add_dependencies(${name}${suffix} mainspring_version)
      if(suffix)
        mainspring_sanitize_target(${name}${suffix})
      endif()
    endif()
  endforeach()
endfunction()
