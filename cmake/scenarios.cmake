# SPDX-License-Identifier: Apache-2.0
# Each file scenarios/**/*.yaml is a test. Two lines among its first ten change that:
#   # needs: traces   not run here, because its input is not part of the repository
#   # needs: long     runs in `make test-long` only (label `long`)
# Files below scenarios/openb/ describe measurements on public traces and are never run here.

# The one place that knows how a scenario is checked.
set(MAINSPRING_SCENARIO_COMMAND simulate)
set(MAINSPRING_SCENARIO_FLAGS --check)

if(NOT BUILD_TESTING OR NOT TARGET mainspring)
  return()
endif()

file(GLOB_RECURSE scenarios CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/scenarios/*.yaml)
list(FILTER scenarios EXCLUDE REGEX "^scenarios/openb/")
foreach(scenario IN LISTS scenarios)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${scenario} head LIMIT_COUNT 10)
  set(labels scenario)
  if("${head}" MATCHES "# needs: traces")
    continue()
  elseif("${head}" MATCHES "# needs: long")
    list(APPEND labels long)
  endif()
  string(REGEX REPLACE "^scenarios/(.*)\\.yaml$" "scenario.\\1" test ${scenario})
  add_test(
    NAME ${test}
    COMMAND mainspring ${MAINSPRING_SCENARIO_COMMAND} ${scenario} ${MAINSPRING_SCENARIO_FLAGS}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${test} PROPERTIES LABELS "${labels}")
endforeach()
