// The init check: reads of device and shared memory that nobody has written, with a bit for each byte.
#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/observer.h>
#include <simt/symbols.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace simt {

namespace {

class InitCheck : public Observer {
public:
  explicit InitCheck(Launch& launch) : launch_(launch) {
    if (!shared_variables().empty()) static_bytes_ = shared_variables().back().offset + shared_variables().back().bytes;
  }

  void begin_block(const BlockInfo& block) override {
    block_ = &block;
    shared_written_.assign(static_bytes_ + block.dynamic_bytes, false);
  }

  void access(const WarpAccess& access) override {
    if (access.space == Space::shared) return shared(access);
    const unsigned first = std::countr_zero(access.mask), last = 31 - std::countl_zero(access.mask);
    const std::uintptr_t begin = access.address[first], end = access.address[last] + access.bytes;
    // Neighbouring lanes at neighbouring addresses: one range for the whole warp.
    const bool dense =
        end - begin == static_cast<std::uintptr_t>(std::popcount(access.mask)) * access.bytes && in_order(access);
    if (!access.write || access.atomic) {
      if (!dense || !is_initialised(begin, end - begin)) {
        for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
          const unsigned lane = std::countr_zero(rest);
          if (!is_initialised(access.address[lane], access.bytes)) global_finding(access, lane);
        }
      }
    }
    if (access.write) {
      if (dense) return mark_initialised(begin, end - begin);
      for (unsigned rest = access.mask; rest != 0; rest &= rest - 1)
        mark_initialised(access.address[std::countr_zero(rest)], access.bytes);
    }
  }

private:
  static bool in_order(const WarpAccess& access) {
    std::uintptr_t next = access.address[std::countr_zero(access.mask)];
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1, next += access.bytes)
      if (access.address[std::countr_zero(rest)] != next) return false;
    return true;
  }

  void global_finding(const WarpAccess& access, unsigned lane) {
    const std::uintptr_t address = access.address[lane];
    const Allocation* a = allocation_before(address);
    // Outside of every buffer is the memory check's concern.
    if (a == nullptr || a->freed || address < a->begin || address + access.bytes > a->end) return;
    std::uintptr_t byte = address;
    while (is_initialised(byte, 1)) ++byte;
    report(access, lane, "buffer '" + a->name + "'", byte - a->begin);
  }

  void shared(const WarpAccess& access) {
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = std::countr_zero(rest);
      const std::uintptr_t in_dynamic = access.address[lane] - block_->dynamic_shared;
      const bool dynamic = in_dynamic < block_->dynamic_bytes;
      const std::size_t at = dynamic ? static_bytes_ + in_dynamic : access.address[lane] - block_->shared_segment;
      if (at + access.bytes > shared_written_.size()) continue;  // the memory check's concern
      if (!access.write || access.atomic) {
        for (unsigned byte = 0; byte < access.bytes; ++byte) {
          if (shared_written_[at + byte]) continue;
          if (dynamic) {
            report(access, lane, "dynamic shared memory", in_dynamic + byte);
          } else if (const SharedVariable* variable = shared_variable_at(at + byte)) {
            report(access, lane, "shared variable '" + variable->name + "'", at + byte - variable->offset);
          }
          break;
        }
      }
      if (access.write) std::fill_n(shared_written_.begin() + static_cast<std::ptrdiff_t>(at), access.bytes, true);
    }
  }

  static const SharedVariable* shared_variable_at(std::size_t offset) {
    for (const SharedVariable& v : shared_variables())
      if (offset >= v.offset && offset < v.offset + v.bytes) return &v;
    return nullptr;
  }

  void report(const WarpAccess& access, unsigned lane, const std::string& what, std::size_t offset) {
    launch_.report("init", "read of uninitialised memory in " + what, {{}, access.pc}, *block_,
                   access.warp * lanes_per_warp + lane,
                   "nobody has written the byte at offset " + std::to_string(offset) +
                       " before; on a GPU it holds what was there by chance");
  }

  Launch& launch_;
  const BlockInfo* block_ = nullptr;
  std::size_t static_bytes_ = 0;
  std::vector<char> shared_written_;  // of each byte: the thread-local segment, then dynamic shared memory
};

}  // namespace

std::unique_ptr<Observer> make_init_check(Launch& launch) { return std::make_unique<InitCheck>(launch); }

}  // namespace simt
