from unum_runtime.features.document_stores.conditional import Addition, set_of


def test_a_set_begins_anew_after_its_expiry_alone() -> None:
    one, two, three = (Addition(at_ms, at_ms + 10, frozenset({member})) for at_ms, member in ((0, 1), (9, 2), (19, 3)))
    assert set_of([two, one]) == (frozenset({1, 2}), 19)
    assert set_of([three, two, one]) == (frozenset({3}), 29)
    assert set_of([]) == (frozenset[int](), 0)


def test_of_additions_at_one_time_the_longest_expiry_counts_in_any_order() -> None:
    short, long = Addition(5, 10, frozenset({1})), Addition(5, 20, frozenset({2}))
    assert set_of([short, long]) == set_of([long, short]) == (frozenset({1, 2}), 20)
