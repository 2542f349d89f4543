// The memory check: accesses outside of every allocation, to freed memory, to the host's memory, and misaligned
// vectors.
#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/observer.h>
#include <simt/symbols.h>

#include <bit>
#include <string>

namespace simt {

namespace {

std::string bytes_text(std::uintptr_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

class MemoryCheck : public Observer {
public:
  explicit MemoryCheck(Launch& launch) : launch_(launch) {}

  void begin_block(const BlockInfo& block) override { block_ = &block; }

  void access(const WarpAccess& access) override {
    if (access.space == Space::shared) return shared(access);
    const Allocation*& known = known_[access.pc % std::size(known_)];  // an instruction mostly stays in one buffer
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = std::countr_zero(rest);
      const std::uintptr_t address = access.address[lane];
      if (inside(known, address, access.bytes)) continue;
      known = allocation_before(address);
      if (!inside(known, address, access.bytes)) outside(access, lane, known);
    }
  }

  void fault(const LaneFault& fault) override {
    const std::string verb = fault.write ? "write" : "read";
    std::string title, detail;
    switch (fault.kind) {
      case LaneFault::host_memory:
        title = verb + " of host memory";
        detail = "A kernel can only follow pointers to device memory: pass DeviceBuffer::data(), not a host pointer.";
        break;
      case LaneFault::beside_shared_memory:
        title = verb + " outside of shared memory";
        detail = beside(fault.address);
        break;
      case LaneFault::unmapped:
        title = verb + (fault.address < 4096 ? " through a null pointer" : " through a wild pointer");
        detail = "The address is " + hex(fault.address) +
                 ". On a GPU the launch ends here with an illegal address; so does this one.";
        break;
      case LaneFault::misaligned:
        title = "misaligned " + verb + " of " + bytes_text(fault.bytes);
        detail = misalignment(fault.address, fault.bytes) +
                 " On a GPU the launch ends here with a misaligned address; so does this one.";
        break;
    }
    launch_.report("memory", title, {{}, fault.pc}, *block_, fault.thread, detail,
                   fault.ends_launch() ? Launch::Then::ends : Launch::Then::goes_on);
  }

private:
  static bool inside(const Allocation* a, std::uintptr_t address, unsigned bytes) {
    return a != nullptr && address >= a->begin && address + bytes <= a->end && !a->freed;
  }

  static std::string hex(std::uintptr_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(address));
    return text;
  }

  static std::string misalignment(std::uintptr_t address, unsigned bytes) {
    const std::string multiple = "a multiple of " + std::to_string(bytes);
    const Allocation* a = in_device_memory(address) ? allocation_before(address) : nullptr;
    if (a == nullptr || address < a->begin || address >= a->end)
      return "The address, " + hex(address) + ", is not " + multiple + ".";
    const std::string into = std::to_string(address - a->begin);
    if (a->begin % bytes == 0)
      return "The address is " + into + " bytes into buffer '" + a->name + "', and " + into + " is not " + multiple +
             ".";
    return "Buffer '" + a->name + "' begins " + bytes_text(a->begin % bytes) + " behind " + multiple +
           ", and the address is " + into + " bytes into it.";
  }

  // The __shared__ array that ends last before the address.
  std::string beside(std::uintptr_t address) const {
    const std::uintptr_t offset = address - block_->shared_segment;
    std::string text = "the address is in no __shared__ array";
    for (const SharedVariable& v : shared_variables())
      if (v.offset + v.bytes <= offset)
        text = "the address is " + bytes_text(offset - v.offset - v.bytes) + " behind the end of '" + v.name +
               "', the nearest __shared__ array before it";
    return text;
  }

  void outside(const WarpAccess& access, unsigned lane, const Allocation* a) {
    const std::uintptr_t address = access.address[lane];
    const std::string verb = access.atomic ? "atomic access" : access.write ? "write" : "read";
    const std::string size = bytes_text(access.bytes) + " at ";
    std::string title, detail;
    if (a == nullptr) {
      title = verb + " outside of every buffer";
      detail = size + hex(address);
    } else if (a->freed) {
      title = verb + " of freed buffer '" + a->name + "'";
      detail = size + "offset " + std::to_string(address - a->begin) + "; the buffer was freed before this launch";
    } else {
      title = verb + " outside of buffer '" + a->name + "'";
      detail = address < a->begin ? size + bytes_text(a->begin - address) + " before its begin"
               : address < a->end ? size + "offset " + std::to_string(address - a->begin) + ", across its end"
                                  : size + bytes_text(address - a->end) + " behind its end";
      detail += "; the buffer has " + bytes_text(a->end - a->begin);
    }
    launch_.report("memory", title, {{}, access.pc}, *block_, access.warp * lanes_per_warp + lane, detail);
  }

  // Caught is what lies in no __shared__ array at all; running from one array into the next is not.
  void shared(const WarpAccess& access) {
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = std::countr_zero(rest);
      const std::uintptr_t address = access.address[lane];
      const std::uintptr_t in_dynamic = address - block_->dynamic_shared;
      if (in_dynamic + access.bytes <= block_->dynamic_bytes) continue;
      const SharedVariable*& known = known_shared_[access.pc % std::size(known_shared_)];
      const std::uintptr_t offset = address - block_->shared_segment;
      if (known != nullptr && offset >= known->offset && offset + access.bytes <= known->offset + known->bytes)
        continue;
      known = shared_variable_at(offset, access.bytes);
      if (known != nullptr) continue;
      const std::string verb = access.write ? "write" : "read";
      launch_.report(
          "memory", verb + " outside of shared memory", {{}, access.pc}, *block_, access.warp * lanes_per_warp + lane,
          in_dynamic < (std::size_t{1} << 20)
              ? bytes_text(access.bytes) + " at offset " + std::to_string(in_dynamic) + "; the launch gave the block " +
                    bytes_text(block_->dynamic_bytes) + " of dynamic shared memory"
              : bytes_text(access.bytes) + " in no __shared__ array");
    }
  }

  static const SharedVariable* shared_variable_at(std::uintptr_t offset, unsigned bytes) {
    for (const SharedVariable& v : shared_variables())
      if (offset >= v.offset && offset + bytes <= v.offset + v.bytes) return &v;
    return nullptr;
  }

  Launch& launch_;
  const BlockInfo* block_ = nullptr;
  const Allocation* known_[64] = {};
  const SharedVariable* known_shared_[64] = {};
};

}  // namespace

std::unique_ptr<Observer> make_memory_check(Launch& launch) { return std::make_unique<MemoryCheck>(launch); }

}  // namespace simt
