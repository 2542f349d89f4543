#include "mutants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <learn/files.h>
#include <learn/text.h>
#include <testing/diagnosis.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mutants {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t least_mutants = 5;  // of an exercise

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The exercise that a task belongs to: "01_three_pass", "2_block_tree" -> "01.2".
std::string exercise_of(const std::string& chapter, const std::string& task) {
  return chapter.substr(0, 2) + "." + task.substr(0, task.find('_'));
}

/// The text with what is to be replaced replaced.
std::string changed(const std::string& text, const std::string& replace, const std::string& with,
                    const std::string& name) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(replace, at)) != std::string::npos; ++at) ++count;
  if (replace.empty() || count != 1) {
    throw std::runtime_error(fmt::format(
        "The mutant {} no longer applies: its text to be replaced occurs {} times in the solution, and must occur "
        "exactly once. Mend the entry in mutants.json. The text is:\n{}",
        name, count, replace));
  }
  const std::size_t at = text.find(replace);
  return text.substr(0, at) + with + text.substr(at + replace.size());
}

/// An exercise of a course.
struct Task {
  std::string chapter;  // "04_warp_block_welford"
  std::string task;     // "1_warp_reduce"
  std::string exercise() const { return exercise_of(chapter, task); }
  bool is_called(const std::string& name) const {
    return name == task || name == chapter + "/" + task || name == exercise();
  }
};

std::vector<Task> tasks_of(const fs::path& course) {
  const std::string ending = "_test.cu";
  std::vector<Task> tasks;
  for (const fs::path& chapter : sorted_entries(course / "exercises")) {
    if (!fs::is_directory(chapter)) continue;
    for (const fs::path& file : sorted_entries(chapter)) {
      const std::string name = file.filename();
      if (name.ends_with(ending)) tasks.push_back({chapter.filename(), name.substr(0, name.size() - ending.size())});
    }
  }
  return tasks;
}

/// One entry of a list of mutants, with sentences for what is wrong with it.
class Entry {
public:
  Entry(const nlohmann::json& entry, const fs::path& file, std::size_t number)
      : entry_(entry), where_(fmt::format("Entry {} of {}", number, file.string())) {
    if (!entry.is_object()) refuse("is no object of the form {\"task\": …, \"name\": …, …}");
  }

  /// The text under one of these keys; empty if none of them is there.
  std::string optional(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys) {
      const auto found = entry_.find(key);
      if (found == entry_.end() || found->is_null()) continue;
      if (!found->is_string()) refuse(fmt::format("has a \"{}\" that is no text", key));
      return found->get<std::string>();
    }
    return "";
  }
  bool has(const std::string& key) const { return entry_.contains(key); }
  std::string text(const std::vector<std::string>& keys) const {
    std::string found = optional(keys);
    if (found.empty()) refuse(fmt::format("has no \"{}\"", fmt::join(keys, "\" and no \"")));
    return found;
  }
  [[noreturn]] void refuse(const std::string& what) const { throw std::runtime_error(where_ + " " + what + "."); }

private:
  const nlohmann::json& entry_;
  std::string where_;
};

/// The task that an entry means: an exercise of the chapter whose list it is in, or, of a list from elsewhere, any.
const Task& task_of(const Entry& entry, const std::vector<Task>& tasks) {
  const std::string name = entry.text({"task", "exercise"});
  std::vector<const Task*> meant;
  for (const Task& task : tasks)
    if (task.is_called(name)) meant.push_back(&task);
  if (meant.empty())
    entry.refuse(fmt::format("is for the exercise {}, which is not there; name it as 04.1, as 1_warp_reduce or as "
                             "04_warp_block_welford/1_warp_reduce",
                             name));
  if (meant.size() > 1)
    entry.refuse(fmt::format("is for the exercise {}, and {} and {} are both called so; put the chapter before it, as "
                             "in {}/{}",
                             name, meant[0]->exercise(), meant[1]->exercise(), meant[0]->chapter, meant[0]->task));
  return *meant[0];
}

Mutant mutant_of(const Entry& entry, const std::vector<Task>& tasks, const fs::path& file, const fs::path& solutions) {
  const Task& task = task_of(entry, tasks);
  Mutant mutant{.exercise = task.exercise(),
                .name = entry.text({"name", "mutant"}),
                .mistake = entry.optional({"mistake"}),
                .oracle = entry.optional({"oracle"}),
                .solution = solutions / task.chapter / (task.task + ".cuh"),
                .text = ""};
  const auto known = testing::mistakes();
  if (!mutant.oracle.empty() &&
      std::none_of(known.begin(), known.end(), [&](const testing::Mistake& m) { return m.name == mutant.oracle; }))
    entry.refuse(
        fmt::format("has the oracle {}, and no mistake in common/testing/diagnosis.cpp has that name", mutant.oracle));
  if (entry.has("source")) {
    if (entry.has("replace") || entry.has("with"))
      entry.refuse(
          "has a \"source\", which is a whole file, and \"replace\" or \"with\" as well; leave out one of the two");
    mutant.text = learn::read_text(file.parent_path() / entry.text({"source"}));
    return mutant;
  }
  if (!entry.has("replace") || !entry.has("with"))
    entry.refuse("says neither by \"replace\" and \"with\" nor by \"source\" what its mistake looks like");
  mutant.text = changed(learn::read_text(mutant.solution), entry.optional({"replace"}), entry.optional({"with"}),
                        mutant.exercise + " " + mutant.name);
  return mutant;
}

/// The mutants of a list, in its order.
std::vector<Mutant> mutants_in(const fs::path& file, const std::vector<Task>& tasks, const fs::path& solutions) {
  nlohmann::json list;
  try {
    list = nlohmann::json::parse(learn::read_text(file));
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{} cannot be read: {}", file.string(), error.what()));
  }
  if (list.is_object() && list.contains("mutants")) list = nlohmann::json(list["mutants"]);
  if (!list.is_array())
    throw std::runtime_error(
        fmt::format("{} holds no list of mutants; it must be [ … ] or {{\"mutants\": [ … ]}}.", file.string()));
  std::vector<Mutant> mutants;
  for (const nlohmann::json& entry : list)
    mutants.push_back(mutant_of(Entry(entry, file, mutants.size() + 1), tasks, file, solutions));
  return mutants;
}

bool is_wanted(const std::string& exercise, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return exercise == name || exercise.starts_with(name + ".");
         });
}

}  // namespace

namespace {

/// Throws where nothing has one of these names.
void require_known(const std::vector<std::string>& names, const std::vector<Task>& tasks) {
  for (const std::string& name : names) {
    if (std::none_of(tasks.begin(), tasks.end(), [&](auto& task) { return is_wanted(task.exercise(), {name}); }))
      throw std::runtime_error(
          fmt::format("There is no exercise and no chapter {} with tests; name them as 01.2 or 01.", name));
  }
}

}  // namespace

std::vector<Mutant> mutants_of(const fs::path& course, const std::vector<std::string>& names) {
  const std::vector<Task> tasks = tasks_of(course);
  require_known(names, tasks);
  std::vector<Mutant> mutants;
  for (const fs::path& chapter : sorted_entries(course / "exercises")) {
    const fs::path file = chapter / "mutants.json";
    if (!fs::exists(file)) continue;
    std::vector<Task> own = tasks;
    std::erase_if(own, [&](const Task& task) { return task.chapter != chapter.filename(); });
    if (std::none_of(own.begin(), own.end(), [&](auto& task) { return is_wanted(task.exercise(), names); })) continue;
    for (Mutant& mutant : mutants_in(file, own, course / "solutions"))
      if (is_wanted(mutant.exercise, names)) mutants.push_back(std::move(mutant));
  }
  for (const Task& task : tasks) {
    const auto count = static_cast<std::size_t>(std::count_if(
        mutants.begin(), mutants.end(), [&](auto& mutant) { return mutant.exercise == task.exercise(); }));
    if (is_wanted(task.exercise(), names) && count < least_mutants)
      throw std::runtime_error(fmt::format("The exercise {} has {} mutants and must have at least {}. Add known-wrong "
                                           "variants of its solution to its chapter's mutants.json.",
                                           task.exercise(), count, least_mutants));
  }
  return mutants;
}

std::vector<Mutant> mutants_in_file(const fs::path& file, const fs::path& course,
                                    const std::vector<std::string>& names) {
  const std::vector<Task> tasks = tasks_of(course);
  require_known(names, tasks);
  std::vector<Mutant> mutants = mutants_in(fs::absolute(file), tasks, course / "solutions");
  std::erase_if(mutants, [&](const Mutant& mutant) { return !is_wanted(mutant.exercise, names); });
  return mutants;
}

namespace {

/// FNV-1a, 64 bits: one after the other, in whatever pieces.
class Digest {
public:
  void add(const std::string& text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

/// The files that make up the libraries of a test, but for the libraries' own tests and texts.
std::set<fs::path> library_files(const fs::path& root) {
  std::set<fs::path> files;
  for (const char* library : {"host", "simt", "testing"}) {
    const fs::path folder = root / "common" / library;
    for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->is_directory() && entry->path().filename() == "tests") entry.disable_recursion_pending();
      if (entry->is_regular_file() && entry->path().extension() != ".md") files.insert(entry->path());
    }
  }
  return files;
}

}  // namespace

Digests digests_of(const std::vector<Mutant>& mutants, const std::vector<rebuild::Test>& tests, const fs::path& root) {
  const std::set<fs::path> libraries = library_files(root);
  std::map<std::string, std::set<fs::path>> sources;
  std::map<std::string, std::string> texts;
  for (const Mutant& mutant : mutants) {
    texts[mutant.exercise] += mutant.name + "\n" + mutant.oracle + "\n" + mutant.text;
    std::set<fs::path>& files = sources[mutant.exercise];
    if (!files.empty()) continue;
    files = libraries;
    files.insert(mutant.solution);
    for (const rebuild::Test& test : tests)
      if (test.compiles(mutant.solution))
        for (const rebuild::Object& object : test.objects) files.insert(object.sources.begin(), object.sources.end());
  }
  Digests digests;
  for (const auto& [exercise, files] : sources) {
    Digest digest;
    for (const fs::path& file : files) digest.add(learn::read_text(file));
    digest.add(texts[exercise]);
    digests[exercise] = digest.text();
  }
  return digests;
}

std::vector<std::size_t> sample_of(const std::vector<Mutant>& mutants, const Digests& digests, const Digests& known,
                                   std::size_t n) {
  std::vector<std::size_t> sample;
  std::string exercise;
  std::size_t number = 0, first = 0, step = 1;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    if (mutants[i].exercise != exercise) {
      exercise = mutants[i].exercise;
      const std::string& digest = digests.at(exercise);
      const auto found = known.find(exercise);
      step = found != known.end() && found->second == digest ? n : 1;
      first = std::stoull(digest, nullptr, 16) % step;
      number = 0;
    }
    if (number++ % step == first) sample.push_back(i);
  }
  return sample;
}

Diagnosis diagnosis_of(const Mutant& mutant, const Verdict& verdict) {
  const auto& names = verdict.diagnosis;
  if (names.empty()) return mutant.oracle.empty() ? Diagnosis::none_asked : Diagnosis::missed;
  const bool named = std::find(names.begin(), names.end(), mutant.oracle) != names.end();
  return named ? Diagnosis::right : Diagnosis::wrong;
}

namespace {

/// How many mutants end in this way.
struct Counts {
  std::size_t killed = 0, oracles = 0, right = 0, wrong = 0;
};
Counts counts_of(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts) {
  Counts counts;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    const Diagnosis diagnosis = diagnosis_of(mutants[i], verdicts[i]);
    if (!verdicts[i].killed_by.empty()) ++counts.killed;
    if (!mutants[i].oracle.empty()) ++counts.oracles;
    if (diagnosis == Diagnosis::right) ++counts.right;
    if (diagnosis == Diagnosis::wrong) ++counts.wrong;
  }
  return counts;
}

}  // namespace

bool all_is_well(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts) {
  const Counts counts = counts_of(mutants, verdicts);
  return counts.killed == mutants.size() && counts.wrong == 0 && 10 * counts.right >= 9 * counts.oracles;
}

std::vector<std::string> named_mistakes(const std::string& output) {
  std::istringstream lines(output);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find("likely mistake: "), end = line.rfind("); read ");
    if (start == std::string::npos || end == std::string::npos || end < start) continue;
    const std::size_t open = line.rfind('(', end);
    const std::string name = line.substr(open + 1, end - open - 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string first_failure(const std::string& output) {
  const std::string title = "TEST CASE:  ";
  std::istringstream lines(output);
  std::string test_case;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(title)) test_case = line.substr(title.size());
    if (line.find("ERROR: ") != std::string::npos && !test_case.empty()) {
      const std::string subject = "REFERENCE: ";
      return test_case.starts_with(subject) ? test_case.substr(subject.size()) : test_case;
    }
  }
  return "";
}

Verdict judge(const std::vector<rebuild::Test>& tests, const fs::path& build, const Mutant& mutant, int limit_seconds) {
  const auto test =
      std::find_if(tests.begin(), tests.end(), [&](const auto& t) { return t.compiles(mutant.solution); });
  if (test == tests.end())
    return {"", "No test of this build folder compiles its solution. Build the course again.", {}};
  rebuild::Test up_to_the_first_failure = *test;
  up_to_the_first_failure.arguments.push_back("--abort-after=1");
  const rebuild::Outcome outcome =
      rebuild::outcome_with(up_to_the_first_failure, build, mutant.solution, mutant.text, limit_seconds);
  switch (outcome.kind) {
    case rebuild::Outcome::not_compiled:
      return {"",
              "It does not compile, so it says nothing about the test. The compiler says:\n" +
                  outcome.output.substr(0, 2000),
              {}};
    case rebuild::Outcome::passed:
      return {"",
              test->name + " passes with it. Add a test to the exercise that sees this mistake" +
                  (mutant.mistake.empty() ? "." : ": " + mutant.mistake + "."),
              {}};
    case rebuild::Outcome::stopped: return {fmt::format("a hang, stopped after {} seconds", limit_seconds), "", {}};
    case rebuild::Outcome::failed: break;
  }
  const std::string test_case = first_failure(outcome.output);
  if (test_case.empty())
    return {
        "", test->name + " ended without a word about what is wrong. It said:\n" + outcome.output.substr(0, 2000), {}};
  const std::string finding = rebuild::first_finding(outcome.output, {"sync", "memory", "init", "race"});
  return {test_case + (finding.empty() ? "" : " (" + finding + ")"), "", named_mistakes(outcome.output)};
}

namespace {

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, " or ")); }

/// The width of a text on a terminal: its UTF-8 characters.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// The words of text in lines of at most 80 characters, each behind indent.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string result, line = indent;
  for (std::string word; words >> word;) {
    if (line != indent && width_of(line) + width_of(word) > 80) {
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += word + " ";
  }
  return result + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string diagnosis_text(const Mutant& mutant, const Verdict& verdict) {
  switch (diagnosis_of(mutant, verdict)) {
    case Diagnosis::right: return joined(verdict.diagnosis);
    case Diagnosis::wrong:
      return "WRONG " + joined(verdict.diagnosis) + (mutant.oracle.empty() ? "" : ", is " + mutant.oracle);
    case Diagnosis::missed: return "MISSED " + mutant.oracle;
    case Diagnosis::none_asked: break;
  }
  return "-";
}

}  // namespace

std::string matrix_entry(const Mutant& mutant, const Verdict& verdict) {
  const std::string head =
      fmt::format("{:<6}{:<33} {}\n", mutant.exercise, mutant.name, diagnosis_text(mutant, verdict));
  if (verdict.killed_by.empty()) return head + "      SURVIVED\n" + wrapped(verdict.sentence, "      ");
  return head + wrapped(verdict.killed_by, "      ");
}

std::string summary(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts) {
  const Counts counts = counts_of(mutants, verdicts);
  return fmt::format("{} of {} mutants killed; {} of {} with an oracle diagnosed by name, {} wrongly\n", counts.killed,
                     mutants.size(), counts.right, counts.oracles, counts.wrong);
}

std::string json(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts) {
  const auto or_null = [](const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    list.push_back({{"exercise", mutants[i].exercise},
                    {"mutant", mutants[i].name},
                    {"killed", !verdicts[i].killed_by.empty()},
                    {"killed_by", or_null(verdicts[i].killed_by)},
                    {"oracle", or_null(mutants[i].oracle)},
                    {"diagnosis", or_null(joined(verdicts[i].diagnosis))}});
  }
  return nlohmann::ordered_json{{"mutants", list}}.dump(2) + "\n";
}

std::string page(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts, const Digests& digests) {
  std::string page =
      "# Known-wrong kernels, and the tests that kill them\n\n"
      "A test is worth what it rejects. Each line here is the reference solution of an exercise with one mistake put\n"
      "into it. The exercise's own test is built against it and must fail, by a wrong value or by a finding of the\n"
      "executor. The third column is the test case that fails first; behind it, in brackets, the finding, where it "
      "was\n"
      "one. The last is which of the [known mistakes](mistakes.md) the test then names; where two give the same "
      "values,\n"
      "both; it is empty where the mistake has no oracle, or a finding comes first.\n\n"
      "The mistakes are in `exercises/*/mutants.json`. `./learn mutants` puts them in, one at a time, and with "
      "`--page`\n"
      "it writes this page, with a digest of all that an exercise's verdicts depend on. `./learn test --long` tries "
      "all\n"
      "mutants of an exercise whose digest has changed, and one in five of the others. `./learn mutants 01.2` tries "
      "those\n"
      "of one exercise.\n\n" +
      summary(mutants, verdicts);
  std::string exercise;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    if (mutants[i].exercise != exercise) {
      exercise = mutants[i].exercise;
      const auto digest = digests.find(exercise);
      page += fmt::format("\n## Exercise {}\n\nJudged with `{}`.\n\n", exercise,
                          digest == digests.end() ? "nothing" : digest->second);
      page += "| mutant | the mistake | killed by | diagnosis |\n|---|---|---|---|\n";
    }
    const std::string named = fmt::format("{}", fmt::join(verdicts[i].diagnosis, "` or `"));
    page += fmt::format("| `{}` | {} | {} | {} |\n", mutants[i].name, mutants[i].mistake,
                        learn::replaced(verdicts[i].killed_by, "|", "\\|"), named.empty() ? "" : "`" + named + "`");
  }
  return page;
}

std::vector<Verdict> verdicts_on(const std::string& page, const std::vector<Mutant>& mutants) {
  static const std::regex heading("## Exercise (.*)"), row(R"(\| `([^`]*)` \| .* \| (.*) \| (.*) \|)"),
      mistake("`([^`]*)`");
  std::map<std::pair<std::string, std::string>, Verdict> known;
  std::istringstream lines(page);
  std::string exercise;
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, heading)) exercise = found[1];
    if (!std::regex_match(line, found, row)) continue;
    const std::string diagnosis = found[3];
    Verdict verdict{learn::replaced(found[2].str(), "\\|", "|"), "", {}};
    for (std::sregex_iterator name(diagnosis.begin(), diagnosis.end(), mistake), end; name != end; ++name)
      verdict.diagnosis.push_back((*name)[1]);
    known[{exercise, found[1]}] = std::move(verdict);
  }
  std::vector<Verdict> verdicts;
  for (const Mutant& mutant : mutants) verdicts.push_back(known[{mutant.exercise, mutant.name}]);
  return verdicts;
}

Digests digests_on(const std::string& page) {
  static const std::regex heading("## Exercise (.*)"), judged("Judged with `(.*)`\\.");
  Digests digests;
  std::istringstream lines(page);
  std::string exercise;
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, heading)) exercise = found[1];
    if (std::regex_match(line, found, judged)) digests[exercise] = found[1];
  }
  return digests;
}

}  // namespace mutants
