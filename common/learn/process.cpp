#include <learn/process.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace learn {

namespace {
constexpr std::size_t most_output = 8 << 20;
}

Finished run(const std::vector<std::string>& command, const std::function<void(const std::string&)>& on_line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("No pipe can be opened: ") + std::strerror(errno) + ".");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(command[0] + " cannot be started: " + std::strerror(errno) + ".");
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    dprintf(STDERR_FILENO, "%s cannot be started: %s.\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);

  Finished finished{0, ""};
  std::string line;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (count < 0) {
      if (errno == EINTR) continue;
      break;
    }
    finished.output.append(buffer, static_cast<std::size_t>(count));
    if (finished.output.size() > 2 * most_output) {  // it may be a kernel that prints in a loop without end
      finished.output.replace(most_output, finished.output.size() - most_output - most_output / 2, "\n… (cut)\n");
    }
    if (!on_line) continue;
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] != '\n') {
        line += buffer[i];
        continue;
      }
      on_line(line);
      line.clear();
    }
  }
  close(ends[0]);
  if (on_line && !line.empty()) on_line(line);

  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace learn
