/// What the tests of common/learn share.
#pragma once

#include <exception>
#include <string>

/// what() of the exception that the call throws; empty if it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}
