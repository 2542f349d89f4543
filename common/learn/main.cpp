/// The program behind ./learn. The shell script builds it and hands over; `doctor` alone lives in the script, because
/// it has to work where nothing can be built.
#include <learn/cli.h>

#include <cstdio>

namespace {

learn::ExitCode run(int count, char** arguments) {
  const learn::Place place{LNH_SOURCE_DIR, LNH_BINARY_DIR};
  std::function<learn::ExitCode()> command;
  CLI::App app;
  learn::add_commands(app, place, command);
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return learn::success;
  } catch (const CLI::ParseError& error) {
    throw learn::UsageError(learn::sentence(error) +
                            "\nRun ./learn --help, or --help behind a command, to see what there is.");
  }
  std::filesystem::current_path(place.root);
  return command();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const learn::UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return learn::bad_usage;
  } catch (const learn::MachineError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return learn::bad_machine;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return learn::failure;
  }
}
