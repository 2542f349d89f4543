/// Reads the files in common/testing/data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace testing {

/// The lines of a file in common/testing/data, without line ends. Throws std::runtime_error if it cannot be read.
std::vector<std::string> data_lines(const std::string& name);

/// A CSV file, with # comments before the header: for each record the fields by column name.
std::vector<std::map<std::string, std::string>> data_table(const std::string& name);

/// The number that a field holds, decimal or hexadecimal. Throws std::invalid_argument if it is not one.
double number(const std::string& text);

/// The fields of a text between spaces.
std::vector<std::string> words(std::string_view text);

}  // namespace testing
