"""Our names are those of the conventions that we say they are."""

from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas

from holdfast.telemetry import conventions


def test_names_are_those_of_the_conventions() -> None:
    theirs = {
        value
        for module in (messaging_attributes, messaging_metrics, error_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    ours = {
        value
        for name, value in vars(conventions).items()
        if name.isupper() and isinstance(value, str) and "." in value and "/" not in value
    }
    assert {name for name in ours if not name.startswith("holdfast.")} <= theirs
    assert len(ours) > 15


def test_the_version_is_one() -> None:
    assert conventions.SCHEMA_URL in {each.value for each in Schemas}
