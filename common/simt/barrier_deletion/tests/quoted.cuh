/// A fixture: a file that does not compile without its barrier.
#pragma once

#define TEXT_OF(code) #code
static_assert(sizeof TEXT_OF(__syncthreads()) == sizeof "__syncthreads()");
