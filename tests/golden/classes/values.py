"""Kinds of values below the input's field ``x``, and the input around them."""

from unum_runtime.model.states import Json

OTHERS: dict[str, Json] = {"list": [1, 2], "seven": 7, "word": "t", "yes": True, "past": "2019-01-01T00:00:00Z"}
"""Fields of every input, beside ``x``."""

INPUTS: dict[str, dict[str, Json]] = {
    "missing": OTHERS,
    **{
        kind: {**OTHERS, "x": value}
        for kind, value in {
            "null": None,
            "empty object": {},
            "empty array": [],
            "empty text": "",
            "zero": 0,
            "integer": 7,
            "negative integer": -1,
            "fraction": 1.5,
            "text": "t",
            "integer in a text": "7",
            "blank and integer in a text": " 7",
            "digits with a separator in a text": "1_0",
            "fraction in a text": "1.5",
            "time": "2020-01-01T00:00:00Z",
            "true": True,
            "false": False,
            "array": [1, 2, 3],
            "array of null": [None],
            "object": {"b": 1},
            "array of objects": [{"b": 1}, {"b": 2}],
            "nested arrays": [[1], [2, 3]],
        }.items()
    },
}
"""Inputs by the kind of their field ``x``."""
