#pragma once
// Version of shoal.

/// major.minor.patch. While the major number is 0, a new minor number may change interfaces.
#define SHOAL_VERSION "0.2.0"
