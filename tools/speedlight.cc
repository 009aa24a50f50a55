#include "commands.h"

int main(int argc, char** argv) { return speedlight::cli::run_program(argc, argv); }
