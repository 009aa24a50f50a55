#pragma once

namespace speedlight::cli {

const char* build_commit();  // of the source that this program was built from

}  // namespace speedlight::cli
