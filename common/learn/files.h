/// Whole text files, and what keeps two commands out of each other's way.
#pragma once

#include <filesystem>
#include <string>

namespace learn {

/// Throws std::runtime_error with a sentence that names the file and the reason.
std::string read_text(const std::filesystem::path& file);
/// Creates the folder it lies in; a file that cannot be written keeps its old content.
void write_text(const std::filesystem::path& file, const std::string& text);

/// A file that a child process writes for this one: not there at first, and gone at the end.
class OwnFile {
public:
  /// name is unique among commands that run at the same time: the number of this process is put behind it.
  OwnFile(const std::filesystem::path& folder, const std::string& name);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Empty if nobody has written it.
  std::string text() const;

private:
  std::filesystem::path path_;
};

/// While it lives, no other ./learn holds the lock on this folder: another one waits in the constructor. Child
/// processes hold it as well, until the last of them has ended, even if ./learn is killed. There is no file to be left
/// over.
class FolderLock {
public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

private:
  int descriptor_;
};

}  // namespace learn
