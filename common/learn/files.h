/// Whole text files.
#pragma once

#include <filesystem>
#include <string>

namespace learn {

/// Throws std::runtime_error with a sentence that names the file and the reason.
std::string read_text(const std::filesystem::path& file);
/// Creates the folder it lies in; a file that cannot be written keeps its old content.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace learn
