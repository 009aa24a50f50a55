# Programs outside the tree against the installed package, and what the shared library gives away and needs.
if(NOT SPEEDLIGHT_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME package.programs_outside_the_tree COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/outside.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  add_test(NAME package.exports_and_needs COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/exports.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(package.programs_outside_the_tree package.exports_and_needs PROPERTIES TIMEOUT 300)
endif()
