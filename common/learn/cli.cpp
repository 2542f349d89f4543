#include <learn/cli.h>

#include <fmt/format.h>
#include <learn/files.h>

#include <memory>

namespace learn {
namespace {

/// The tour's rows × cols at most, so that a typing error does not keep the machine busy for an hour.
constexpr std::int64_t most_elements = std::int64_t{1} << 26;

/// A command with its options; the help texts are files, because the shell script shows them before anything is built.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_command(CLI::App& app, const char* name, const Place& place) {
  CLI::App* command = app.add_subcommand(name);
  const std::filesystem::path help = place.root / "common/learn/help" / (std::string(name) + ".txt");
  command->formatter_fn([help](const CLI::App*, const std::string&, CLI::AppFormatMode) { return read_text(help); });
  return {command, std::make_shared<Options>()};
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
      if (options->rows > most_elements / options->cols) {
        throw UsageError(
            fmt::format("--rows {} and --cols {} are more than {} elements, the most that the tour runs on a CPU.",
                        options->rows, options->cols, most_elements));
      }
      command = [&place, options] { return tour(place, *options); };
    });
  }
  {
    auto [sub, options] = add_command<TestOptions>(app, "test", place);
    sub->add_flag("--long", options->long_tier);
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
    sub->callback(
        [&command, &place, options = options] { command = [&place, options] { return check(place, *options); }; });
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
