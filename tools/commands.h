#pragma once

namespace speedlight::cli {

int run_program(int argc, char** argv);  // the program; returns its exit status

}  // namespace speedlight::cli
