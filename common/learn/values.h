/// Figures of stored measurements in a line of prose. What a mark there says:
///
///   of_copy CARD/NAME KERNEL… SIZES                fractions of a copy's rate: 0.86
///   microseconds CARD/NAME KERNEL… SIZES           medians: 9.3, and without the digit behind the point from 10 on
///   faster CARD/NAME KERNEL… than KERNEL SIZES     by how much, from the medians of the same matrices: 17 %
///
/// for docs/results/CARD/NAME.json. Several kernels or sizes give the least and the most: 0.92 to 0.96. A kernel with a
/// space in its name stands in double quotes: "shape 32×1". SIZES are parted by commas:
///
///   4096          columns, of a copy elements: the largest matrix of the file that has as many, as in the tables
///   256..16384    all numbers of columns that the kernel was measured on, from 256 to 16384
///   1×4096        rows × columns
///
/// A mark of one point replaces the number before it, one of several points that or "a to b": no other number and "to"
/// may stand there. SIZES mean a cold L2, or a warm one if the word warm stands behind them.
#pragma once

#include <learn/document.h>

#include <filesystem>
#include <string>

namespace learn {

/// The figure that a mark names, from the results in folder. Throws std::runtime_error, with a sentence that says what
/// is wrong and what there is, where it names none.
Value stored_value(const std::string& mark, const std::filesystem::path& folder);

}  // namespace learn
