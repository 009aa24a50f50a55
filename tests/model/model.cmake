# The timing model: its unit tests, and the modelled shares of the tensor peak that every planned row must keep (skipped without nvdisasm).
speedlight_tests(model speedlight_model)
add_test(NAME model.shares COMMAND speedlight_tool model --check ${CMAKE_CURRENT_LIST_DIR}/shares.txt)
set_tests_properties(model.shares PROPERTIES SKIP_REGULAR_EXPRESSION "nvdisasm was not found" TIMEOUT 600
                     ENVIRONMENT "SPEEDLIGHT_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache")
