# SPDX-License-Identifier: Apache-2.0
# Files that are part of the program, so that it finds them wherever it runs: a function in cli/
# (declared in embedded.h) returns the text.

function(mainspring_embed file function)
  set(EMBEDDED_FILE ${file})
  set(EMBEDDED_FUNCTION ${function})
  file(READ ${PROJECT_SOURCE_DIR}/${file} EMBEDDED_TEXT)
  set(source ${MAINSPRING_GENERATED}/${function}.cc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded.cc.in ${source} @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  foreach(library IN ITEMS mainspring_cli mainspring_cli_sanitized)
    if(TARGET ${library})
      target_sources(${library} PRIVATE ${source})
    endif()
  endforeach()
endfunction()

mainspring_embed(scenarios/demo/busy-day.yaml busy_day_scenario)
