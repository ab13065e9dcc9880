// Chooses the implementation, once.

#include "core/crc32c.h"

namespace millrace {

const Crc32c* const kCrc32cTable[kCrc32cKinds] = {&kCrc32cAvx512, &kCrc32cSse42, &kCrc32cArmv8,
                                                  &kCrc32cArmv8Chain, &kCrc32cTables};

static const Crc32c& Choose() {
  for (const Crc32c* kind : kCrc32cTable) {
    if (kind->supported()) return *kind;
  }
  return kCrc32cTables;
}

const Crc32c& ActiveCrc32c() {
  static const Crc32c& chosen = Choose();
  return chosen;
}

}  // namespace millrace
