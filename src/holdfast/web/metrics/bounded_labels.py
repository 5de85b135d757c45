"""Labels with a bounded number of values: the names with the highest load, and `other`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily

OTHER: Final = "other"

V = TypeVar("V")

Number = int | float


class BoundedLabel(Generic[V]):
    """Units of one kind by name; the label of each is its name, or `other`.

    Args:
        label: the name of the label.
        found: all units.
        most: values of the label at most, besides `other`.
        load: of a unit; those with the highest load get a label value of their own.
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
        """Return a gauge with one number of each unit; the numbers of the others are *merged*."""
        family = GaugeMetricFamily(name, text, labels=[self._label])
        for label, group in self._groups:
            family.add_metric([label], float(merged(value(each) for each in group)))
        return family

    def gauges(
        self, name: str, text: str, label: str, values: Mapping[str, Callable[[V], Number]]
    ) -> GaugeMetricFamily:
        """Return a gauge with several numbers of each unit by a second *label*."""
        family = GaugeMetricFamily(name, text, labels=[self._label, label])
        for first, group in self._groups:
            for second, value in values.items():
                family.add_metric([first, second], float(sum(value(each) for each in group)))
        return family
