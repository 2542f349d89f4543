/// docs/reports.md: the public bug reports that the course knows, and the tests that hold them.
#pragma once

#include <learn/contract.h>

#include <map>
#include <string>
#include <vector>

namespace learn {

/// The page from the records of reports.csv and the lists of the chapters' test programs. Throws std::runtime_error
/// with a sentence where a report has neither a test nor a reason, or a test is of no report.
std::string reports_page(const std::vector<std::map<std::string, std::string>>& reports,
                         const std::vector<TestList>& lists);

/// The records that are not yet tested, with their reasons: the end of that page, and the table 'reports not yet'.
std::string not_yet_table(const std::vector<std::map<std::string, std::string>>& reports);

}  // namespace learn
