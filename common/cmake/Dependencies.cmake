# What the course needs from others. Each is looked for on the machine first; what is missing is fetched at a pinned
# version with its hash. CHANGELOG.md says why each is here.
#
#   both backends   doctest, Google Benchmark, nlohmann-json (results, reports)
#   simt only       Boost.Context (the executor's fibers); never fetched: it is one corner of a large build.
#                   CLI11, fmt (the program ./learn)
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

find_package(Threads REQUIRED)

# lnh_dependency(target PACKAGE name VERSION minimum DEBIAN package URL url SHA256 hash [OPTIONS NAME=value …])
# OPTIONS are set for the fetched project alone, to build nothing of it but the library.
function(lnh_dependency target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;VERSION;DEBIAN;URL;SHA256" "OPTIONS")
  find_package(${arg_PACKAGE} ${arg_VERSION} QUIET)
  if(TARGET ${target})
    return()
  endif()
  message(STATUS "${arg_PACKAGE} ${arg_VERSION} or newer is not installed; fetching ${arg_URL}. "
    "Without a network, install it first (Debian, Ubuntu: apt install ${arg_DEBIAN})")
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the options below hold in projects that ask for an old CMake
  set(CMAKE_POLICY_VERSION_MINIMUM 3.10)
  foreach(option IN LISTS arg_OPTIONS)
    string(REGEX MATCH "^([^=]+)=(.*)$" matched ${option})
    set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endforeach()
  FetchContent_Declare(${arg_PACKAGE} URL ${arg_URL} URL_HASH SHA256=${arg_SHA256}
    DOWNLOAD_EXTRACT_TIMESTAMP ON SYSTEM)
  FetchContent_MakeAvailable(${arg_PACKAGE})
endfunction()

lnh_dependency(doctest::doctest PACKAGE doctest VERSION 2.4.6 DEBIAN doctest-dev
  URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.12.tar.gz
  SHA256 73381c7aa4dee704bd935609668cf41880ea7f19fa0504a200e13b74999c2d70
  OPTIONS DOCTEST_WITH_TESTS=OFF DOCTEST_NO_INSTALL=ON)

lnh_dependency(benchmark::benchmark PACKAGE benchmark VERSION 1.7.0 DEBIAN libbenchmark-dev
  URL https://github.com/google/benchmark/archive/refs/tags/v1.9.4.tar.gz
  SHA256 b334658edd35efcf06a99d9be21e4e93e092bd5f95074c1673d5c8705d95c104
  OPTIONS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_GTEST_TESTS=OFF BENCHMARK_ENABLE_INSTALL=OFF
          BENCHMARK_ENABLE_WERROR=OFF)

lnh_dependency(nlohmann_json::nlohmann_json PACKAGE nlohmann_json VERSION 3.9 DEBIAN nlohmann-json3-dev
  URL https://github.com/nlohmann/json/releases/download/v3.12.0/json.tar.xz
  SHA256 42f6e95cad6ec532fd372391373363b62a14af6d771056dbfc86160e6dfff7aa
  OPTIONS JSON_BuildTests=OFF JSON_Install=OFF)

if(LNH_BACKEND STREQUAL "simt")
  find_package(Boost 1.71 QUIET CONFIG COMPONENTS context)
  if(NOT TARGET Boost::context)
    message(FATAL_ERROR "Boost.Context 1.71 or newer is not installed; the simt backend runs each CUDA thread as one of "
      "its fibers. Install it (Debian, Ubuntu: apt install libboost-context-dev) and configure again.")
  endif()

  lnh_dependency(CLI11::CLI11 PACKAGE CLI11 VERSION 2.1 DEBIAN libcli11-dev
    URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.5.0.tar.gz
    SHA256 17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55
    OPTIONS CLI11_BUILD_TESTS=OFF CLI11_BUILD_EXAMPLES=OFF CLI11_BUILD_DOCS=OFF CLI11_INSTALL=OFF)

  lnh_dependency(fmt::fmt PACKAGE fmt VERSION 9.0 DEBIAN libfmt-dev
    URL https://github.com/fmtlib/fmt/archive/refs/tags/11.2.0.tar.gz
    SHA256 bc23066d87ab3168f27cef3e97d545fa63314f5c79df5ea444d41d56f962c6af
    OPTIONS FMT_TEST=OFF FMT_DOC=OFF FMT_INSTALL=OFF)
endif()
