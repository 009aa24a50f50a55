// The error that a call throws.
#pragma once
#include "problem/error.h"

namespace speedlight::gpu {

template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "no error");
}

}  // namespace speedlight::gpu
