#include <rebuild/rebuild.h>

#include <learn/files.h>
#include <learn/process.h>
#include <learn/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace rebuild {

namespace fs = std::filesystem;

namespace {

const fs::path source_folder = LNH_SOURCE_DIR;

/// Exists as long as this object does.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "rebuild_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("No folder can be made in " + name + ".");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

std::string output_of(const std::vector<std::string>& command) {
  const learn::Finished finished = learn::run(command);
  if (finished.exit_code == 0) return finished.output;
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  throw std::runtime_error(text + " failed: " + finished.output);
}

/// The lines of `ninja -t TOOL …` in the build folder.
std::vector<std::string> ninja(const fs::path& build, std::vector<std::string> arguments) {
  std::vector<std::string> command = {LNH_NINJA, "-C", build.string(), "-t"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::istringstream output(output_of(command));
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  return lines;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

std::runtime_error not_built(const std::string& name, const fs::path& build) {
  return std::runtime_error(name + " has not been built, so nobody knows which files it is compiled from. " +
                            "Build the course first: cmake --build " + build.string());
}

/// What Ninja noted when it compiled the object: the files of the project that the compiler read.
std::vector<fs::path> sources_of(const std::string& object, const fs::path& build) {
  std::vector<fs::path> sources;
  bool known = false;
  for (const std::string& line : ninja(build, {"deps", object})) {
    if (line.ends_with("(VALID)")) known = true;
    if (!line.starts_with("    ")) continue;
    const fs::path file = (build / line.substr(4)).lexically_normal();
    if (is_below(file, source_folder)) sources.push_back(file);
  }
  if (!known) throw not_built(object, build);
  return sources;
}

Outcome run(const fs::path& program, const std::vector<std::string>& arguments, int limit_seconds) {
  // A changed kernel may loop for ever.
  std::vector<std::string> command = {"timeout", "-k", "5", std::to_string(limit_seconds), program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const learn::Finished finished = learn::run(command);
  const bool stopped = finished.exit_code == 124 || finished.exit_code == 137;
  return {stopped ? Outcome::stopped : finished.exit_code == 0 ? Outcome::passed : Outcome::failed, finished.output};
}

}  // namespace

bool Test::compiles(const fs::path& file) const {
  return std::any_of(objects.begin(), objects.end(), [&](const Object& object) {
    return std::find(object.sources.begin(), object.sources.end(), file) != object.sources.end();
  });
}

std::vector<Test> tests_of(const fs::path& build, const std::set<std::string>& labels) {
  const auto list = nlohmann::json::parse(output_of({LNH_CTEST, "--test-dir", build.string(), "--show-only=json-v1"}));
  std::vector<Test> tests;
  for (const auto& entry : list.at("tests")) {
    std::set<std::string> labels_of_test;
    for (const auto& property : entry.value("properties", nlohmann::json::array()))
      if (property.at("name") == "LABELS") labels_of_test = property.at("value").get<std::set<std::string>>();
    if (std::none_of(labels_of_test.begin(), labels_of_test.end(), [&](auto& label) { return labels.contains(label); }))
      continue;
    if (!entry.contains("command")) throw not_built(entry.at("name"), build);

    auto command = entry.at("command").get<std::vector<std::string>>();
    Test test{.name = entry.at("name"), .program = command.front(), .arguments = {}, .link = "", .objects = {}};
    test.arguments.assign(command.begin() + 1, command.end());
    if (!is_below(test.program, build)) continue;  // a script
    test.link = ninja(build, {"commands", "-s", test.program.lexically_relative(build)}).back();
    std::istringstream words(test.link);
    for (std::string word; words >> word;) {
      if (!word.ends_with(".o")) continue;
      test.objects.push_back({word, ninja(build, {"commands", "-s", word}).back(), sources_of(word, build)});
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

Outcome outcome_of(const Test& test, int limit_seconds) { return run(test.program, test.arguments, limit_seconds); }

Outcome outcome_with(const Test& test, const fs::path& build, const fs::path& file, const std::string& text,
                     int limit_seconds) {
  // Every source is copied to the same place in a mirror of the project, and each path in the compile command leads
  // there. So the order of include folders and the folder of the including file decide as they do in the build.
  const TemporaryFolder mirror;
  const std::string program = (mirror.path() / "test").string();
  std::string link = learn::replaced(test.link, " -o " + test.program.lexically_relative(build).string() + " ",
                                     " -o " + program + " ");
  int number = 0;
  for (const Object& object : test.objects) {
    if (std::find(object.sources.begin(), object.sources.end(), file) == object.sources.end()) continue;
    for (const fs::path& source : object.sources) {
      const fs::path copy = mirror.path() / source.lexically_relative(source_folder);
      fs::create_directories(copy.parent_path());
      if (source == file)
        learn::write_text(copy, text);
      else
        fs::copy_file(source, copy, fs::copy_options::overwrite_existing);
    }
    const std::string changed = (mirror.path() / ("object_" + std::to_string(++number) + ".o")).string();
    std::string command = learn::replaced(object.command, object.name, changed);
    command = learn::replaced(command, source_folder.string() + "/", mirror.path().string() + "/");
    // Without debug information: findings lose their lines, which nobody reads here, and a little time is saved; so
    // it is without ccache, for which every variant is new.
    const learn::Finished compiled =
        learn::run({"sh", "-c", "export CCACHE_DISABLE=1 && cd '" + build.string() + "' && " + command + " -g0"});
    if (compiled.exit_code != 0) return {Outcome::not_compiled, compiled.output};
    link = learn::replaced(link, object.name, changed);
  }
  const learn::Finished linked = learn::run({"sh", "-c", "cd '" + build.string() + "' && " + link});
  if (linked.exit_code != 0) return {Outcome::not_compiled, linked.output};
  return run(program, test.arguments, limit_seconds);
}

void expect_pass(const Test& test, const fs::path& build, int limit_seconds) {
  if (outcome_of(test, limit_seconds).kind == Outcome::passed) return;
  throw std::runtime_error(test.name + " fails with nothing changed. Mend it, or build it again: cmake --build " +
                           build.string());
}

std::string first_finding(const std::string& output, const std::vector<std::string>& checks) {
  // As simt::Finding::text() says it: "race: title", and below it "  at file:line in kernel".
  std::istringstream lines(output);
  std::string title;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text = line.find_first_not_of(' ');
    if (!title.empty() && text != std::string::npos && line.compare(text, 3, "at ") == 0) return title;
    title.clear();
    for (const std::string& check : checks) {
      const std::size_t at = line.find(check + ": ");
      if (at == 0 || (at != std::string::npos && std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0))
        title = line.substr(at);
    }
  }
  return "";
}

}  // namespace rebuild
