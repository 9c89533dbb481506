# SPDX-License-Identifier: Apache-2.0
# Packages of Debian 12, nothing downloaded; docs/adr/0001 says why each one is here.

find_package(fmt 9.1 REQUIRED)
find_package(tl-expected 1.0 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)
if(BUILD_TESTING)
  find_package(GTest 1.12 REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  include(GoogleTest)
endif()
