"""A computed attribute is computed once and then an ordinary one."""

from tilewright.core.computed import computed


class Thing:
    def __init__(self) -> None:
        self.calls = 0

    @computed
    def value(self) -> int:
        """What it is."""
        self.calls += 1
        return self.calls


def test_it_is_computed_once_for_each_object() -> None:
    first, second = Thing(), Thing()
    assert (first.value, first.value, second.value) == (1, 1, 1)
    assert vars(first)["value"] == 1


def test_the_class_shows_the_attribute_itself() -> None:
    assert Thing.value.__doc__ == "What it is."
