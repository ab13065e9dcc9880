// Operations on names: rename, unlink, replace, and the barrier on a directory without which none of them is
// on the disk.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/file.h"

namespace millrace {

/** Null and `error` on failure. */
FilePtr OpenFile(const std::string& path, bool writable, bool create, SysError* error);
SysError RenameFile(const std::string& from, const std::string& to);
SysError UnlinkFile(const std::string& path);
SysError SyncDirectory(const std::string& path);
/** Temporary file beside it, its barrier, rename, the directory's barrier: afterwards it is the old one or
 * the new one. */
SysError ReplaceFile(const std::string& path, const std::uint8_t* bytes, std::size_t count);
/** Cuts or extends. */
SysError TruncateFile(const File& file, const std::string& path, std::int64_t size);
/** Bytes that an ordinary user may still take on the file system of `path`. */
SysError FreeBytes(const std::string& path, std::uint64_t* bytes);
/** The soft limit of descriptors of this process. */
std::uint64_t OpenFilesLimit();

}  // namespace millrace
