#include <learn/cli.h>

#include <fmt/format.h>
#include <learn/files.h>

#include <memory>

namespace learn {
namespace {

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

}  // namespace

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
    sub->add_option("--seed", options->seed);
    sub->callback(
        [&command, &place, options = options] { command = [&place, options] { return test(place, *options); }; });
  }
  {
    CLI::App* sub = add_command<int>(app, "list", place).first;
    sub->callback([&command, &place] { command = [&place] { return list(place); }; });
  }
  {
    auto [sub, options] = add_command<CheckOptions>(app, "check", place);
    sub->add_option("exercise", options->exercise)->required();
    sub->add_flag("-v,--verbose", options->verbose);
    sub->add_flag("--pristine", options->pristine);
    CLI::Option* seed = sub->add_option("--seed", options->seed);
    CLI::Option* seeds = sub->add_option("--seeds", options->seeds)->check(CLI::Range(1, 1000));
    sub->callback([&command, &place, options = options, seed, seeds] {
      if (*seed && *seeds)
        throw UsageError("--seed S runs one order of lanes and warps, --seeds N several: give one of them.");
      command = [&place, options] { return check(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<ProfileOptions>(app, "profile", place);
    sub->add_option("subject", options->subject)->required();
    sub->add_flag("--json", options->json);
    CLI::Option* pristine = sub->add_flag("--pristine", options->pristine);
    CLI::Option* rows = sub->add_option("--rows", options->rows)->check(CLI::Range(std::int64_t{1}, most_elements));
    CLI::Option* cols = sub->add_option("--cols", options->cols)->check(CLI::Range(std::int64_t{1}, most_elements));
    sub->callback([&command, &place, options = options, pristine, rows, cols] {
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
    sub->add_option("chapter", options->chapter)->required();
    sub->add_option("--svg", options->svg)->required();
    sub->add_option("--kernel", options->kernel);
    sub->add_option("--warp", options->warp)->check(CLI::Range(0, 31));
    sub->add_option("--requests", options->requests)->check(CLI::Range(1, 64));
    sub->callback([&command, &place, options = options] {
      options->svg = std::filesystem::absolute(options->svg).string();  // the program works from the root
      command = [&place, options] { return trace(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<KappaOptions>(app, "numerics", place);
    sub->require_subcommand(1);
    sub->add_subcommand("example")->callback([&command] { command = numerics_example; });
    sub->add_subcommand("nist")->callback([&command] { command = numerics_nist; });
    CLI::App* kappa = sub->add_subcommand("kappa");
    CLI::Option* json = kappa->add_flag("--json", options->json);
    CLI::Option* svg = kappa->add_option("--svg", options->svg)->excludes(json);
    kappa->add_flag("--bounds", options->bounds)->needs(svg);
    kappa->callback([&command, options = options] {
      if (!options->svg.empty()) options->svg = std::filesystem::absolute(options->svg).string();
      command = [options] { return numerics_kappa(*options); };
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
