#include <learn/cli.h>

#include <fmt/format.h>
#include <learn/chart.h>
#include <learn/files.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <regex>

namespace learn {
namespace {

/// From 0 to 2^63 − 1: a minus would be read as a number close to 2^64.
const CLI::Range any_seed(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());

/// rows × cols at most, so that a typing error does not keep the machine busy for an hour.
constexpr std::int64_t most_elements = std::int64_t{1} << 26;

/// A command with its options; the help texts are files, because the shell script shows them before anything is built.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_command(CLI::App& app, const char* name, const Place& place) {
  CLI::App* command = app.add_subcommand(name);
  const std::filesystem::path help = place.root / "common/learn/help" / (std::string(name) + ".txt");
  command->formatter_fn([help](const CLI::App*, const std::string&, CLI::AppFormatMode) { return read_text(help); });
  return {command, std::make_shared<Options>()};
}

void require_affordable(std::int64_t rows, std::int64_t cols) {
  if (rows <= most_elements / cols) return;
  throw UsageError(fmt::format("--rows {} and --cols {} are more than {} elements, the most that is run on a CPU here.",
                               rows, cols, most_elements));
}

/// Refuses a command without its subject with a sentence; CLI11's own would be "exercise is required".
void require_subject(const std::string& subject, const char* command, const char* needs) {
  if (!subject.empty()) return;
  throw UsageError(fmt::format(
      "./learn {0} needs {1}; ./learn list shows what there is, and ./learn {0} --help the rest.", command, needs));
}

/// A command about one exercise, whose number is its first argument.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_exercise_command(CLI::App& app, const char* name, const Place& place,
                                                                    std::function<ExitCode()>& command,
                                                                    ExitCode (*run)(const Place&, const Options&)) {
  const auto [sub, options] = add_command<Options>(app, name, place);
  sub->add_option("exercise", options->exercise);
  sub->callback([&command, &place, options = options, name, run] {
    require_subject(options->exercise, name, "the number of an exercise, for example 01.1");
    command = [&place, options, run] { return run(place, *options); };
  });
  return {sub, options};
}

/// The file as an absolute path, because the program works from the root. Its folder must exist: a new one would hide a
/// mistyped path.
std::string picture_file(const std::string& file) {
  const std::filesystem::path path = std::filesystem::absolute(file);
  if (std::filesystem::is_directory(path.parent_path())) return path.string();
  throw UsageError(fmt::format("There is no folder {} for the picture {}: create it first, or correct --svg.",
                               path.parent_path().string(), path.filename().string()));
}

/// The folder with the results as an absolute path.
std::string results_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder);
  if (std::filesystem::is_directory(path)) return path.string();
  throw UsageError(
      fmt::format("There is no folder {}: --results names one that holds NN_name_benchmark.json.", folder));
}

}  // namespace

std::string sentence(const CLI::ParseError& error) {
  std::string text = error.what();
  const bool value_is_missing =
      dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with("missing");
  if (value_is_missing) return text.substr(0, text.find(':')) + " needs a value behind it.";
  static const std::regex out_of_range(R"((\S+): Value (.*) not in range \[?(\S+) (?:to|-) (\d+)\]?)");
  static const std::regex excluded(R"((\S+) excludes (\S+))");
  std::smatch found;
  if (std::regex_match(text, found, out_of_range)) {
    return fmt::format("{} needs a number from {} to {} behind it, not '{}'.", found[1].str(), found[3].str(),
                       found[4].str(), found[2].str());
  }
  if (std::regex_match(text, found, excluded))
    return fmt::format("{} and {} cannot be given together.", found[1].str(), found[2].str());
  return text;
}

void add_commands(CLI::App& app, const Place& place, std::function<ExitCode()>& command) {
  const std::filesystem::path help = place.root / "common/learn/help/learn.txt";
  app.formatter_fn([help](const CLI::App*, const std::string&, CLI::AppFormatMode) { return read_text(help); });
  app.require_subcommand(1);

  {
    auto [sub, options] = add_command<TourOptions>(app, "tour", place);
    sub->add_flag("--json", options->json);
    sub->add_flag("-v,--verbose", options->verbose);
    sub->add_option("--rows", options->rows)->check(CLI::Range(std::int64_t{1}, most_elements));
    sub->add_option("--cols", options->cols)->check(CLI::Range(std::int64_t{1}, most_elements));
    sub->add_option("--gpu-results", options->gpu_results)->check(CLI::ExistingDirectory);
    sub->callback([&command, &place, options = options] {
      require_affordable(options->rows, options->cols);
      command = [&place, options] { return tour(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<TestOptions>(app, "test", place);
    sub->add_flag("--long", options->long_tier);
    sub->add_option("--seed", options->seed)->check(any_seed);
    sub->callback(
        [&command, &place, options = options] { command = [&place, options] { return test(place, *options); }; });
  }
  {
    auto [sub, options] = add_command<ListOptions>(app, "list", place);
    sub->add_flag("--json", options->json);
    sub->callback(
        [&command, &place, options = options] { command = [&place, options] { return list(place, *options); }; });
  }
  {
    CLI::App* sub = add_command<int>(app, "next", place).first;
    sub->callback([&command, &place] { command = [&place] { return next(place); }; });
  }
  for (const auto& [name, run] : {std::pair{"check", &check}, std::pair{"watch", &watch}}) {
    auto [sub, options] = add_exercise_command(app, name, place, command, run);
    sub->add_flag("-v,--verbose", options->verbose);
    sub->add_flag("--json", options->json);
    CLI::Option* gpu = sub->add_flag("--gpu", options->gpu);
    CLI::Option* seed = sub->add_option("--seed", options->seed)->check(any_seed)->excludes(gpu);
    sub->add_option("--seeds", options->seeds)->check(CLI::Range(1, 1000))->excludes(gpu)->excludes(seed);
    if (run == &check) sub->add_flag("--pristine", options->pristine)->excludes(gpu);
  }
  add_exercise_command(app, "hint", place, command, hint);
  {
    auto [sub, options] = add_exercise_command(app, "compare", place, command, compare);
    CLI::Option* json = sub->add_flag("--json", options->json);
    sub->add_flag("--diff", options->diff)->excludes(json);
    sub->add_flag("--gpu", options->gpu);
  }
  {
    auto [sub, options] = add_exercise_command(app, "reset", place, command, reset);
    sub->add_flag("--yes", options->yes);
  }
  {
    auto [sub, options] = add_exercise_command(app, "solve", place, command, solve);
    sub->add_flag("--show", options->show);
    sub->add_flag("--yes", options->yes);
  }
  {
    auto [sub, options] = add_command<ProfileOptions>(app, "profile", place);
    sub->add_option("subject", options->subject);
    sub->add_flag("--json", options->json);
    CLI::Option* pristine = sub->add_flag("--pristine", options->pristine);
    CLI::Option* rows = sub->add_option("--rows", options->rows)->check(CLI::Range(std::int64_t{1}, most_elements));
    CLI::Option* cols = sub->add_option("--cols", options->cols)->check(CLI::Range(std::int64_t{1}, most_elements));
    sub->callback([&command, &place, options = options, pristine, rows, cols] {
      require_subject(options->subject, "profile", "the number of a chapter or of an exercise, for example 01 or 01.1");
      require_affordable(options->rows, options->cols);
      const bool is_exercise = options->subject.find('.') != std::string::npos;
      if (is_exercise && (*rows || *cols)) {
        throw UsageError("The test of an exercise has its own rows and columns: --rows and --cols are for chapters.");
      }
      if (!is_exercise && *pristine) {
        throw UsageError("A chapter has no stub: --pristine is for exercises, for example ./learn profile 01.1.");
      }
      command = [&place, options] { return profile(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<TraceOptions>(app, "trace", place);
    sub->add_option("chapter", options->chapter);
    sub->add_option("--svg", options->svg);
    sub->add_option("--kernel", options->kernel);
    sub->add_option("--warp", options->warp)->check(CLI::Range(0, 31));
    sub->add_option("--requests", options->requests)->check(CLI::Range(1, 64));
    sub->callback([&command, &place, options = options] {
      require_subject(options->chapter, "trace", "the number of a chapter, for example 01");
      if (options->chapter.find('.') != std::string::npos) {
        throw UsageError(fmt::format("./learn trace draws the kernels of a chapter, for example 01, and '{0}' names an "
                                     "exercise; what the kernels of an exercise ask shows ./learn profile {0}.",
                                     options->chapter));
      }
      if (options->svg.empty()) {
        throw UsageError("./learn trace needs --svg FILE, the file to draw into; ./learn trace --help says more.");
      }
      options->svg = picture_file(options->svg);
      command = [&place, options] { return trace(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<ChartOptions>(app, "chart", place);
    sub->add_option("name", options->name);
    sub->add_option("--results", options->results);
    sub->add_option("--svg", options->svg);
    sub->callback([&command, options = options] {
      const std::vector<std::string>& names = chart_names();
      if (std::find(names.begin(), names.end(), options->name) == names.end()) {
        throw UsageError(fmt::format("./learn chart needs the name of a chart: {}{}.", fmt::join(names, ", "),
                                     options->name.empty() ? "" : fmt::format("; '{}' is none", options->name)));
      }
      // The program works from the root, the reader perhaps elsewhere.
      options->results = options->results.empty() ? "docs/results/h200" : results_folder(options->results);
      if (!options->svg.empty()) options->svg = picture_file(options->svg);
      command = [options] { return chart(*options); };
    });
  }
  {
    auto [sub, options] = add_command<KappaOptions>(app, "numerics", place);
    sub->allow_extras();  // so that this callback can name what there is
    sub->callback([sub = sub] {
      const std::vector<std::string> unexpected = sub->remaining(true);
      if (sub->get_subcommands().empty()) {
        throw UsageError(
            fmt::format("./learn numerics shows one of four things: ./learn numerics example, kappa, nist or train{}. "
                        "./learn numerics --help says what each of them is.",
                        unexpected.empty() ? "" : fmt::format("; '{}' is none of them", unexpected.front())));
      }
      if (!unexpected.empty()) {
        throw UsageError(
            fmt::format("'{}' means nothing behind ./learn numerics {}; ./learn numerics --help says what may "
                        "stand there.",
                        unexpected.front(), sub->get_subcommands().front()->get_name()));
      }
    });
    sub->add_subcommand("example")->callback([&command] { command = numerics_example; });
    sub->add_subcommand("nist")->callback([&command] { command = numerics_nist; });
    CLI::App* kappa = sub->add_subcommand("kappa");
    CLI::Option* json = kappa->add_flag("--json", options->json);
    CLI::Option* svg = kappa->add_option("--svg", options->svg)->excludes(json);
    kappa->add_flag("--bounds", options->bounds)->needs(svg);
    kappa->callback([&command, options = options] {
      if (!options->svg.empty()) options->svg = picture_file(options->svg);
      command = [options] { return numerics_kappa(*options); };
    });
    CLI::App* train = sub->add_subcommand("train");
    const auto train_options = std::make_shared<TrainOptions>();
    CLI::Option* train_json = train->add_flag("--json", train_options->json);
    train->add_option("--svg", train_options->svg)->excludes(train_json);
    train->callback([&command, &place, train_options] {
      if (!train_options->svg.empty()) train_options->svg = picture_file(train_options->svg);
      command = [&place, train_options] { return numerics_train(place, *train_options); };
    });
  }
  {
    auto [sub, options] = add_command<SyncOptions>(app, "sync", place);
    sub->add_flag("--check", options->check);
    sub->add_flag("--exercises", options->exercises);
    sub->callback(
        [&command, &place, options = options] { command = [&place, options] { return sync_files(place, *options); }; });
  }
}

}  // namespace learn
