#include <testing/report.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

namespace testing {
namespace {

/// text as a JSON string.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

class Report : public doctest::IReporter {
public:
  explicit Report(const doctest::ContextOptions& options) : out_(*options.cout) {}

  void test_case_start(const doctest::TestCaseData& test) override { test_ = &test; }
  void test_case_reenter(const doctest::TestCaseData&) override {}

  void log_assert(const doctest::AssertData& check) override {
    if (!check.m_failed) return;
    // The message of a CHECK_MESSAGE is the innermost context; what INFO says stands around it.
    std::string message;
    for (int i = get_num_active_contexts(); i-- > 0;) {
      std::ostringstream context;
      get_active_contexts()[i]->stringify(&context);
      message += (message.empty() ? "" : "\n") + context.str();
    }
    // A message of the course names whose code it is about, as its test case does: "YOUR CODE: right on every row".
    const std::string name = test_->m_name;
    const bool speaks_for_itself = message.find(name.substr(0, name.find(':'))) != std::string::npos;
    if (check.m_threw) {
      message =
          std::string(check.m_expr) + " threw: " + check.m_exception.c_str() + (message.empty() ? "" : "\n") + message;
    } else if (!speaks_for_itself) {
      message = std::string("expected ") + check.m_expr + ", and it is " + check.m_decomp.c_str() +
                (message.empty() ? "" : "\n") + message;
    }
    failure(check.m_file, check.m_line, message);
  }

  void test_case_exception(const doctest::TestCaseException& exception) override {
    std::string message = exception.error_string.c_str();
    for (int i = get_num_stringified_contexts(); i-- > 0;) {
      message += std::string("\n") + get_stringified_contexts()[i].c_str();
    }
    failure(test_->m_file.c_str(), static_cast<int>(test_->m_line), message);
  }

  void test_run_end(const doctest::TestRunStats& stats) override {
    out_ << "{\"tests\": " << stats.numTestCasesPassingFilters << ", \"failed\": " << stats.numTestCasesFailed << "}"
         << std::endl;
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

private:
  void failure(const char* file, int line, const std::string& message) {
    // Flushed at once: the program may not live to its end.
    out_ << "{\"test\": " << quoted(test_->m_name) << ", \"file\": " << quoted(file) << ", \"line\": " << line
         << ", \"message\": " << quoted(message) << "}" << std::endl;
  }

  std::ostream& out_;
  const doctest::TestCaseData* test_ = nullptr;
};

}  // namespace

void register_report() { doctest::registerReporter<Report>("report", 1, true); }

}  // namespace testing
