# Tests of the command line tool's parts.
speedlight_tests(tools speedlight_cli)
