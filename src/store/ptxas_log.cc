#include "store/ptxas_log.h"

#include <charconv>

namespace speedlight::store {
namespace {

// The number that stands before `unit`; 0 when the log has no such place.
i64 number_before(std::string_view log, std::string_view unit) {
  const std::size_t end = log.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
  i64 value = 0;
  std::from_chars(log.data() + begin, log.data() + end, value);
  return value;
}

}  // namespace

PtxasFacts parse_ptxas_log(std::string_view log) {
  PtxasFacts facts;
  facts.registers = int(number_before(log, " registers"));
  facts.spill_stores = int(number_before(log, " bytes spill stores"));
  facts.spill_loads = int(number_before(log, " bytes spill loads"));
  facts.static_shared = number_before(log, " bytes smem");
  return facts;
}

}  // namespace speedlight::store
