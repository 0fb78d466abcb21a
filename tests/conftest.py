"""What holds for all tests: properties are tried on the same examples every time, unless others are asked for.

`make simulate` asks for others, as for longer searches of the protocol.
"""

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)  # how long one takes is the machine's matter
settings.register_profile("others", deadline=None, max_examples=1_000)
settings.load_profile("same")
