#pragma once
// Names of 0.1 that 0.2 still has, with a warning. docs/upgrading.md has the table of names.

#include <shoal/key.hpp>
#include <shoal/sync.hpp>
#include <shoal/team.hpp>

namespace shoal {

/// @cond deprecated
using Counter [[deprecated("its name is shoal::Latch")]] = Latch;
using Condition [[deprecated("its name is shoal::ConditionVariable")]] = ConditionVariable;
using Stats [[deprecated("its name is shoal::Statistics")]] = Statistics;

template <class T>
class DistributedArray;
template <class T>
using distributed_array [[deprecated("its name is shoal::DistributedArray")]] = DistributedArray<T>;
template <class T>
using composed_array [[deprecated("its name is shoal::ComposedArray")]] =
    DistributedArray<DistributedArray<T>>;
template <HashableKey K, class V>
class DistributedMap;
template <HashableKey K, class V>
using distributed_map [[deprecated("its name is shoal::DistributedMap")]] = DistributedMap<K, V>;
class ExternalThread;
using external_thread [[deprecated("its name is shoal::ExternalThread")]] = ExternalThread;
/// @endcond

}  // namespace shoal
