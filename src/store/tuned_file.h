// The file of the rows that `speedlight tune` wrote: SPEEDLIGHT_TUNED (a path, or "off"), else $XDG_CONFIG_HOME/speedlight/tuned.txt, else
// ~/.config/speedlight/tuned.txt. Read here and handed to `plan`, which knows of no file.
#pragma once
#include <string>
#include "plan/user_table.h"

namespace speedlight {

std::string tuned_path();  // empty: turned off, or no home folder
// The rows of a file; a row that cannot be used is skipped, with one warning to the log. A missing file has no rows.
UserTable read_tuned(const std::string& path);
// The rows of tuned_path(), read once a process; null when there are none.
const UserTable* tuned_table();

// Puts rows into the file, in place of those for the same problems, and takes out those for the problems of `unwanted`; other lines stay as
// they are. Throws Error(invalid_argument) when it cannot be written.
void write_tuned(const std::string& path, const std::vector<TunedRow>& rows, const std::vector<TunedRow>& unwanted = {});

}  // namespace speedlight
