# Two commands: `make demo` and `make test`. Each sets up what is missing and builds into build/.
.PHONY: demo test emulator-full emulator-sanitized setup configure build limits format check-format check-headers tidy clean
MAKEFLAGS += --no-print-directory
BUILD := build
JOBS := 2

demo: configure
	@cmake --build $(BUILD) --target speedlight speedlight_tool c_example cpp_example
	@echo "--- C example";   ./$(BUILD)/c_example
	@echo "--- C++ example"; ./$(BUILD)/cpp_example
	@echo "--- smoke, CPU";  ./$(BUILD)/speedlight smoke --device cpu
	@if [ -e /dev/nvidia0 ]; then echo "--- smoke, GPU"; ./$(BUILD)/speedlight smoke --device cuda; else echo "--- no GPU here: its half of smoke was not run"; fi

test: build
	@tools/run_tests.sh $(BUILD)

# Every kernel of the tests over every shape and every combination of modes, and a larger sweep of tunings: by its processor seconds about 90 minutes on two idle cores.
emulator-full: configure
	@cmake --build $(BUILD) --target emulated_full emulated_more
	@./$(BUILD)/emulated_full $(JOBS)
	@./$(BUILD)/emulated_more

# The emulator, and kernels of each structure on it, under AddressSanitizer and UndefinedBehaviorSanitizer.
SANITIZED := emulator_tests emulated_kernels kernels_emulated_tests
emulator-sanitized: setup
	@cmake -S . -B build-asan -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPEEDLIGHT_SANITIZE=ON -DSPEEDLIGHT_BUNDLE=OFF --log-level=WARNING
	@cmake --build build-asan --target $(SANITIZED)
	@for t in $(SANITIZED); do ./build-asan/$$t --gtest_brief=1 || exit 1; done

setup:
	@tools/setup.sh

configure: setup
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON $(if $(shell command -v ccache 2>/dev/null),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache) --log-level=WARNING

build: configure
	@cmake --build $(BUILD)

limits:
	@python3 tools/limits.py

FORMATTED = $(shell git ls-files '*.h' '*.hpp' '*.cc' '*.c' '*.cpp')
format:
	@clang-format-14 -i $(FORMATTED)
check-format:
	@clang-format-14 --dry-run -Werror $(FORMATTED) && echo "format: $(words $(FORMATTED)) files as .clang-format has it"

tidy: setup
	@cmake -S . -B build-tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DSPEEDLIGHT_UNITY=OFF --log-level=WARNING
	@git ls-files "src/*.cc" "tools/*.cc" | xargs -P 2 -n 4 clang-tidy-14 -p build-tidy --quiet

check-headers:
	@tools/check_headers.sh

clean:
	rm -rf build build-*
