#include <host/argument_check.h>

#include <cstdio>
#include <stdexcept>

namespace {

template <class T>
std::string formatted(const char* format, T value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string address(const void* pointer) { return formatted("%p", pointer); }

}  // namespace

ArgumentCheck::ArgumentCheck(const char* function, const char* file, int line) {
  std::string_view name = file;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0: no folder, nothing to remove
  caller_ = std::string(function) + " (" + std::string(name) + ":" + std::to_string(line) + "): ";
}

void ArgumentCheck::refuse(std::string_view name, const std::string& value, std::string_view limit) const {
  throw std::invalid_argument(caller_ + std::string(name) + " is " + value + "; " + std::string(limit));
}

void ArgumentCheck::at_least(std::string_view name, std::int64_t value, std::int64_t limit) const {
  if (value < limit) refuse(name, std::to_string(value), "it must be at least " + std::to_string(limit));
}

void ArgumentCheck::at_most(std::string_view name, std::int64_t value, std::int64_t limit) const {
  if (value > limit) refuse(name, std::to_string(value), "it must be at most " + std::to_string(limit));
}

void ArgumentCheck::at_least_zero(std::string_view name, float value) const {
  if (!(value >= 0)) refuse(name, formatted("%g", static_cast<double>(value)), "it must be at least 0");
}

void ArgumentCheck::not_null(std::string_view name, const void* pointer) const {
  if (pointer == nullptr) refuse(name, "null", "it must point to device memory");
}

void ArgumentCheck::addressable(std::int64_t rows, std::int64_t cols) const {
  if (rows > most_floats / cols) {
    refuse("rows · cols", std::to_string(rows) + " · " + std::to_string(cols),
           "it must be at most " + std::to_string(most_floats));
  }
}

void ArgumentCheck::disjoint(const Range& output, const Range& other) const {
  if (output.data == nullptr || other.data == nullptr) return;
  // As integers: pointers into different arrays have no order that C++ defines.
  const auto begin = [](const Range& range) { return reinterpret_cast<std::uintptr_t>(range.data); };
  const auto end = [&](const Range& range) {
    return begin(range) + sizeof(float) * static_cast<std::uintptr_t>(range.count);
  };
  if (begin(output) < end(other) && begin(other) < end(output)) {
    refuse(output.name, address(output.data),
           "it must not overlap " + std::string(other.name) + ", which is [" + address(other.data) + ", " +
               address(other.data + other.count) + ")");
  }
}
