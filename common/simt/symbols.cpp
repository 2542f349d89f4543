#include <simt/symbols.h>

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <unordered_map>

namespace simt {

namespace {

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (status != 0) return name;
  std::string result = text;
  std::free(text);
  return result;
}

// "void warp::norm<256>(float const*, float*)" → "warp::norm<256>"
std::string without_signature(const std::string& name) {
  int depth = 0;
  std::size_t begin = 0, end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(' && depth == 0 && name.compare(i, 21, "(anonymous namespace)") != 0) {
      end = i;
      break;
    }
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return name.substr(begin, end - begin);
}

struct Program {
  Range image, read_only;
  std::uintptr_t load_address = 0;
  std::string path;
  std::unordered_map<std::uintptr_t, std::string> functions;  // mangled, by address
  std::vector<SharedVariable> shared;

  Program() {
    char buffer[4096];
    const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
    path.assign(buffer, length > 0 ? static_cast<std::size_t>(length) : 0);
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          static_cast<Program*>(self)->read_segments(*info);
          return 1;  // the first entry is the program itself
        },
        this);
    read_symbols();
  }

  void read_segments(const dl_phdr_info& info) {
    load_address = info.dlpi_addr;
    image.begin = read_only.begin = ~std::uintptr_t{0};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      const std::uintptr_t begin = load_address + segment.p_vaddr;
      if (segment.p_type == PT_GNU_RELRO) read_only.end = std::max(read_only.end, begin + segment.p_memsz);
      if (segment.p_type != PT_LOAD) continue;
      image.begin = std::min(image.begin, begin);
      image.end = std::max(image.end, begin + segment.p_memsz);
      if ((segment.p_flags & PF_W) != 0) continue;
      read_only.begin = std::min(read_only.begin, begin);
      read_only.end = std::max(read_only.end, begin + segment.p_memsz);
    }
  }

  // The symbol table names functions and thread-local variables. __shared__ variables are those thread-local ones that
  // are local to a function: their mangled names begin with _ZZ.
  void read_symbols() {
    const int file = open("/proc/self/exe", O_RDONLY);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) return;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return;
    const char* elf = static_cast<const char*>(mapped);
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(elf);
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(elf + header.e_shoff);
    for (int s = 0; s < header.e_shnum; ++s) {
      if (sections[s].sh_type != SHT_SYMTAB) continue;
      const char* names = elf + sections[sections[s].sh_link].sh_offset;
      const auto* symbols = reinterpret_cast<const Elf64_Sym*>(elf + sections[s].sh_offset);
      for (std::size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
        const Elf64_Sym& symbol = symbols[i];
        const char* name = names + symbol.st_name;
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (type == STT_FUNC && symbol.st_value != 0) functions.emplace(load_address + symbol.st_value, name);
        if (type == STT_TLS && symbol.st_size != 0 && std::strncmp(name, "_ZZ", 3) == 0) {
          const std::string full = demangle(name);
          shared.push_back({full.substr(full.rfind("::") + 2), symbol.st_value, symbol.st_size});
        }
      }
    }
    munmap(mapped, bytes);
    std::sort(shared.begin(), shared.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }
};

const Program& program() {
  static const Program& instance = *new Program;
  return instance;
}

}  // namespace

Range program_image() { return program().image; }
Range read_only_image() { return program().read_only; }
const std::vector<SharedVariable>& shared_variables() { return program().shared; }

Range thread_local_segment() {
  Range range;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS || info->dlpi_tls_data == nullptr) continue;
          const auto begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
          *static_cast<Range*>(out) = {begin, begin + info->dlpi_phdr[i].p_memsz};
        }
        return 1;  // the program itself; libraries have no kernels
      },
      &range);
  return range;
}

std::string kernel_name(const void* function) {
  const auto found = program().functions.find(reinterpret_cast<std::uintptr_t>(function));
  return found == program().functions.end() ? "a kernel" : without_signature(demangle(found->second.c_str()));
}

std::string short_path(const std::string& name) {
  const std::string root = LNH_SOURCE_DIR "/";
  // Relative to the build folder, if ccache said so: "../../chapters/…".
  const std::string file =
      name.starts_with('.') ? (std::filesystem::path(LNH_BINARY_DIR) / name).lexically_normal().string() : name;
  return file.compare(0, root.size(), root) == 0 ? file.substr(root.size()) : file;
}

namespace {

// Where a reader would look for a fault: not in the executor, nor in what others have written.
bool is_course_code(const std::string& file) {
  const auto in = [&](const char* folder) { return file.starts_with(folder); };
  return !in("/usr/") && file.find("/_deps/") == std::string::npos &&
         (!in("common/simt/") || in("common/simt/tests/") || in("common/simt/counters/"));
}

// What addr2line says of each address: its place and, if it was inlined, those of the calls, innermost first.
std::vector<std::vector<Call>> addr2line(const std::vector<std::uintptr_t>& addresses) {
  std::vector<std::vector<Call>> calls;
  std::string command = "addr2line -a -f -i -C -e '" + program().path + "'";
  for (const std::uintptr_t address : addresses) {
    char text[32];
    std::snprintf(text, sizeof text, " 0x%zx", static_cast<std::size_t>(address - program().load_address));
    command += text;
  }
  if (FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r")) {
    char buffer[4400];
    const auto read_line = [&] {
      const bool read = std::fgets(buffer, sizeof buffer, pipe) != nullptr;
      if (read) buffer[std::strcspn(buffer, "\n")] = '\0';
      return read;
    };
    // Each address on a line of its own, then for each call a line with the function and one with its place.
    while (read_line()) {
      if (std::strncmp(buffer, "0x", 2) == 0) {
        calls.emplace_back();
        continue;
      }
      const std::string function = buffer;
      if (!read_line() || calls.empty()) break;
      const std::string place = buffer;
      const std::size_t colon = place.rfind(':');
      if (colon == std::string::npos || place[0] == '?') continue;
      calls.back().push_back(
          {without_signature(function), {short_path(place.substr(0, colon)), std::atoi(place.c_str() + colon + 1)}});
    }
    pclose(pipe);
  }
  calls.resize(addresses.size());
  return calls;
}

// Of inlined calls the innermost that a reader would look for.
Where look_up(std::uintptr_t address) {
  const std::vector<Call> calls = addr2line({address}).front();
  for (const Call& call : calls)
    if (is_course_code(call.where.file)) return call.where;
  return calls.empty() ? Where{"?", 0} : calls.back().where;
}

}  // namespace

Where where_is(std::uintptr_t pc) {
  static std::mutex mutex;
  static std::map<std::uintptr_t, Where> known;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  // The return address belongs to the next line as often as not: one byte before it is the call. An instruction that
  // the compiler moved may have no line; then its neighbours before it tell the place.
  Where where{"?", 0};
  for (const std::uintptr_t before : {1, 8, 16, 32, 64}) {
    where = look_up(pc - before);
    if (where.line != 0) break;
  }
  known[pc] = where;
  return where;
}

std::vector<std::vector<Call>> calls_at(const std::vector<std::uintptr_t>& instructions) {
  std::vector<std::vector<Call>> calls = addr2line(instructions);
  for (std::vector<Call>& of_one : calls)
    std::erase_if(of_one, [](const Call& call) { return call.where.line == 0 || !is_course_code(call.where.file); });
  return calls;
}

}  // namespace simt
