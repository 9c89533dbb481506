# SPDX-License-Identifier: Apache-2.0
# Writes mainspring/version.h at build time. Run as a script (cmake -P) it does the writing, and
# touches the file only when its content changes; included, it declares the target that runs it.

if(CMAKE_SCRIPT_MODE_FILE)
  set(revision "")
  find_program(git git)
  if(git)
    execute_process(
      COMMAND ${git} describe --always --dirty --abbrev=12
      WORKING_DIRECTORY ${SOURCE_DIR}
      OUTPUT_VARIABLE revision
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(revision STREQUAL "")
    set(revision "unknown")
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${OUTPUT} @ONLY)
  return()
endif()

set(MAINSPRING_GENERATED ${PROJECT_BINARY_DIR}/generated)
add_custom_target(
  mainspring_version
  COMMAND
    ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION} -D
    OUTPUT=${MAINSPRING_GENERATED}/mainspring/version.h -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${MAINSPRING_GENERATED}/mainspring/version.h
  COMMENT "Looking at the revision"
  VERBATIM)
target_include_directories(mainspring_options INTERFACE ${MAINSPRING_GENERATED})
