#include <testing/strd.h>

#include <testing/data_file.h>

#include <map>

namespace testing {

std::vector<StrdSet> strd_sets() {
  std::vector<StrdSet> sets;
  for (const char* name :
       {"Lew", "Lottery", "Mavro", "Michelso", "NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4", "PiDigits"}) {
    std::map<std::string, std::string> header;  // "# key value"
    std::vector<double> values;
    for (const std::string& line : data_lines(std::string("strd/") + name + ".txt")) {
      const std::vector<std::string> fields = words(line);
      if (line.starts_with('#')) {
        header[fields.at(1)] = fields.at(2);
      } else {
        values.push_back(number(line));
      }
    }
    sets.push_back({name, std::move(values), number(header.at("certified_mean")), number(header.at("certified_sd_n-1")),
                    number(header.at("exact_variance_over_n")), number(header.at("binary32_rounded_mean")),
                    number(header.at("binary32_rounded_variance_over_n"))});
  }
  return sets;
}

}  // namespace testing
