// The list of what storage exports.

#include "wrap/args.h"
#include "wrap/exports.h"
#include "wrap/record_walk_wrap.h"
#include "wrap/storage_append.h"
#include "wrap/storage_facts.h"
#include "wrap/storage_file.h"
#include "wrap/storage_fs.h"
#include "wrap/storage_writer.h"

namespace millrace {

void ExportStorage(Napi::Env env, Napi::Object exports) {
  DefineFileClass(env);
  DefineWriterClass(env);
  ExportFileSystem(env, exports);
  ExportFacts(env, exports);
  SetFunction(env, exports, "createSegmentWriter", CreateSegmentWriter);
  SetFunction(env, exports, "openSegmentWriter", OpenSegmentWriter);
  SetFunction(env, exports, "append", Append);
  SetFunction(env, exports, "measureRegion", MeasureRegionCall);
  ExportRecordWalk(env, exports);
}

}  // namespace millrace
