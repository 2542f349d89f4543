/// What ends a program that does not come to its own end. A sentence with the place goes to standard output, and the
/// process ends at once, without destructors:
///
///   stack, crash, exit  a kernel uses up a thread's stack, is ended by a signal or calls exit(): exit code 70
///   time                the program still runs after the SIMT_TIME_LIMIT seconds of its environment: exit code 124
#pragma once

#include <simt/launch_state.h>

#include <semaphore.h>

#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>

#include <pthread.h>

namespace simt {

inline constexpr int exit_ended = 70;  // EX_SOFTWARE of sysexits.h; common/testing/doctest_main.cpp has it too
inline constexpr int exit_time = 124;  // as of timeout(1)

/// While it lives, a signal that ends a kernel ends the program with a report. What host code does is left to the
/// handlers that were there before. One at a time.
class LaunchWatch {
public:
  explicit LaunchWatch(const Launch& launch);
  ~LaunchWatch();
  LaunchWatch(const LaunchWatch&) = delete;
  LaunchWatch& operator=(const LaunchWatch&) = delete;

  /// Waits until all workers are done. Does not return if a kernel crashed.
  void wait();
  /// To be called by the last worker.
  void done();
};

/// A stack for the signal handlers of this thread, since its own may be used up; one for each worker.
class SignalStack {
public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

private:
  std::unique_ptr<std::byte[]> memory_;
};

/// Calls visit with each worker, none of which ends meanwhile (launch.cpp).
void for_each_worker(const std::function<void(pthread_t)>& visit);

}  // namespace simt
