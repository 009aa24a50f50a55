// A file of its own, since each commit compiles it anew.
#include "commit.h"

const char* speedlight::cli::build_commit() { return SPEEDLIGHT_COMMIT; }
