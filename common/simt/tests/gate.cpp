#include "gate.h"

#include <fstream>
#include <stdexcept>

namespace gate {

int line_of(const std::string& file, const std::string& mark) {
  std::ifstream source(std::string(LNH_SOURCE_DIR) + "/" + file);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.ends_with("// here: " + mark)) return number;
  throw std::runtime_error(file + " has no line that ends with // here: " + mark);
}

}  // namespace gate
