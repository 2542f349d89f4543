#include <learn/files.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace learn {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const char* doing) {
  throw std::runtime_error("The file " + file.string() + " cannot be " + doing + ": " + std::strerror(errno) + ".");
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "read");
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) fail(file, "read");
  return text.str();
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  // Beside the file first, then renamed: whoever is interrupted here loses nothing.
  const std::filesystem::path beside = file.string() + ".new";
  errno = 0;
  std::ofstream stream(beside, std::ios::binary);
  stream << text;
  stream.close();
  error = stream ? std::error_code() : std::error_code(errno, std::generic_category());
  if (stream) std::filesystem::rename(beside, file, error);
  if (stream && !error) return;
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  errno = error.value();
  fail(file, "written");
}

OwnFile::OwnFile(const std::filesystem::path& folder, const std::string& name)
    : path_(folder / (name + "_" + std::to_string(getpid()))) {
  std::filesystem::remove(path_);
}

OwnFile::~OwnFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::string OwnFile::text() const { return std::filesystem::exists(path_) ? read_text(path_) : ""; }

// Without O_CLOEXEC, so that child processes inherit it.
FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY)) {
  if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace learn
