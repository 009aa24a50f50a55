// The float64 reference kernel, for tests and the command line; no plan uses it.
#pragma once
#include "config/params.h"
#include "gpu/device.h"

namespace speedlight::gpu {

// Enqueues kernels/reference.h, compiled at the first use, over the rows of params.shape (fewer than 2^32). All pointers of the pass that
// `config` says must be set, but for dlse and, in the forward, dout. Backward reads out, lse and delta of a forward with dout.
void launch_reference(const ReferenceConfig& config, const ReferenceParams& params, int ordinal, Stream stream);

}  // namespace speedlight::gpu
