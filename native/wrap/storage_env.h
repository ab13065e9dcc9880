// What the storage exports keep for one environment. Shared with the objects they made, so that one that is collected after
// the environment's data still finds it.
#pragma once

namespace millrace {

struct StorageEnv {};

}  // namespace millrace
