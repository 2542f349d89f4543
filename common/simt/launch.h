/// Starting a kernel on the CPU: packs the arguments, so that the executor need not know their types.
#pragma once

#include <simt/cuda.h>
#include <simt/executor.h>

#include <tuple>

namespace simt {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Parameters... arguments) {
  using Call = std::tuple<void (*)(Parameters...), Parameters...>;
  const Call call(kernel, arguments...);
  const auto invoke = [](const void* packed) {
    std::apply([](auto function, const auto&... values) { function(values...); }, *static_cast<const Call*>(packed));
  };
  launch(KernelCall{reinterpret_cast<const void*>(kernel), invoke, &call, sizeof(call)}, grid, block, shared_bytes);
}

}  // namespace simt
