/// From addresses in this program back to its source: names of kernels, lines of accesses, shared variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// "three_pass::layer_norm_kernel" for the kernel at this address; its parameter list and return type are left out.
std::string kernel_name(const void* function);

struct Where {
  std::string file;  // relative to the source folder; "?" if the program has no debug information
  int line = 0;
};
/// The source line of a return address, as addr2line gives it; of inlined calls the innermost that is not in
/// common/simt.
Where where_is(std::uintptr_t pc);

/// A place in the source and the function that it stands in.
struct Call {
  std::string function;  // "exercise::layer_norm_kernel"
  Where where;
};
/// For each address of an instruction, not a return address: the place of the instruction itself and, if it was
/// inlined, of the calls that brought it there, innermost first. Those in common/simt and in the headers of other
/// projects are left out.
std::vector<std::vector<Call>> calls_at(const std::vector<std::uintptr_t>& instructions);

/// A file name as compiled, made relative to the source folder.
std::string short_path(const std::string& name);

/// A __shared__ variable of some kernel of this program.
struct SharedVariable {
  std::string name;    // "partial"
  std::size_t offset;  // from the start of the thread-local segment, in bytes
  std::size_t bytes;
};
/// All of them, by offset.
const std::vector<SharedVariable>& shared_variables();

/// Where this program's code and read-only data lie, and where the calling thread's copy of its thread-local segment
/// is.
struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool contains(std::uintptr_t address) const { return address - begin < end - begin; }
};
Range program_image();
Range read_only_image();
Range thread_local_segment();

}  // namespace simt
