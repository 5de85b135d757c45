"""Names as labels, bounded: those that have most to do, and one for all the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily

OTHER: Final = "other"

V = TypeVar("V")

Number = int | float


class Bounded(Generic[V]):
    """Things by name, of which each shown one has a label of its own.

    Args:
        label: what it is called.
        found: all of them.
        most: how many are shown at most.
        load: what those have more of that are shown.
    """

    def __init__(
        self, label: str, found: Mapping[str, V], most: int, load: Callable[[V], Number]
    ) -> None:
        by_load = sorted(found, key=lambda name: (-load(found[name]), name))
        shown = [name for name in by_load[:most] if name != OTHER]
        rest = [found[name] for i, name in enumerate(by_load) if i >= most or name == OTHER]
        self._label = label
        self._groups: list[tuple[str, Sequence[V]]] = [(name, [found[name]]) for name in shown]
        if rest:
            self._groups.append((OTHER, rest))

    def gauge(
        self,
        name: str,
        text: str,
        value: Callable[[V], Number],
        *,
        merged: Callable[[Iterable[Number]], Number] = sum,
    ) -> GaugeMetricFamily:
        """One number of each; that of the others is *merged*."""
        family = GaugeMetricFamily(name, text, labels=[self._label])
        for label, group in self._groups:
            family.add_metric([label], float(merged(value(each) for each in group)))
        return family

    def gauges(
        self, name: str, text: str, label: str, values: Mapping[str, Callable[[V], Number]]
    ) -> GaugeMetricFamily:
        """Several numbers of each, with a second *label*; those of the others are summed."""
        family = GaugeMetricFamily(name, text, labels=[self._label, label])
        for first, group in self._groups:
            for second, value in values.items():
                family.add_metric([first, second], float(sum(value(each) for each in group)))
        return family
