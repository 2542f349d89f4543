/// The program behind ./learn. The shell script builds it and hands over; `doctor` alone lives in the script, because
/// it has to work where nothing can be built.
#include <fmt/format.h>
#include <learn/cli.h>

#include <cstdio>

int main(int count, char** arguments) {
  const learn::Place place{LNH_SOURCE_DIR, LNH_BINARY_DIR};
  std::function<learn::ExitCode()> command;
  CLI::App app;
  learn::add_commands(app, place, command);
  try {
    std::filesystem::current_path(place.root);
    app.parse(count, arguments);
    return command();
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}\nRun ./learn --help, or --help behind a command, to see what there is.\n", error.what());
    return learn::bad_usage;
  } catch (const learn::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return learn::bad_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return learn::failure;
  }
}
