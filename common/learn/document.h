/// The generated blocks of a Markdown file: quoted code, quoted program output, tables.
///
///   <!-- code: file.cuh#region -->      and a fenced block: the region of that source
///   <!-- output: ./learn list -->       and a fenced block: what the command prints
///   <!-- output: docs/results/h200/atomic.txt -->   likewise: what that file holds
///   <!-- figure: ./learn trace 00 -->   and an image, ![words](file.svg): the picture that the command draws
///   <!-- data: ./learn numerics kappa --json -->   and a line with a link, [words](file.json): what the command prints
///   <!-- table: chapters -->  …  <!-- /table -->
///   <!-- table: results CARD/NAME -->  …  <!-- /table -->   the measurements in docs/results/CARD/NAME.json
///   <!-- table: fractions CARD/NAME … -->  …  <!-- /table -->   the same as fractions of a copy, kernels × columns
///   <!-- table: fractions CARD/NAME only shape,wide -->  …  <!-- /table -->   some of its kernels
///   <!-- table: page CARD/NAME only shape -->  …  <!-- /table -->   the table of docs/results/CARD/NAME.md
///   <!-- table: peers OPERATION CARD/NAME -->  …  <!-- /table -->   those of the kernels and peers of an operation
///   <!-- table: noise CARD -->  …  <!-- /table -->   the points that differ in docs/results/CARD/second
///
/// and the figures in its prose:
///
///   0.86<!-- value: of_copy CARD/NAME KERNEL 4096 --> of a copy   the figure before the mark, as values.h says
///
/// Inside a fenced block such a line is plain text, and so is a mark in a code span.
#pragma once

#include <functional>
#include <string>

namespace learn {

/// A figure in prose: "0.86", "0.92 to 0.96", "6 to 17 %".
struct Value {
  std::string text;
  bool of_several = false;  // so it may stand for "least to most", also where both are the same
};

/// Where the content of each kind of block comes from. Each throws std::runtime_error with a sentence where it cannot
/// say.
struct BlockSources {
  std::function<std::string(const std::string& file_and_region)> code;
  std::function<std::string(const std::string& command)> output;
  std::function<std::string(const std::string& name)> table;
  std::function<void(const std::string& command, const std::string& file)> figure;  // file: as the image line has it
  std::function<void(const std::string& command, const std::string& file)> data;    // file: as the link has it
  std::function<Value(const std::string& mark)> value;
};

/// text with every generated block and figure filled; a mark without its block or its figure throws MarkError with file
/// and line.
std::string filled_document(const std::string& text, const std::string& file, const BlockSources& sources);

/// A short difference for a person: the changed lines, - as it is and + as its source says. Empty where they are equal.
std::string difference(const std::string& file, const std::string& is, const std::string& should_be);

}  // namespace learn
