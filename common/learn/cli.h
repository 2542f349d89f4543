/// The command line of ./learn.
#pragma once

#include <learn/commands.h>
#include <CLI/CLI.hpp>

#include <functional>

namespace learn {

/// Adds every command with its options to app, so that parsing sets command to what is to be run.
void add_commands(CLI::App& app, const Place& place, std::function<ExitCode()>& command);

/// What is wrong with a command line, for the reader.
std::string sentence(const CLI::ParseError& error);

}  // namespace learn
