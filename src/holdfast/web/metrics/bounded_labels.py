"""Bound the number of values of a label: use only the names with the highest load, and `other`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily

OTHER: Final = "other"

V = TypeVar("V")

Number = int | float


class BoundedLabel(Generic[V]):
    """Builds gauges for many queues, feeds and so on, with a bounded number of label values.

    Args:
        label: the name of the label, such as `queue`.
        found: all queues, feeds and so on, by name.
        most: names with the highest load that become label values. The value of all others is
            `other`.
        load: returns the load of one of them.
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
        """Return a gauge with one number for each label value.

        Args:
            name: the name of the gauge.
            text: its description.
            value: returns the number of one queue, feed and so on.
            merged: combines the numbers of those that have the label value `other`.
        """
        family = GaugeMetricFamily(name, text, labels=[self._label])
        for label, group in self._groups:
            family.add_metric([label], float(merged(value(each) for each in group)))
        return family

    def gauges(
        self, name: str, text: str, label: str, values: Mapping[str, Callable[[V], Number]]
    ) -> GaugeMetricFamily:
        """Return a gauge with two labels, and so with several numbers for each label value.

        Args:
            name: the name of the gauge.
            text: its description.
            label: the name of the second label, such as `state`.
            values: value of the second label → function that returns the number of one queue, feed
                and so on. The label value `other` gets the sum.
        """
        family = GaugeMetricFamily(name, text, labels=[self._label, label])
        for first, group in self._groups:
            for second, value in values.items():
                family.add_metric([first, second], float(sum(value(each) for each in group)))
        return family
