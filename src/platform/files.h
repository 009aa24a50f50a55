// Files and folders. Functions that can fail return why as text, empty when all went well; none throws.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "base/types.h"

namespace speedlight::platform {

// The whole file; nothing when it cannot be read.
std::optional<std::vector<u8>> read_file(const std::string& path);

// Readers see the old file or the new one, never a part: a temporary file in the same folder is written, synced and renamed.
std::string write_file_atomically(const std::string& path, std::span<const u8> bytes);

// Why a folder cannot be trusted: missing, not a folder, another user's (root excepted), or writable by others. Empty when it can.
std::string check_private_folder(const std::string& path);
// Makes the folder with mode 0700, and its parents, when it is missing; then checks it.
std::string make_private_folder(const std::string& path);

bool exists(const std::string& path);
// True when the folder is writable or, when it is missing, the nearest folder above it is.
bool can_create_in(const std::string& folder);

// The user's home folder, from HOME or the user database; empty when there is none.
std::string home_folder();
// Folder of the library or program that holds this code; empty when unknown.
std::string own_folder();

}  // namespace speedlight::platform
