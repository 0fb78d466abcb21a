"""Word counts computed in another way than the example's: character by character, without regular expressions."""

from collections import Counter

APOSTROPHES = "'\u2019"


def counted(text: str) -> Counter[str]:
    """Count the words of `text`: letters, with apostrophes between them, in lower case."""
    spaced = "".join(char if char.isalpha() or char in APOSTROPHES else " " for char in text)
    words = (word.strip(APOSTROPHES).casefold() for word in spaced.split())
    return Counter(word for word in words if word)
