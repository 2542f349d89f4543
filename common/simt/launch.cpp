#include <simt/executor.h>

#include <simt/block.h>
#include <simt/launch_state.h>
#include <simt/profile.h>
#include <simt/runtime_api.h>
#include <simt/symbols.h>
#include <simt/watch.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace simt {

cudaError_t set_last_error(cudaError_t error);  // memory.cpp
void finish_counts(LaunchCounts& counts);       // counter.cpp
void finish_races();                            // race_check.cpp

namespace {

Checks checks_in_force;

std::uint64_t seed_from_environment() {
  const char* text = std::getenv("SIMT_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}
std::uint64_t seed_in_force = seed_from_environment();

// Launches run one at a time.
std::atomic<std::uint32_t> launches_started = 0;
std::atomic<bool> launch_is_running = false;

}  // namespace

LaunchesSoFar launches_so_far() { return {launches_started, launch_is_running}; }

void set_checks(Checks checks) { checks_in_force = checks; }
Checks checks() { return checks_in_force; }
void set_seed(std::uint64_t seed) { seed_in_force = seed; }
std::uint64_t seed() { return seed_in_force; }

// ---- What the workers of a launch share

Launch::Launch(const KernelCall& call, dim3 grid, dim3 block, std::size_t shared_bytes, std::uint64_t first_block,
               std::uint64_t end_block, bool counting)
    : call(call),
      grid(grid),
      block(block),
      shared_bytes(shared_bytes),
      counting(counting),
      checks(simt::checks()),
      seed(simt::seed()),
      number(++launches_started),
      next_(first_block),
      end_(end_block) {
  counts_.kernel = kernel_name(call.function);
  counts_.launches = 1;
}

BlockInfo Launch::block_info(std::uint64_t number) const {
  BlockInfo info;
  info.number = number;
  info.index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
  info.dimension = block;
  info.threads = block.x * block.y * block.z;
  info.dynamic_bytes = shared_bytes;
  return info;
}

bool Launch::next_block(std::uint64_t& number) {
  if (stopped_) return false;
  number = next_.fetch_add(1);
  return number < end_;
}

void Launch::report(const char* check, const std::string& title, const Place& place, const BlockInfo& block,
                    unsigned thread, const std::string& detail, Then then) {
  const std::scoped_lock lock(mutex_);
  const auto key = std::make_tuple(std::string(check), std::string(place.site.file ? place.site.file : ""),
                                   place.site.line, place.pc, title);
  const std::pair who{block.number, thread};
  const auto [entry, is_new] = reported_.try_emplace(key);
  Reported& reported = entry->second;
  const std::uint64_t times = is_new || then == Then::ends ? 1 : reported.finding.times + 1;
  if (is_new || who < reported.first)
    reported = {who, {check, title, "", "", 0, block.index, block.thread(thread), detail, 1}, place};
  reported.finding.times = times;
}

std::vector<Finding> Launch::findings() {
  // A line can hold several instructions: what they have to say of the same fault is one finding.
  std::map<std::tuple<std::string, int, std::string, std::string>, Reported> by_line;
  for (const auto& [key, reported] : reported_) {
    const Site& site = reported.place.site;
    const Where where = site.file != nullptr ? Where{short_path(site.file), site.line} : where_is(reported.place.pc);
    const auto [entry, is_new] =
        by_line.try_emplace({where.file, where.line, reported.finding.check, reported.finding.title}, reported);
    Reported& kept = entry->second;
    const std::uint64_t times = is_new ? reported.finding.times : kept.finding.times + reported.finding.times;
    if (reported.first < kept.first) kept = reported;
    kept.finding.times = times;
    kept.finding.kernel = counts_.kernel;
    kept.finding.file = where.file;
    kept.finding.line = where.line;
  }
  // In the order in which blocks and threads met them.
  std::vector<Reported> in_order;
  for (auto& [key, reported] : by_line) in_order.push_back(std::move(reported));
  std::stable_sort(in_order.begin(), in_order.end(), [](const Reported& a, const Reported& b) {
    // A barrier that not all reach is the cause of the races behind it.
    return std::tuple(a.first.first, a.finding.check != "sync", a.first.second) <
           std::tuple(b.first.first, b.finding.check != "sync", b.first.second);
  });
  std::vector<Finding> findings;
  for (Reported& reported : in_order) findings.push_back(std::move(reported.finding));
  return findings;
}

void Launch::add(const LaunchCounts& counts) {
  const std::scoped_lock lock(mutex_);
  counts_ += counts;
}

namespace {

// ---- Worker threads. They are the executor's own, so that the __shared__ variables of the host's threads stay as they
// are.

class Workers {
public:
  unsigned count() {
    const std::scoped_lock lock(mutex_);
    return wanted_;
  }

  void set_count(unsigned count) {
    stop();
    const std::scoped_lock lock(mutex_);
    wanted_ = std::clamp(count, 1u, 16u);
  }

  void run(Launch& launch) {
    LaunchWatch watch(launch);
    std::unique_lock lock(mutex_);
    while (threads_.size() < wanted_) threads_.emplace_back([this] { work(); });
    launch_ = &launch;
    watch_ = &watch;
    busy_ = static_cast<unsigned>(threads_.size());
    ++generation_;
    error_ = nullptr;
    wake_.notify_all();
    lock.unlock();
    watch.wait();
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

  void for_each(const std::function<void(pthread_t)>& visit) {
    const std::scoped_lock lock(mutex_);
    for (std::thread& thread : threads_) visit(thread.native_handle());
  }

private:
  void work() {
    const SignalStack signal_stack;
    std::unique_ptr<Block> block;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      Launch& launch = *launch_;
      lock.unlock();
      std::exception_ptr error;
      try {
        std::uint64_t number = 0;
        if (launch.next_block(number)) {
          if (block == nullptr) block = std::make_unique<Block>();
          block->begin(launch);
          do block->run(number);
          while (launch.next_block(number));
          block->end();
        }
      } catch (...) {
        error = std::current_exception();
        launch.stop();
      }
      lock.lock();
      if (error != nullptr) error_ = error;
      if (--busy_ == 0) watch_->done();
    }
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    stopping_ = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  unsigned wanted_ = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  Launch* launch_ = nullptr;
  LaunchWatch* watch_ = nullptr;
  std::uint64_t generation_ = 0;
  unsigned busy_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

// Never destroyed: a thread of a kernel that calls exit() would wait here for itself.
Workers& pool() {
  static Workers& workers = *new Workers;
  return workers;
}

constexpr std::uint64_t all_blocks = std::numeric_limits<std::uint64_t>::max();
thread_local std::uint64_t window_first = 0, window_count = all_blocks;

std::mutex allowed_mutex;
std::map<const void*, std::size_t> allowed_shared_bytes;  // of kernels that may have more than 48 KB

std::size_t most_shared_bytes_of(const void* kernel) {
  const std::scoped_lock lock(allowed_mutex);
  const auto allowed = allowed_shared_bytes.find(kernel);
  return std::max<std::size_t>(48 << 10, allowed == allowed_shared_bytes.end() ? 0 : allowed->second);
}

// The limits of every GPU since compute capability 5.0.
bool valid(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t most_shared_bytes) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535 &&
         block.x >= 1 && block.y >= 1 && block.z >= 1 && block.z <= 64 && threads <= 1024 &&
         shared_bytes <= most_shared_bytes;
}

}  // namespace

void set_workers(unsigned count) { pool().set_count(count); }
unsigned workers() { return pool().count(); }
void for_each_worker(const std::function<void(pthread_t)>& visit) { pool().for_each(visit); }

LaunchWindow::LaunchWindow(std::uint64_t first, std::uint64_t count)
    : outer_first_(std::exchange(window_first, first)), outer_count_(std::exchange(window_count, count)) {}

LaunchWindow::~LaunchWindow() {
  window_first = outer_first_;
  window_count = outer_count_;
}

void launch(const KernelCall& call, dim3 grid, dim3 block, std::size_t shared_bytes) {
  if (!valid(grid, block, shared_bytes, most_shared_bytes_of(call.function))) {
    set_last_error(cudaErrorInvalidConfiguration);
    return;
  }
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t first = std::min(window_first, blocks);
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  Launch launch(call, grid, block, shared_bytes, first, first + std::min(window_count, blocks - first),
                counting() || profiling());
  launch_is_running = true;
  pool().run(launch);
  launch_is_running = false;
  finish_races();
  if (launch.counting) {
    finish_counts(launch.counts());
    deliver(launch.counts());
    if (profiling()) profile(launch.counts());
  }
  deliver(launch.findings());
}

}  // namespace simt

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const bool known = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (!known || value < 0 || static_cast<std::size_t>(value) > simt::most_shared_bytes) {
    return simt::set_last_error(cudaErrorInvalidValue);
  }
  const std::scoped_lock lock(simt::allowed_mutex);
  simt::allowed_shared_bytes[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
