# SPDX-License-Identifier: Apache-2.0
# Language, optimisation and warning flags that every target of ours shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# NDEBUG silences the assert() of libraries only: MAINSPRING_CHECK does not look at it.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")

find_program(MAINSPRING_CCACHE ccache)
if(MAINSPRING_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MAINSPRING_CCACHE})
endif()

set(MAINSPRING_SANITIZER_FLAGS -fno-omit-frame-pointer -fno-sanitize-recover=all)

add_library(mainspring_options INTERFACE)
target_include_directories(mainspring_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(
  mainspring_options
  INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
            # clang builds the fuzzers only; what it finds in the code, `make lint` reports.
            $<$<CXX_COMPILER_ID:GNU>:-Werror>
            # A designated initialiser that names only what differs is the point of the syntax.
            -Wno-missing-field-initializers
            # g++ 12 sees overlapping copies in plain string concatenation (GCC bug 105651).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
            # It also calls the unused arms of a std::variant uninitialised, most of all under
            # sanitizers (GCC bugs 80635, 105593); those sanitizers see the real cases at run time.
            $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
            # Fused multiply-add would let one source give two answers on two machines.
            -ffp-contract=off)
target_compile_definitions(mainspring_options
                           INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)

if(MAINSPRING_SANITIZE)
  add_compile_options(-fsanitize=${MAINSPRING_SANITIZE} ${MAINSPRING_SANITIZER_FLAGS})
  add_link_options(-fsanitize=${MAINSPRING_SANITIZE})
endif()
if(MAINSPRING_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined ${MAINSPRING_SANITIZER_FLAGS})
  add_link_options(-fsanitize=address,undefined)
endif()
