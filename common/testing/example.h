/// An example: a program of a chapter that shows something, and whose exit code says whether it is so. Its
/// chapters/NN_name/NAME_example.cu defines example(); main() is example_main.cpp, the same for all.
#pragma once

#include <string>
#include <vector>

/// Exit codes: 0 it is so; 1 it is not, or something failed; 2 wrong use; 77 there is no GPU, which main() sees to.
int example(const std::vector<std::string>& arguments);
