#include <learn/reports.h>

#include <fmt/format.h>
#include <learn/marks.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>

namespace learn {
namespace {

using Names = std::set<std::string>;

/// The kernels with a test of one report.
struct Tested {
  Names right, must_fail;
};

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

/// "no report" stands for none.
bool is_reported(const std::string& reports) { return reports != "no report"; }

/// What the names of a report's tests begin with: "N05 NVIDIA/trt-samples-for-hackathon-cn#88".
std::string title_of(const std::map<std::string, std::string>& report) {
  const std::string& reports = report.at("reports");
  return report.at("id") + " " + (is_reported(reports) ? first_word(reports) : reports);
}

/// "a/b#1 c/d#2" as links. GitHub leads from an issue's address to a pull request of the same number.
std::string links(const std::string& reports) {
  if (!is_reported(reports)) return "none";
  static const std::regex report(R"((\S+)#(\d+))");
  return std::regex_replace(reports, report, "[$1#$2](https://github.com/$1/issues/$2)");
}

std::string joined(const Names& names) { return fmt::format("`{}`", fmt::join(names, "`, `")); }

Names both(const Names& a, const Names& b) {
  Names names;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(names, names.end()));
  return names;
}

/// "all forwards", "all forwards but `a::b`", "`a::b`": whichever is shorter. Empty if none of them has a test.
std::string kernels_text(const Tested& tested, const Names& all, const std::string& what) {
  const Names right = both(tested.right, all), must_fail = both(tested.must_fail, all);
  Names others;
  std::set_difference(all.begin(), all.end(), right.begin(), right.end(), std::inserter(others, others.end()));
  others.insert(must_fail.begin(), must_fail.end());
  std::string text = right.empty() ? "" : joined(right);
  if (!right.empty() && others.empty())
    text = "all " + what;
  else if (others.size() < right.size())
    text = "all " + what + " but " + joined(others);
  if (!must_fail.empty()) text += "; must fail: " + joined(must_fail);
  return text;
}

}  // namespace

std::string not_yet_table(const std::vector<std::map<std::string, std::string>>& reports) {
  std::string table = "| id | reports | the row | why not yet |\n|---|---|---|---|\n";
  for (const auto& report : reports) {
    if (report.at("tested") != "not yet") continue;
    table += fmt::format("| {} | {} | {} | {} |\n", report.at("id"), links(report.at("reports")), report.at("what"),
                         report.at("remark"));
  }
  return table;
}

std::string reports_page(const std::vector<std::map<std::string, std::string>>& reports,
                         const std::vector<TestList>& lists) {
  // The tests are called "ID REPORT: WHAT | KERNEL", and every kernel has a contract for its rows.
  static const std::regex test(R"(([A-Z]\d\d [^:]+): (.*) \| ([^|]+))"),
      kernel_of(R"(contract \| another number of rows \| (.*))");
  Names forwards, backwards;
  std::map<std::string, Tested> tests;  // by title
  for (const TestList& list : lists) {
    for (const std::string& line : lines_of(list.output)) {
      std::smatch found;
      if (std::regex_match(line, found, kernel_of)) (is_backward(found[1]) ? backwards : forwards).insert(found[1]);
      if (!std::regex_match(line, found, test)) continue;
      Tested& tested = tests[found[1]];
      (found[2].str().starts_with("must fail") ? tested.must_fail : tested.right).insert(found[3]);
    }
  }

  std::string held;
  for (const auto& report : reports) {
    const std::string title = title_of(report), links_of_report = links(report.at("reports"));
    const auto tested = tests.find(title);
    if (report.at("tested") == "not yet") {
      if (tested != tests.end() || report.at("remark").empty())
        throw std::runtime_error(fmt::format("reports.csv calls {} not yet tested: it must have a reason in the column "
                                             "remark, and no test.",
                                             title));
      continue;
    }
    if (tested == tests.end()) {
      throw std::runtime_error(
          fmt::format("reports.csv says that {} is tested, but no chapter has a test '{}: … | KERNEL'.", title, title));
    }
    const std::string& promised = report.at("tested");
    const auto require_every = [&](const Names& kernels, const char* macros) {
      for (const std::string& kernel : kernels) {
        if (!tested->second.right.contains(kernel))
          throw std::runtime_error(
              fmt::format("{} has no test '{}: …'; say {} in its chapter's test.cu.", kernel, title, macros));
      }
    };
    if (promised == "every norm" || promised == "every norm and backward")
      require_every(forwards, "LAYER_NORM_REPORTS or RMS_NORM_REPORTS");
    if (promised == "every backward" || promised == "every norm and backward")
      require_every(backwards, "LAYER_NORM_BACKWARD_REPORTS or RMS_NORM_BACKWARD_REPORTS");
    const std::string& remark = report.at("remark");
    const std::string of_forwards = kernels_text(tested->second, forwards, "forwards"),
                      of_backwards = kernels_text(tested->second, backwards, "backwards");
    held += fmt::format("| {} | {} | {}{} | {}{}{} |\n", report.at("id"), links_of_report, report.at("what"),
                        remark.empty() ? "" : " (" + remark + ")", of_forwards,
                        of_forwards.empty() || of_backwards.empty() ? "" : "; ", of_backwards);
    tests.erase(tested);
  }
  if (!tests.empty()) {
    throw std::runtime_error(
        fmt::format("There are tests '{}: …', but reports.csv has no such report.", tests.begin()->first));
  }
  return fmt::format(
      "# Public bug reports as tests\n\n"
      "Rows that failed in other projects, made anew from their descriptions. Each test compares a kernel with right "
      "values that were\n"
      "computed elsewhere in double precision, within the kernel's error bound. Its name is the id, the first report, "
      "what "
      "the row is\n"
      "and the kernel: `N05 NVIDIA/trt-samples-for-hackathon-cn#88: one outlier in 10240 equal values | "
      "three_pass::layer_norm`.\n"
      "Where a report is about 16-bit data, but its fault is an index or a launch, the row is made in binary32. A "
      "kernel "
      "whose variance\n"
      "cancels must fail on some rows; that is a test as well.\n\n"
      "Run one on every kernel of a chapter: `build/simt/chapters/PROGRAM -tc='N05*'`.\n\n"
      "This page is generated by `./learn sync` from `common/testing/data/reports.csv` and the test programs "
      "themselves.\n\n"
      "## Tested\n\nThe forwards are {}.{}\n\n| id | reports | the row | kernels |\n|---|---|---|---|\n{}\n"
      "## Not yet tested\n\n{}",
      joined(forwards), backwards.empty() ? "" : "\nThe backwards are " + joined(backwards) + ".", held,
      not_yet_table(reports));
}

}  // namespace learn
