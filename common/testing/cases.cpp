#include <testing/cases.h>

#include <testing/data_file.h>
#include <testing/random.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace testing {
namespace {

/// x[c] of one row. Offsets and constants change sign from row to row, so that no row is like its neighbour.
std::vector<double> make_row(std::int64_t row, std::int64_t cols, Data data, Random& random) {
  std::vector<double> x(static_cast<std::size_t>(cols));
  const auto at = [&](std::int64_t column) -> double& { return x[static_cast<std::size_t>(column)]; };
  const auto fill = [&](double mean, double sigma) {
    for (double& value : x) value = mean + sigma * random.normal();
  };
  const double sign = row % 2 == 0 ? 1 : -1;
  switch (data) {
    case Data::centred: fill(0, 0.3); break;
    case Data::channels:
      fill(0, 0.3);
      for (std::int64_t k = 0, count = std::min<std::int64_t>(6, cols); k < count; ++k) {
        at(k * cols / count) *= k % 2 == 0 ? 20 : 100;
      }
      break;
    case Data::massive:
      fill(0, 0.2);
      at(cols / 3) = -2600;
      at(2 * cols / 3) = 1500;
      break;
    case Data::massive_first:
      fill(0, 0.2);
      at(0) = -2600;
      at(2 * cols / 3) = 1500;
      break;
    case Data::offset_10: fill(sign * 10, 1); break;
    case Data::offset_100: fill(sign * 100, 1); break;
    case Data::offset_1000: fill(sign * 1000, 1); break;
    case Data::offset_10000: fill(sign * 10000, 1); break;
    case Data::constant: std::fill(x.begin(), x.end(), sign * random.uniform(0.1, 3)); break;
    case Data::zero: break;
    case Data::one_off:
      std::fill(x.begin(), x.end(), 256.0);
      x.back() = 255;
      break;
  }
  return x;
}

/// The values that a text in data/*.csv describes; published_cases.csv says how.
std::vector<float> parse_row(const std::string& text, std::int64_t cols, Random& random) {
  const std::vector<std::string> field = words(text);
  std::vector<float> row;
  if (field.size() == 4 && field[1] == "+") {  // "100 + 0.01 normal", "100 + 0.001 i"
    for (std::int64_t c = 0; c < cols; ++c) {
      const double factor = field[3] == "i" ? static_cast<double>(c) : random.normal();
      row.push_back(static_cast<float>(number(field[0]) + number(field[2]) * factor));
    }
  } else {  // "1 2 3", "1234 x 256", "256 x 10239 then 255"
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (field[i] == "then") continue;
      const bool repeated = i + 1 < field.size() && field[i + 1] == "x";
      row.insert(row.end(), repeated ? static_cast<std::size_t>(number(field[i + 2])) : 1,
                 static_cast<float>(number(field[i])));
      if (repeated) i += 2;
    }
  }
  if (static_cast<std::int64_t>(row.size()) != cols) {
    throw std::runtime_error("'" + text + "' gives " + std::to_string(row.size()) + " values; the table says " +
                             std::to_string(cols));
  }
  return row;
}

}  // namespace

const char* name(Data data) {
  switch (data) {
    case Data::centred: return "centred";
    case Data::channels: return "channels";
    case Data::massive: return "massive";
    case Data::massive_first: return "massive_first";
    case Data::offset_10: return "offset_10";
    case Data::offset_100: return "offset_100";
    case Data::offset_1000: return "offset_1000";
    case Data::offset_10000: return "offset_10000";
    case Data::constant: return "constant";
    case Data::zero: return "zero";
    case Data::one_off: return "one_off";
  }
  throw std::invalid_argument("there is no such kind of data");
}

std::vector<Data> all_data() {
  return {Data::centred,     Data::channels,     Data::massive,  Data::massive_first, Data::offset_10, Data::offset_100,
          Data::offset_1000, Data::offset_10000, Data::constant, Data::zero,          Data::one_off};
}

NormCase make_case(std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed) {
  Random random(seed);
  NormCase result;
  result.name =
      std::to_string(rows) + "×" + std::to_string(cols) + " " + testing::name(data) + ", seed " + std::to_string(seed);
  result.rows = rows;
  result.cols = cols;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (const double x : make_row(r, cols, data, random)) result.x.push_back(static_cast<float>(x));
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    result.gamma.push_back(static_cast<float>(random.uniform(-2, 2)));
    result.beta.push_back(static_cast<float>(random.uniform(-1, 1)));
  }
  return result;
}

std::vector<float> random_bits(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
  return values;
}

std::vector<NormCase> standard_cases() {
  // Widths around the warp (32), the block (256, 1024) and the vector (4); heights around a block of rows.
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {1, 1},    {3, 2},    {5, 3},    {2, 4},    {7, 5},    {3, 31},  {4, 32},  {3, 33},
      {2, 64},   {2, 100},  {2, 127},  {2, 129},  {3, 255},  {3, 256}, {3, 257}, {2, 768},
      {1, 1000}, {1, 1023}, {2, 1024}, {1, 1025}, {1, 4096}, {257, 6}};
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const auto& [rows, cols] : shapes) {
    for (const Data data : all_data()) cases.push_back(make_case(rows, cols, data, seed++));
  }
  return cases;
}

std::vector<NormCase> published_cases() {
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  for (const auto& record : data_table("published_cases.csv")) {
    Random random(seed++);
    NormCase input;
    input.name = record.at("id");
    input.rows = static_cast<std::int64_t>(number(record.at("rows")));
    input.cols = static_cast<std::int64_t>(number(record.at("cols")));
    input.eps = static_cast<float>(number(record.at("eps")));
    for (std::int64_t r = 0; r < input.rows; ++r) {
      const std::vector<float> row = parse_row(record.at("values"), input.cols, random);
      input.x.insert(input.x.end(), row.begin(), row.end());
    }
    cases.push_back(std::move(input));
  }
  return cases;
}

namespace {

std::vector<NormCase> trap_cases(bool every_order) {
  std::vector<NormCase> cases;
  Random unused(0);
  for (const auto& record : data_table("traps.csv")) {
    if (every_order && record.at("every_order") != "yes") continue;
    NormCase input;
    input.name = record.at("name");
    input.rows = 1;
    input.cols = static_cast<std::int64_t>(number(record.at("n")));
    input.eps = static_cast<float>(number(record.at("eps")));
    input.x = parse_row(record.at("values"), input.cols, unused);
    cases.push_back(std::move(input));
  }
  return cases;
}

}  // namespace

std::vector<NormCase> trap_cases() { return trap_cases(false); }

std::vector<NormCase> every_order_trap_cases() { return trap_cases(true); }

}  // namespace testing
