/// Whole text files.
#pragma once

#include <filesystem>
#include <string>

namespace learn {

/// Throws std::runtime_error with a sentence that names the file and the reason.
std::string read_text(const std::filesystem::path& file);
/// Creates the folder it lies in; a file that cannot be written keeps its old content.
void write_text(const std::filesystem::path& file, const std::string& text);

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
