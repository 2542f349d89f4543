#include <testing/data_file.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace testing {
namespace {

/// Fields between commas; a field in double quotes may hold commas.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

std::vector<std::string> data_lines(const std::string& name) {
  const std::string path = std::string(LNH_SOURCE_DIR "/common/testing/data/") + name;
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read " + path +
                             "; this program reads its data from the source folder that it was built in");
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::map<std::string, std::string>> data_table(const std::string& name) {
  const std::string misfit = name + ": this line does not fit the header: ";
  std::vector<std::string> columns;
  std::vector<std::map<std::string, std::string>> records;
  for (const std::string& line : data_lines(name)) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = csv_fields(line);
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    if (fields.size() != columns.size()) throw std::runtime_error(misfit + line);
    for (auto& record = records.emplace_back(); const std::string& field : fields) {
      record.emplace(columns[record.size()], field);
    }
  }
  return records;
}

double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw std::invalid_argument("'" + text + "' is not a number");
  return value;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

}  // namespace testing
