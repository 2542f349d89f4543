// docs/reports.md: every report has a test or a reason, and the page says which.
#include "error_of.h"

#include <learn/reports.h>
#include <testing/data_file.h>

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

using Report = std::map<std::string, std::string>;

namespace {

Report report(const std::string& id, const std::string& tested, const std::string& remark = "") {
  return {{"id", id}, {"reports", "a/b#1 c/d#2"}, {"what", "a row"}, {"tested", tested}, {"remark", remark}};
}

const std::string contract =
    "contract | another number of rows | one::norm\ncontract | another number of rows | two::norm\n";

std::string page(const std::vector<Report>& reports, const std::string& tests) {
  return learn::reports_page(reports, {{"01_test", contract + tests}});
}

}  // namespace

TEST_CASE("a tested report is told with its kernels, one that is not with its reason") {
  const std::string text = page({report("N01", "every norm", "half of it"), report("X02", "LayerNorm"),
                                 report("X03", "LayerNorm"), report("Q04", "not yet", "needs FP8")},
                                "N01 a/b#1: a row | one::norm\nN01 a/b#1: a row | two::norm\n"
                                "X02 a/b#1: a row | two::norm\n"
                                "X03 a/b#1: must fail on a row | one::norm\nX03 a/b#1: a row | two::norm\n");
  const std::string links = "[a/b#1](https://github.com/a/b/issues/1) [c/d#2](https://github.com/c/d/issues/2)";
  CHECK(text.find("| N01 | " + links + " | a row (half of it) | all forwards |\n") != std::string::npos);
  CHECK(text.find("| X02 | " + links + " | a row | `two::norm` |\n") != std::string::npos);
  CHECK(text.find("| X03 | " + links + " | a row | `two::norm`; must fail: `one::norm` |\n") != std::string::npos);
  CHECK(text.find("| Q04 | " + links + " | a row | needs FP8 |\n") != std::string::npos);
  CHECK(text.find("The forwards are `one::norm`, `two::norm`.\n\n|") != std::string::npos);
}

TEST_CASE("forwards and backwards are told apart") {
  const std::string backwards =
      "contract | another number of rows | backward::a\ncontract | another number of rows | backward::b\n";
  const auto with_backwards = [&](const std::string& tested, const std::string& tests) {
    return page({report("N01", tested)}, backwards + tests);
  };
  const std::string a = "N01 a/b#1: a row | backward::a\n", b = "N01 a/b#1: a row | backward::b\n";
  const std::string one = "N01 a/b#1: a row | one::norm\n", two = "N01 a/b#1: a row | two::norm\n";
  const std::string every_backward = with_backwards("every backward", a + b);
  CHECK(every_backward.find("| a row | all backwards |\n") != std::string::npos);
  CHECK(every_backward.find("The backwards are `backward::a`, `backward::b`.") != std::string::npos);
  CHECK(with_backwards("LayerNorm's backward", a).find("| a row | `backward::a` |\n") != std::string::npos);
  CHECK(with_backwards("every norm", one + two).find("| a row | all forwards |\n") != std::string::npos);
  CHECK(with_backwards("LayerNorm", one + b).find("| a row | `one::norm`; `backward::b` |\n") != std::string::npos);
  CHECK(with_backwards("every norm and backward", one + two + a + b).find("| all forwards; all backwards |\n") !=
        std::string::npos);
  for (const char* tested : {"every backward", "every norm and backward"}) {
    CHECK(error_of([&] { with_backwards(tested, one + two + a); }) ==
          "backward::b has no test 'N01 a/b#1: …'; say LAYER_NORM_BACKWARD_REPORTS or RMS_NORM_BACKWARD_REPORTS in its "
          "chapter's test.cu.");
  }
  CHECK(error_of([&] { with_backwards("every norm and backward", one + a + b); }).starts_with("two::norm has no test"));
}

TEST_CASE("a report without a test and a test without a report are told in a sentence") {
  CHECK(error_of([] { page({report("N01", "LayerNorm")}, ""); }) ==
        "reports.csv says that N01 a/b#1 is tested, but no chapter has a test 'N01 a/b#1: … | KERNEL'.");
  CHECK(error_of([] { page({report("N01", "every norm")}, "N01 a/b#1: a row | one::norm\n"); }) ==
        "two::norm has no test 'N01 a/b#1: …'; say LAYER_NORM_REPORTS or RMS_NORM_REPORTS in its chapter's test.cu.");
  CHECK(error_of([] { page({}, "N01 a/b#1: a row | one::norm\n"); }) ==
        "There are tests 'N01 a/b#1: …', but reports.csv has no such report.");
  // The same id, another report.
  CHECK(error_of([] { page({report("N01", "LayerNorm")}, "N01 c/d#2: a row | one::norm\n"); }).find("no chapter") !=
        std::string::npos);
  CHECK(error_of([] { page({report("N01", "not yet", "x")}, "N01 a/b#1: a row | one::norm\n"); }).find("no test.") !=
        std::string::npos);
  CHECK(error_of([] { page({report("N01", "not yet")}, ""); }).find("it must have a reason") != std::string::npos);
}

TEST_CASE("reports.csv has each id once, and a first report for each") {
  std::set<std::string> ids;
  for (const Report& record : testing::data_table("reports.csv")) {
    CAPTURE(record.at("id"));
    CHECK(ids.insert(record.at("id")).second);
    CHECK((record.at("reports").find('#') != std::string::npos || record.at("id")[0] == 'E'));
    CHECK(!record.at("what").empty());
    CHECK(!record.at("tested").empty());
  }
}
