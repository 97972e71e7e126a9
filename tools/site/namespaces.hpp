// Documentation of the namespaces, for the reference only.

/// The library: its classes, and its functions that belong to no class.
namespace shoal {}
/// Memory bandwidth that computation and communication share: a model and its calibration.
namespace shoal::contention {}
/// Events of the program in traces.
namespace shoal::trace {}
/// Extension modules of Python in C++.
namespace shoal::python {}
