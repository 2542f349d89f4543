// Not a test of the course: a program whose tests pass, fail and end in every way, for verdict_test.cpp to read.
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

TEST_CASE("SUBJECT: it passes") {
  std::printf("the code prints this\n");
  CHECK(true);
}

TEST_CASE("SUBJECT: a message, and a check without one") {
  const int one = 1;
  INFO("around it");
  CHECK_MESSAGE(one == 2, "SUBJECT says \"this\"\nand this, with a tab:\t.");
  CHECK(one == 2);
}

TEST_CASE("SUBJECT: it throws") { throw std::runtime_error("thrown: κ"); }

TEST_CASE("SUBJECT: it exits") { std::exit(0); }

TEST_CASE("SUBJECT: it leaves without a word") { _exit(0); }
