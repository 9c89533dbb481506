# SPDX-License-Identifier: Apache-2.0
# fuzz/NAME_fuzz.cc with a seed corpus in fuzz/corpus/NAME/. With MAINSPRING_FUZZ it becomes a
# libFuzzer program; otherwise fuzz/replay_main.cc drives it through the corpus and a counted number
# of seeded mutations, as the ordinary test fuzz.NAME (sanitized when the build has twins).

set(MAINSPRING_FUZZ_MUTATIONS 4000 CACHE STRING "Mutated inputs per fuzz test in ctest")

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${target})
  set(suffix "")
  if(MAINSPRING_FUZZ)
    add_executable(${target} ${source})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  elseif(BUILD_TESTING)
    add_executable(${target} ${source} ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc)
    if(MAINSPRING_SANITIZED_TWINS)
      set(suffix "_sanitized")
      mainspring_sanitize_target(${target})
      set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS ON)
    endif()
    add_test(
      NAME fuzz.${name}
      COMMAND ${target} --corpus fuzz/corpus/${name} --mutations ${MAINSPRING_FUZZ_MUTATIONS}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(
      fuzz.${name} PROPERTIES LABELS "fuzz;sanitize" ENVIRONMENT
                              "ASAN_OPTIONS=abort_on_error=1;UBSAN_OPTIONS=abort_on_error=1")
  else()
    continue()
  endif()
  foreach(room IN ITEMS base model engine config sim kube)
    if(TARGET mainspring_${room}${suffix})
      target_link_libraries(${target} PRIVATE mainspring_${room}${suffix})
    endif()
  endforeach()
endforeach()
