# SPDX-License-Identifier: Apache-2.0
# Packages of Debian 12, nothing downloaded; docs/adr/0001 says why each one is here.

find_package(fmt 9.1 REQUIRED)
find_package(tl-expected 1.0 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(Threads REQUIRED)
# Debian's cpp-httplib comes without a CMake package.
find_library(MAINSPRING_HTTPLIB cpp-httplib REQUIRED)
add_library(httplib INTERFACE)
target_link_libraries(httplib INTERFACE ${MAINSPRING_HTTPLIB} Threads::Threads)
# The classes of its header have the layout of the library only with what Debian built it with.
target_compile_definitions(
  httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
if(BUILD_TESTING)
  find_package(GTest 1.12 REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  include(GoogleTest)
endif()
