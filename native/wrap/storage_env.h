// What the storage exports keep for one environment. Shared with the objects they made, so that one that is
// collected after the environment's data still finds it.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "core/append.h"
#include "core/populator.h"

namespace millrace {

class EnvData;

struct StorageEnv {
  /** Null once the environment goes. */
  EnvData* env_data = nullptr;
  Appender appender;
  /** The append's sources, kept so that a call allocates nothing. The elements mean nothing between calls. */
  std::vector<Source> sources;
  std::vector<napi_value> source_elements;
  napi_ref file_class = nullptr;
  napi_ref writer_class = nullptr;
  napi_ref lock_class = nullptr;
  /** Only while an object is made here: JavaScript cannot make one through `constructor`. */
  bool constructing = false;
  /** Writers hold it, too: one of them may still be under a barrier when this goes. */
  std::shared_ptr<Populator> populator = std::make_shared<Populator>();
};

}  // namespace millrace
