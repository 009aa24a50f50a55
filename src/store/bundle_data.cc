// The bundle's bytes. cmake/bundle.cmake gives the file's name; without one the bundle is empty.
#include "store/bundle.h"

#ifdef SPEEDLIGHT_BUNDLE_FILE
asm(R"(
  .pushsection .rodata
  .balign 16
  .globl speedlight_bundle_begin
  .hidden speedlight_bundle_begin
speedlight_bundle_begin:
  .incbin ")" SPEEDLIGHT_BUNDLE_FILE R"("
  .globl speedlight_bundle_end
  .hidden speedlight_bundle_end
speedlight_bundle_end:
  .byte 0
  .popsection
)");
extern "C" {
__attribute__((visibility("hidden"))) extern const speedlight::u8 speedlight_bundle_begin[];
__attribute__((visibility("hidden"))) extern const speedlight::u8 speedlight_bundle_end[];
}
#endif

namespace speedlight::store {

std::span<const u8> embedded_bundle() {
#ifdef SPEEDLIGHT_BUNDLE_FILE
  return {speedlight_bundle_begin, speedlight_bundle_end};
#else
  return {};
#endif
}

}  // namespace speedlight::store
