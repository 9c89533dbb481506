# SPDX-License-Identifier: Apache-2.0
# Tests that look at the repository itself, and tests of the finished program through its
# command line: tests/NAME_test.py (unittest) and tests/NAME_test.sh become the test path.NAME.

if(NOT BUILD_TESTING)
  return()
endif()

foreach(check IN ITEMS tidy layers)
  add_test(
    NAME ${check}
    COMMAND ${Python3_EXECUTABLE} tools/tidy --only ${check}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(
    NAME ${check}.self_test
    COMMAND ${Python3_EXECUTABLE} tools/tidy --only ${check} --self-test
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${check} ${check}.self_test PROPERTIES LABELS repository)
endforeach()

if(TARGET mainspring)
  file(GLOB path_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.py
       ${PROJECT_SOURCE_DIR}/tests/*_test.sh)
  foreach(file IN LISTS path_tests)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    set(interpreter bash)
    if(file MATCHES "\\.py$")
      set(interpreter ${Python3_EXECUTABLE})
    endif()
    add_test(
      NAME path.${name}
      COMMAND ${interpreter} ${file}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(path.${name} PROPERTIES LABELS path ENVIRONMENT
                                                 ${MAINSPRING_TEST_ENVIRONMENT})
  endforeach()
endif()

# The tests on a real control plane, with the program that is shipped. `make controlplane` builds
# what they start; where it has not, they do it themselves.
if(MAINSPRING_SANITIZED_TWINS AND TARGET mainspring)
  foreach(package IN ITEMS e2e feasibility)
    string(REPLACE "e2e" "." folder ${package})
    add_test(
      NAME kube.${package}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/go test -count=1 -timeout 60m ./${folder}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/e2e)
    set_tests_properties(
      kube.${package} PROPERTIES LABELS e2e PROCESSORS 2 TIMEOUT 3600
                                 ENVIRONMENT ${MAINSPRING_TEST_ENVIRONMENT})
  endforeach()
endif()
