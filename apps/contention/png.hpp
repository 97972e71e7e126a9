#pragma once
// Pictures as PNG.

#include <string>

namespace contention {

/// Draws an SVG document into a PNG file, by the program rsvg-convert of librsvg.
/// **Errors**: InputError when there is no such program, and when it fails. **Blocks**: until it
/// has ended.
void write_png(const std::string& svg, const std::string& path);

}  // namespace contention
