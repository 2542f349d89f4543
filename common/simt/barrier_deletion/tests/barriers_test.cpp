// Which barriers a source text holds, and what the text is without one.
#include "../barriers.h"
#include "../deletion.h"

#include <doctest/doctest.h>

using namespace barrier_deletion;

TEST_CASE("barriers are found with their line and their arguments") {
  const std::string source = "void f() {\n"
                             "  __syncthreads();\n"
                             "  if (lane < 16) __syncwarp(mask_of(lane, (16)));  // half a warp\n"
                             "}\n"
                             "void g() { __syncwarp ( ) ; }";
  const std::vector<Barrier> barriers = barriers_in(source);
  REQUIRE(barriers.size() == 3);
  CHECK(barriers[0].text == "__syncthreads()");
  CHECK(barriers[0].line == 2);
  CHECK(barriers[1].text == "__syncwarp(mask_of(lane, (16)))");
  CHECK(barriers[1].line == 3);
  CHECK(barriers[2].text == "__syncwarp ( )");
  CHECK(barriers[2].line == 5);
}

TEST_CASE("comments, strings and characters hold no barriers, and end where they end") {
  CHECK(barriers_in("// __syncthreads();\n").empty());
  CHECK(barriers_in("/// as `__syncthreads()`").empty());
  CHECK(barriers_in("/* __syncthreads();\n __syncwarp(); */").empty());
  CHECK(barriers_in("const char* s = \"\\\"__syncthreads()\";").empty());
  CHECK(barriers_in("const char* s = R\"x()\" __syncthreads() )x\";").empty());
  CHECK(barriers_in("/* */ __syncthreads(); // end").size() == 1);
  CHECK(barriers_in("char c = '\"'; __syncthreads(); char d = '\"';").size() == 1);
  CHECK(barriers_in("char c = '\\''; __syncthreads();").size() == 1);
  CHECK(barriers_in("const char* s = \"// \"; __syncthreads();").size() == 1);
  CHECK(barriers_in("int n = 1'000; __syncthreads(); int m = 2'000;").size() == 1);
  CHECK(barriers_in("f(R\"(a)\"); __syncthreads();").size() == 1);
}

TEST_CASE("only calls of the two barriers count") {
  CHECK(barriers_in("int n = __syncthreads_count(x); bool any = __syncthreads_or(x);").empty());
  CHECK(barriers_in("my__syncthreads(); __syncthreads2(); auto f = &__syncwarp;").empty());
  CHECK(barriers_in("").empty());
}

TEST_CASE("without a barrier the rest stays as it is, on the same lines") {
  const std::string source = "a;\nif (b) __syncwarp(\n    mask);\nc;\n";
  const std::vector<Barrier> barriers = barriers_in(source);
  REQUIRE(barriers.size() == 1);
  CHECK(without(source, barriers[0]) == "a;\nif (b) ((void)0)\n;\nc;\n");
}

TEST_CASE("only a finding of the race or sync check counts, not a title of a test that looks like one") {
  CHECK(check_that_found("ERROR: test case THREW exception: race: a read\n  at chapters/a.cuh:3 in a::kernel\n") ==
        "race");
  CHECK(check_that_found("sync: deadlock\n      at chapters/a.cuh:3 in a::kernel\n") == "sync");
  CHECK(check_that_found("CHECK_NOTHROW( f() ) THREW exception: \"race: a read\n  at a.cuh:3 in a::kernel\n\"") ==
        "race");
  CHECK(check_that_found("memory: write outside of buffer 'y'\n  at chapters/a.cuh:3 in a::kernel\n") == "");
  CHECK(check_that_found("TEST CASE:  race: a barrier\n\nCHECK( 1 == 2 ) is NOT correct!\n") == "");
  CHECK(check_that_found("the first trace: nothing\n  at all\n") == "");
  CHECK(check_that_found("") == "");
}
