from tests.golden.classes.page import PAGE, page


def test_page_says_what_is_tested() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
