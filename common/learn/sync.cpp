#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/contract.h>
#include <learn/course.h>
#include <learn/document.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/process.h>
#include <learn/reports.h>
#include <learn/results.h>
#include <learn/text.h>
#include <learn/values.h>
#include <testing/data_file.h>
#include <testing/diagnosis.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// What the generated files ought to hold, by their path from the root.
using Texts = std::map<fs::path, std::string>;

std::string region_of(const Place& place, const fs::path& source, const std::string& name) {
  return region(read_text(place.root / source), source.string(), name);
}

/// Every solution with its copies of the chapter's code filled.
Texts solutions(const Place& place, const std::vector<Chapter>& course) {
  Texts texts;
  for (const Chapter& chapter : course) {
    const fs::path folder = fs::path("chapters") / chapter.name;
    const auto read = [&](const std::string& source, const std::string& name) {
      return region_of(place, fs::exists(place.root / folder / source) ? folder / source : fs::path(source), name);
    };
    for (const Exercise& exercise : chapter.exercises) {
      if (exercise.reading) continue;
      texts[exercise.solution] = filled(read_text(place.root / exercise.solution), exercise.solution.string(), read);
    }
  }
  return texts;
}

/// The stub of each exercise, from the solutions as they ought to be.
Texts stubs(const Texts& solutions) {
  Texts texts;
  for (const auto& [solution, text] : solutions) {
    texts["exercises" / solution.lexically_relative("solutions")] = stub(text, solution.string());
  }
  return texts;
}

/// The lines behind <!-- table: chapters -->.
std::string table_of_chapters(const std::vector<Chapter>& course) {
  std::string table = "| chapter | idea | exercises |\n|---|---|---|\n";
  for (const Chapter& chapter : course) {
    std::string exercises;
    for (const Exercise& exercise : chapter.exercises) {
      exercises += fmt::format("{}{} {}", exercises.empty() ? "" : "<br>", exercise.id, exercise.title);
    }
    table += fmt::format("| [{} {}](chapters/{}/README.md) | {} | {} |\n", chapter.number, chapter.title, chapter.name,
                         chapter.idea, exercises);
  }
  return table;
}

/// What a command prints. ./learn is this program; build/simt/… are programs of this build folder; docs/results/… is
/// what a program printed on a GPU.
std::string printed_by(const Place& place, const std::string& command) {
  const std::string learn = "./learn ", built = "build/simt/";
  if (command.starts_with("docs/results/")) return read_text(place.root / command);
  std::string shell = command;
  if (command.starts_with(learn)) {
    shell = fmt::format("'{}' {}", fs::read_symlink("/proc/self/exe").string(), command.substr(learn.size()));
    // A README shows what a reader sees who starts, whatever stands in exercises/ here.
    if (command.starts_with(learn + "check ")) shell += " --pristine";
  } else if (command.starts_with(built)) {
    shell = fmt::format("'{}'/{}", place.build.string(), command.substr(built.size()));
  } else {
    throw std::runtime_error("an output block quotes ./learn …, build/simt/… or docs/results/…, not '" + command +
                             "'.");
  }
  const Finished finished = run({"/bin/sh", "-c", shell});
  if (finished.exit_code > failure) {
    throw std::runtime_error(
        fmt::format("'{}' ended with exit code {}:\n{}", command, finished.exit_code, finished.output));
  }
  const std::string printed = with_short_paths(finished.output, place);
  return command.starts_with(learn + "check ") ? replaced(printed, "STUB", "YOUR CODE") : printed;
}

/// What a command quoted in a README prints, through its pipe if it has one. Many quote parts of the same output, so
/// each command runs once.
std::string output_of(const Place& place, const std::string& command) {
  static std::map<std::string, std::string> outputs;
  const std::size_t pipe = command.find(" | ");
  const std::string source = command.substr(0, pipe);
  if (!outputs.contains(source)) outputs[source] = printed_by(place, source);
  if (pipe == std::string::npos) return outputs[source];

  const fs::path file = place.build / "output.txt";
  write_text(file, outputs[source]);
  const Finished filtered =
      run({"/bin/sh", "-c", fmt::format("{{ {}; }} < '{}'", command.substr(pipe + 3), file.string())});
  if (filtered.exit_code != 0) {
    throw std::runtime_error(
        fmt::format("the pipe of '{}' ended with exit code {}:\n{}", command, filtered.exit_code, filtered.output));
  }
  return filtered.output;
}

/// The picture that a command draws: ./learn trace …, ./learn numerics … or ./learn chart …, without its --svg.
std::string figure_of(const Place& place, const std::string& command) {
  static const std::vector<std::string> drawing = {"./learn trace ", "./learn numerics ", "./learn chart "};
  if (std::none_of(drawing.begin(), drawing.end(),
                   [&](const std::string& start) { return command.starts_with(start); }))
    throw std::runtime_error("a figure is drawn by ./learn trace …, ./learn numerics … or ./learn chart …, not by '" +
                             command + "'.");
  const fs::path drawn = place.build / "figure.svg";
  fs::remove(drawn);
  printed_by(place, fmt::format("{} --svg '{}'", command, drawn.string()));
  return read_text(drawn);
}

bool is_document_folder(const fs::path& folder) {
  const std::string name = folder.filename();
  return !name.starts_with('.') && name != "build";
}

/// Every Markdown file with its generated blocks filled, and the figures that they show.
Texts documents(const Place& place, const std::vector<Chapter>& course) {
  Texts texts;
  for (auto entry = fs::recursive_directory_iterator(place.root); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (entry->is_directory() && !is_document_folder(entry->path())) entry.disable_recursion_pending();
    if (!entry->is_regular_file() || entry->path().extension() != ".md") continue;
    const fs::path file = entry->path().lexically_relative(place.root);
    const BlockSources sources{
        .code =
            [&](const std::string& file_and_region) {
              const std::size_t hash = file_and_region.find('#');
              if (hash == std::string::npos)
                throw std::runtime_error("a code block names a file and a region: file.cuh#region.");
              const fs::path source = file_and_region.substr(0, hash);
              const fs::path beside = file.parent_path() / source;
              return region_of(place, fs::exists(place.root / beside) ? beside : source,
                               file_and_region.substr(hash + 1));
            },
        .output = [&](const std::string& command) { return output_of(place, command); },
        .table =
            [&](const std::string& name) {
              if (name == "chapters") return table_of_chapters(course);
              if (name == "reports not yet") return not_yet_table(testing::data_table("reports.csv"));
              // A command works from the root, and so its sentences name files from there.
              return stored_table(name, "docs/results");
            },
        .figure =
            [&](const std::string& command, const std::string& image) {
              const fs::path picture = (file.parent_path() / image).lexically_normal();
#ifdef __clang__
              // A trace shows counts, and counts are g++'s: clang copies a struct in other pieces. It stays as it is.
              if (command.starts_with("./learn trace ")) return;
#endif
              texts[picture] = figure_of(place, command);
            },
        .data =
            [&](const std::string& command, const std::string& data) {
              texts[(file.parent_path() / data).lexically_normal()] = output_of(place, command);
            },
        .value = [](const std::string& mark) { return stored_value(mark, "docs/results"); },
    };
    texts[file] = filled_document(read_text(entry->path()), file.string(), sources);
  }
  return texts;
}

/// docs/mistakes.md: the known mistakes that a test names where wrong values look like theirs.
std::string mistakes_page() {
  std::string page =
      "# Known mistakes\n\n"
      "When values are wrong, the test compares them with what each of these mistakes would have computed, in double\n"
      "precision. The one that fits is named; if two fit, both are; if none does, the test says so. `./learn check` "
      "shows\n"
      "it, and so does the test program by itself. [mutants.md](mutants.md) shows which of them each known-wrong "
      "variant\n"
      "of a reference is taken for.\n\n"
      "This page is generated by `./learn sync` from `common/testing/diagnosis.cpp`.\n\n"
      "| name | the mistake | read |\n|---|---|---|\n";
  for (const testing::Mistake& mistake : testing::mistakes()) {
    page += fmt::format("| `{}` | {} | [{}](../{}) |\n", mistake.name, mistake.sentence, mistake.section, mistake.file);
  }
  return page;
}

std::vector<TestList> test_lists(const Place& place, const std::vector<Chapter>& course) {
  std::vector<TestList> lists;
  for (const Chapter& chapter : course) {
    const std::string program = chapter.name + "_test";
    const Finished listed = run({(place.build / "chapters" / program).string(), "--list-test-cases"});
    if (listed.exit_code != 0)
      throw std::runtime_error(fmt::format("{} does not list its tests:\n{}", program, listed.output));
    lists.push_back({program, listed.output});
  }
  return lists;
}

}  // namespace

ExitCode sync_files(const Place& place, const SyncOptions& options) {
  bool stale = false;
  // One kind after the other, because documents quote solutions: what is written here is read there.
  const auto deliver = [&](const Texts& texts) {
    for (const auto& [file, text] : texts) {
      const std::string old = fs::exists(place.root / file) ? read_text(place.root / file) : "";
      if (old == text) continue;
      stale = true;
      if (options.check) {
        fmt::print("{}", difference(file.string(), old, text));
      } else {
        write_text(place.root / file, text);
        fmt::print("wrote {}\n", file.string());
      }
      std::fflush(stdout);
    }
  };
  const std::vector<Chapter> course = chapters(place.root);
  const Texts complete_solutions = solutions(place, course);
  deliver(complete_solutions);
  if (options.exercises) deliver(stubs(complete_solutions));
  Texts pages = documents(place, course);
  const std::vector<TestList> tests = test_lists(place, course);
  pages["docs/contract.md"] = contract_page(read_text(place.root / "common/testing/contract.txt"), tests);
  pages["docs/reports.md"] = reports_page(testing::data_table("reports.csv"), tests);
  pages["docs/mistakes.md"] = mistakes_page();
  deliver(pages);

  if (options.check && stale) {
    fmt::print("Generated text is stale: ./learn sync{} writes it afresh.\n", options.exercises ? " --exercises" : "");
    return failure;
  }
  if (!stale) fmt::print("Everything generated is as its source says.\n");
  return success;
}

}  // namespace learn
