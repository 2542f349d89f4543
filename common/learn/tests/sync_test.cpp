/// Regions, stubs, copies of a chapter's code, and the generated blocks of Markdown files.
#include "error_of.h"

#include <doctest/doctest.h>
#include <learn/document.h>
#include <learn/marks.h>

namespace {

const char* const kernel_file = R"(#pragma once

// [kernel]
namespace copy {
  // [body]
  y[i] = x[i];

    if (i == 0) return;
  // [/body]
}
// [/kernel]
)";

}  // namespace

TEST_CASE("a region is what lies between its marks, shifted to the left edge") {
  CHECK(learn::region(kernel_file, "copy.cuh", "body") == "y[i] = x[i];\n\n  if (i == 0) return;\n");
}

TEST_CASE("a region leaves out the marks inside it") {
  CHECK(learn::region(kernel_file, "copy.cuh", "kernel") ==
        "namespace copy {\n  y[i] = x[i];\n\n    if (i == 0) return;\n}\n");
}

TEST_CASE("regions may overlap") {
  const char* text = "// [a]\n1\n// [b]\n2\n// [/a]\n3\n// [/b]\n";
  CHECK(learn::region(text, "f", "a") == "1\n2\n");
  CHECK(learn::region(text, "f", "b") == "2\n3\n");
}

TEST_CASE("a comment about a shape is no mark") {
  const char* text = "// [a]\n// [rows][cols] row-major\n// [cols], or null\n// [/a]\n";
  CHECK(learn::region(text, "f", "a") == "// [rows][cols] row-major\n// [cols], or null\n");
}

TEST_CASE("write exercise: the solution becomes one TODO with the hint, at its indentation") {
  CHECK(learn::stub("f() {\n  // [solution] Add up the row.\n  sum += x;\n  n += 1;\n  // [/solution]\n}\n", "f") ==
        "f() {\n  // TODO: Add up the row.\n}\n");
}

TEST_CASE("write exercise with a placeholder: the TODO, then the lines behind [stub]") {
  CHECK(learn::stub(
            "  // [solution] Return the mean.\n  return sum / n;\n  // [stub]\n  // return 0.0f;\n  // [/solution]\n",
            "f") == "  // TODO: Return the mean.\n  return 0.0f;\n");
}

TEST_CASE("mend exercise: the planted lines stand in the stub and nothing marks the place") {
  const char* solution =
      "  // Every thread reads its neighbour's sum.\n"
      "  // [solution]\n  __syncthreads();\n  sum += shared[1];\n"
      "  // [stub]\n  // if (a) {\n  //   sum += shared[0];\n  //\n  // }\n  // [/solution]\n  return sum;\n";
  CHECK(learn::stub(solution, "f") ==
        "  // Every thread reads its neighbour's sum.\n  if (a) {\n    sum += shared[0];\n\n  }\n  return sum;\n");
}

TEST_CASE("a stub has no marks of regions and copies, and keeps the code that is given") {
  CHECK(learn::stub("// [kernel]\n// [from a.cuh#b]\ngiven();\n// [/from]\n// [solution] Do it.\n// [from "
                    "a.cuh#c]\nx\n// [/from]\n// "
                    "[/solution]\n// [/kernel]\n",
                    "f") == "given();\n// TODO: Do it.\n");
}

TEST_CASE("a wrong mark is refused with file, line and what to do") {
  using learn::region, learn::stub;
  CHECK(error_of([] { region("// [a]\n", "k.cuh", "a"); }) ==
        "k.cuh:1: [a] is not closed; add // [/a] behind its last line.");
  CHECK(error_of([] { region("\n// [/a]\n", "k.cuh", "a"); }) == "k.cuh:2: [/a] closes a region that was not opened.");
  CHECK(error_of([] { region("// [a]\n// [/a]\n", "k.cuh", "b"); }) == "k.cuh:1: there is no region [b].");
  CHECK(error_of([] { region("// [a]\n// [/a]\n// [a]\n// [/a]\n", "k.cuh", "a"); }) ==
        "k.cuh:3: there is a second region [a].");
  CHECK(error_of([] { stub("int x;\n", "s.cuh"); }) ==
        "s.cuh:1: a solution marks what the reader writes with // [solution]; there is no such mark.");
  CHECK(error_of([] { stub("// [solution] a\n// [solution] b\n// [/solution]\n", "s.cuh"); }) ==
        "s.cuh:2: [solution] is still open since line 1.");
  CHECK(error_of([] { stub("// [solution]\nx\n// [/solution]\n", "s.cuh"); }) ==
        "s.cuh:1: this [solution] has neither a hint nor a [stub] part.");
  CHECK(error_of([] { stub("// [solution]\nx\n// [stub]\ny\n// [/solution]\n", "s.cuh"); }) ==
        "s.cuh:4: a line of a [stub] part starts with '// ', indented like its [solution].");
  CHECK(error_of([] { stub("// [stub]\n", "s.cuh"); }) == "s.cuh:1: [stub] stands outside a [solution].");
  CHECK(error_of([] { stub("// [solutoin] typing error\nx\n// [/solution]\n", "s.cuh"); }) ==
        "s.cuh:3: [/solution] closes a region that was not opened.");
}

TEST_CASE("a copy of a chapter's region is filled at the indentation of its mark") {
  const auto read = [](const std::string& source, const std::string& name) {
    CHECK(source == "copy.cuh");
    CHECK(name == "body");
    return std::string("a();\n\n  b();\n");
  };
  CHECK(learn::filled("{\n  // [from copy.cuh#body]\n  old\n  // [/from]\n}\n", "s.cuh", read) ==
        "{\n  // [from copy.cuh#body]\n  a();\n\n    b();\n  // [/from]\n}\n");
}

TEST_CASE("a copy whose source is missing names the place that asks for it") {
  const auto read = [](const std::string&, const std::string&) -> std::string {
    throw std::runtime_error("no such file.");
  };
  CHECK(error_of([&] { learn::filled("\n// [from a.cuh#b]\n// [/from]\n", "s.cuh", read); }) ==
        "s.cuh:2: [from …] cannot be filled: no such file.");
}

namespace {

const learn::BlockSources sources{
    .code = [](const std::string& name) { return "code of " + name + "\n"; },
    .output = [](const std::string& command) { return "output of " + command + "\n"; },
    .table = [](const std::string& name) { return "table " + name + "\n"; },
    .figure = [](const std::string& command,
                 const std::string& file) { throw std::runtime_error("drew " + file + " by " + command + "."); },
    .data = [](const std::string& command,
               const std::string& file) { throw std::runtime_error("stored " + file + " by " + command + "."); },
    .value = [](const std::string& mark) -> learn::Value {
      if (mark == "one") return {"0.86"};
      if (mark == "same") return {"0.86", true};
      if (mark == "two") return {"−1 to 17 %", true};
      if (mark == "large") return {"11 923"};
      throw std::runtime_error("there is nothing of " + mark + ".");
    },
};

}  // namespace

TEST_CASE("generated blocks of a document are filled, the text around them stays") {
  CHECK(learn::filled_document("# Title\n<!-- code: a.cuh#b -->\n```cpp\nold\nold\n```\ntext\n", "README.md",
                               sources) == "# Title\n<!-- code: a.cuh#b -->\n```cpp\ncode of a.cuh#b\n```\ntext\n");
  CHECK(learn::filled_document("<!-- output: ./learn list -->\n```text\n```\n", "README.md", sources) ==
        "<!-- output: ./learn list -->\n```text\noutput of ./learn list\n```\n");
  CHECK(learn::filled_document("<!-- table: chapters -->\n| old |\n<!-- /table -->\n", "README.md", sources) ==
        "<!-- table: chapters -->\ntable chapters\n<!-- /table -->\n");
}

TEST_CASE("a mark inside a fenced block is text about marks") {
  const std::string text = "```\n<!-- code: a.cuh#b -->\n```\n";
  CHECK(learn::filled_document(text, "README.md", sources) == text);
}

TEST_CASE("a mark without its block is refused with file and line") {
  const auto fill = [](const char* text) {
    return error_of([&] { learn::filled_document(text, "README.md", sources); });
  };
  CHECK(fill("\n<!-- code: a#b -->\ntext\n") ==
        "README.md:2: the line behind this mark must open a fenced block with ```.");
  CHECK(fill("<!-- code: a#b -->\n```cpp\n") == "README.md:2: the fenced block is not closed.");
  CHECK(fill("<!-- table: chapters -->\n") == "README.md:1: the table is not closed; add <!-- /table -->.");
  CHECK(fill("<!-- figure: ./learn trace 00 -->\ntext\n") ==
        "README.md:1: the line behind this mark must be an image: ![words](file.svg).");
  CHECK(fill("<!-- figure: ./learn trace 00 -->\n![a](b.svg)\n") ==
        "README.md:1: the figure cannot be made: drew b.svg by ./learn trace 00.");
  CHECK(fill("<!-- data: ./learn list -->\n![a](b.svg)\n") ==
        "README.md:1: the line behind this mark must hold a link: [words](file.json).");
  CHECK(fill("<!-- data: ./learn list -->\nAll: [a](b.json).\n") ==
        "README.md:1: the data cannot be made: stored b.json by ./learn list.");
  CHECK(fill("```\n") == "README.md:1: a fenced block is not closed.");
}

TEST_CASE("a figure is drawn into the file of the image behind its mark; the text stays") {
  std::string drawn;
  learn::BlockSources drawing = sources;
  drawing.figure = [&](const std::string& command, const std::string& file) {
    drawn += file + " by " + command + "\n";
  };
  const std::string text = "a\n<!-- figure: ./learn trace 00 -->\n![lanes (32)](../docs/a.svg)\nb\n![c](c.svg)\n";
  CHECK(learn::filled_document(text, "README.md", drawing) == text);
  CHECK(drawn == "../docs/a.svg by ./learn trace 00\n");
}

TEST_CASE("data are stored in the file of the link behind their mark; the text stays") {
  std::string stored;
  learn::BlockSources storing = sources;
  storing.data = [&](const std::string& command, const std::string& file) { stored += file + " by " + command + "\n"; };
  const std::string text = "<!-- data: ./learn list --json -->\nThe list is in [a](../data/a.json).\n";
  CHECK(learn::filled_document(text, "README.md", storing) == text);
  CHECK(stored == "../data/a.json by ./learn list --json\n");
}

TEST_CASE("the figure before a mark in prose is written, the text around it stays") {
  const auto filled = [](const std::string& text) { return learn::filled_document(text, "README.md", sources); };
  CHECK(filled("It is 0.5<!-- value: one --> of a copy.\n") == "It is 0.86<!-- value: one --> of a copy.\n");
  CHECK(filled("7<!-- value: two --> more, 1 to 2.5 %<!-- value: same --> less\n") ==
        "−1 to 17 %<!-- value: two --> more, 0.86<!-- value: same --> less\n");
  CHECK(filled("| a | (−3 to 4<!-- value: two -->) |\n") == "| a | (−1 to 17 %<!-- value: two -->) |\n");
  CHECK(filled("12 000.5<!-- value: large -->\n") == "11 923<!-- value: large -->\n");
  // A number before the figure is none of it.
  CHECK(filled("from 256 to 7<!-- value: one -->\n") == "from 256 to 0.86<!-- value: one -->\n");
  CHECK(filled("of 4096 123<!-- value: one -->\n") == "of 4096 0.86<!-- value: one -->\n");
  CHECK(filled("of 128 0.5<!-- value: two -->\n") == "of 128 −1 to 17 %<!-- value: two -->\n");
}

TEST_CASE("no figure is written in code, in a fenced block and in a generated block") {
  for (const char* text :
       {"see `5<!-- value: one -->`, and `a` and `<!-- value: none -->`\n", "```\n5<!-- value: one -->\n```\n"})
    CHECK(learn::filled_document(text, "README.md", sources) == text);
  learn::BlockSources quoting = sources;
  quoting.table = [](const std::string&) { return "5<!-- value: one -->\n"; };
  const std::string table = "<!-- table: a -->\n5<!-- value: one -->\n<!-- /table -->\n";
  CHECK(learn::filled_document(table, "README.md", quoting) == table);
}

TEST_CASE("a mark in prose that nothing can be written for is refused with file and line") {
  const auto fill = [](const char* text) {
    return error_of([&] { learn::filled_document(text, "README.md", sources); });
  };
  for (const char* none : {"\nfast <!-- value: one -->", "\n<!-- value: one -->", "\nv2.x<!-- value: one -->"}) {
    CHECK(fill(none) == "README.md:2: there is no figure directly before '<!-- value: one -->'; write 0.86 there.");
  }
  CHECK(fill("a\n5<!-- value: x -->") == "README.md:2: the figure cannot be written: there is nothing of x.");
  CHECK(fill("a\n5<!-- values: one -->") ==
        "README.md:2: there is no mark '<!-- values: one -->' for a line of prose; a figure's is <!-- value: … -->.");
}

TEST_CASE("a difference shows the changed lines and where they are") {
  CHECK(learn::difference("f", "a\nb\nc\n", "a\nb\nc\n") == "");
  CHECK(learn::difference("f", "a\nb\nc\n", "a\nx\nc\nd\n") ==
        "--- f\n+++ as its source says\n@@ line 2 @@\n-b\n+x\n@@ line 4 @@\n+d\n");
  CHECK(learn::difference("f", "", "a\n") == "--- f\n+++ as its source says\n@@ line 1 @@\n+a\n");
}
