/// The host's part of the runtime: the executor's declarations have CUDA's names and signatures.
#pragma once

#include <simt/runtime_api.h>
