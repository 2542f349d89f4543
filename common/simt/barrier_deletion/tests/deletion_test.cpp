// The program on fixtures: what it prints, and that it tells barriers that are needed from those that are not.
#include <learn/process.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {

const std::string fixtures = "common/simt/barrier_deletion/tests/";

learn::Finished barrier_deletion_of(const std::string& file) { return learn::run({BARRIER_DELETION, fixtures + file}); }

}  // namespace

TEST_SUITE("long") {
  TEST_CASE("barriers that are needed are killed, each by the check that sees it missing") {
    const learn::Finished finished = barrier_deletion_of("needed.cuh");
    CHECK(finished.output == "killed by race  " + fixtures + "needed.cuh:12 __syncthreads()\n" + "killed by race  " +
                                 fixtures + "needed.cuh:20 __syncwarp()\n" + "killed by sync  " + fixtures +
                                 "needed.cuh:27 __syncwarp(0xffffffffu)\n" + "killed by sync  " + fixtures +
                                 "needed.cuh:29 __syncwarp(0xffffffffu)\n" + "4 of 4 barriers killed\n");
    CHECK(finished.exit_code == 0);
  }

  TEST_CASE("a superfluous barrier survives, and the sentence says to remove it") {
    const learn::Finished finished = barrier_deletion_of("superfluous.cuh");
    CHECK(finished.output == "survived        " + fixtures + "superfluous.cuh:9 __syncthreads()\n" +
                                 "  Nothing is found without it, and barrier_deletion_fixture passes. Remove it from "
                                 "the kernel, with a test " +
                                 "that shows the kernel right without it.\n0 of 1 barriers killed\n");
    CHECK(finished.exit_code == 1);
  }

  TEST_CASE("a barrier that only a wrong value misses survives, and the sentence says so") {
    const learn::Finished finished = barrier_deletion_of("counted.cuh");
    CHECK(finished.output.find("barrier_deletion_fixture fails, but without a finding") != std::string::npos);
    CHECK(finished.output.ends_with("\n0 of 1 barriers killed\n"));
    CHECK(finished.exit_code == 1);
  }

  TEST_CASE("a file that does not compile without its barrier is not judged") {
    const learn::Finished finished = barrier_deletion_of("quoted.cuh");
    CHECK(finished.output.find("barrier_deletion_fixture does not compile") != std::string::npos);
    // g++: static assertion failed; clang: static_assert failed
    CHECK(finished.output.find("static") != std::string::npos);
    CHECK(finished.output.ends_with("\n0 of 1 barriers killed\n"));
    CHECK(finished.exit_code == 1);
  }

  TEST_CASE("a file that no test compiles is told") {
    const learn::Finished finished = barrier_deletion_of("untested.cuh");
    CHECK(finished.output.find("No test compiles this file.") != std::string::npos);
    CHECK(finished.exit_code == 1);
  }
}

TEST_CASE("a file that is not there is told in a sentence") {
  const learn::Finished finished = barrier_deletion_of("missing.cuh");
  CHECK(finished.output.find(fixtures + "missing.cuh") != std::string::npos);
  CHECK(std::count(finished.output.begin(), finished.output.end(), '\n') == 1);
  CHECK(finished.exit_code == 2);
}
